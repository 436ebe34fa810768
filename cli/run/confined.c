/* A confined run: see confined.h. */
#include "cli/run/confined.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/child_output.h"
#include "cli/base/executable.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/confine/bwrap.h"
#include "cli/confine/grants.h"
#include "cli/confine/landlock.h"
#include "cli/confine/sets.h"
#include "cli/confine/terminal_filter.h"
#include "cli/enable/starter.h"
#include "cli/run/above.h"
#include "cli/run/confined_check.h"
#include "cli/run/confined_options.h"
#include "cli/run/launcher.h"
#include "cli/run/run_wait.h"
#include "cli/run/terminal.h"
#include "cli/session/settings_only.h"
#include "config/value.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"

enum { DESCRIPTORS_BYTES = 64 };

/* By the socket, from the run inside. */
struct report {
	int signal; /* 0: it begins */
};

/* ---- `seen run`: the confinement ---- */

/* The profile's name of the agent that a launch comes to; "": it is none. */
static void find_agent(const struct segment *segment, const struct launch *launch, char *ret_name,
		       size_t capacity)
{
	struct executable *chain = calloc(EXECUTABLE_CHAIN_MAX, sizeof(*chain));
	char missing[PATH_MAX];
	int count = chain && launch->words[0] ? executable_chain(launch->words[0], chain, missing)
					      : 0;
	char **words = count > 0 ? executable_words(chain, count, launch->words) : NULL;
	struct invocation invocation = { .role = ROLE_TOOL };

	if (words)
		role_invocation(segment, chain[count - 1].path, words, &invocation);
	if (invocation.role == ROLE_AGENT && invocation.profile) {
		const struct settings_profile *profile =
			&segment->settings->profiles[invocation.profile - 1];
		const char *name = segment_text(segment, profile->name, NULL);
		(void)snprintf(ret_name, capacity, "%s", name ? name : "");
	}
	free(words);
	free(chain);
}

/* kilo (tried: 7.7.7) once writes a permission into its settings, and ends where it cannot.  Behind that a file
 * beside them is there. */
static void warn_of_first_start(const struct confinement *confinement, const char *agent)
{
	char mark[PATH_MAX];

	for (size_t i = 0; strncmp(agent, "kilo", strlen("kilo")) == 0 && i < confinement->count;
	     i++) {
		const struct confine_place *place = &confinement->places[i];
		if (place->access != CONFINE_FIXED ||
		    !path_ends_with(place->path, "/kilo/kilo.json"))
			continue;
		(void)snprintf(mark, sizeof(mark), "%.*s/.bash-permission-migrated",
			       (int)(strrchr(place->path, '/') - place->path), place->path);
		if (access(mark, F_OK) < 0)
			message("kilo writes to %s when it is first started, and ends where it "
				"cannot: start it once without --confine, or say -c "
				"confine.write=%s",
				place->path, place->path);
	}
}

static int make_confinement(const struct config *config, char *const words[],
			    struct confinement *ret_confinement)
{
	struct settings_only only = { .header = NULL };
	struct config_error why = { "out of memory" };
	struct launch launch = { .words = NULL };
	char agent[CONFIG_PROFILE_NAME_MAX + 1] = "";
	int error = settings_only_init(config, &only, &why);

	if (error == 0)
		error = launch_follow(&only.segment, words, &launch);
	if (error == 0)
		find_agent(&only.segment, &launch, agent, sizeof(agent));
	const struct confine_command command = { .words = words,
						 .program = launch.words,
						 .agent = agent };
	if (error == 0)
		error = confine_sets_apply(config, &command, ret_confinement);
	else
		(void)confinement_fail(ret_confinement, "%s", why.text);
	if (error == 0)
		warn_of_first_start(ret_confinement, agent);
	launch_free(&launch);
	settings_only_destroy(&only);
	return error;
}

/* ---- `seen run`: descriptors ---- */

/* Is what a descriptor is open on protected?  NULL: no. */
static const struct confine_place *protected_by(const struct confinement *confinement,
						const struct stat *stat)
{
	for (size_t i = 0; i < confinement->count; i++)
		if (confinement->places[i].access == CONFINE_UNREADABLE &&
		    confinement->places[i].inode == stat->st_ino &&
		    confinement->places[i].device == stat->st_dev)
			return &confinement->places[i];
	return NULL;
}

/* A descriptor that the command would inherit reaches past every mount: one of a protected file is
 * refused, and a directory's is closed, since any file could be opened by it. */
static int check_inherited(struct confinement *confinement)
{
	DIR *stream = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat stat;
	int error = stream ? 0 : confinement_fail(confinement, "--confine: /proc cannot be read");

	while (stream && error == 0 && (entry = readdir(stream))) {
		int fd = atoi(entry->d_name);
		if (entry->d_name[0] == '.' || fd == dirfd(stream) || fstat(fd, &stat) < 0 ||
		    (fcntl(fd, F_GETFD) & FD_CLOEXEC))
			continue;
		const struct confine_place *place = protected_by(confinement, &stat);
		if (place)
			error = confinement_fail(
				confinement,
				"--confine: descriptor %d is open on %s, and would be "
				"inherited; close it (%d<&-)",
				fd, place->path, fd);
		else if (S_ISDIR(stat.st_mode))
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	if (stream)
		(void)closedir(stream);
	return error;
}

/* ---- `seen run`: the start ---- */

/* One way to confine a run. */
struct attempt {
	const struct config *config;
	struct confinement *confinement;
	enum confine_by by;
	bool has_other;                   /* where this one is not possible, another is tried */
	char refusal[BWRAP_REASON_BYTES]; /* what bubblewrap said then */
	int argc;                         /* of `seen run` */
	char **argv;
	int first_word;
	int *ret_signal;
};

enum { NOT_HERE = -1 };

/* What the start of a confined run holds open. */
struct start {
	int list, sockets[2], errors[2], arguments, standard_error;
	int ruleset; /* of Landlock; -1: by bubblewrap */
};

static void close_all(struct start *start)
{
	int *const ALL[] = { &start->list,           &start->sockets[0], &start->sockets[1],
			     &start->errors[0],      &start->errors[1],  &start->arguments,
			     &start->standard_error, &start->ruleset };

	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		if (*ALL[i] >= 0)
			(void)close(*ALL[i]);
}

static int open_all(const struct attempt *attempt, struct start *start)
{
	const struct confined_list list = {
		attempt->confinement,
		(enum confine_set)config_number(attempt->config, OPTION_confine_set),
		attempt->by != CONFINE_BY_BUBBLEWRAP,
	};
	const int yes = 1;

	start->list = confined_write_list(&list);
	if (start->list < 0)
		return start->list;
	start->standard_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	if (start->standard_error < 0)
		start->standard_error = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, start->sockets) < 0 ||
	    pipe2(start->errors, O_CLOEXEC) < 0 ||
	    setsockopt(start->sockets[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0)
		return -errno;
	return 0;
}

/* The words of the run inside.  more: options for it, ended by NULL. */
static char **inner_words(const struct start *start, const struct attempt *attempt,
			  char *const *more, char *program, char *descriptors)
{
	char **words;
	static char passed[PATH_MAX];
	int count = 0, added = 0;

	while (more[added])
		added++;
	words = calloc((size_t)attempt->argc + (size_t)added + 4, sizeof(*words));
	if (!words)
		return NULL;
	(void)snprintf(descriptors, DESCRIPTORS_BYTES, "%d,%d,%d", start->list, start->sockets[1],
		       start->standard_error);
	words[count++] = program;
	words[count++] = (char *)"confined";
	words[count++] = descriptors;
	for (int i = 0; i < attempt->argc; i++) {
		words[count++] = attempt->argv[i];
		for (int k = 0; i == 0 && k < added; k++)
			words[count++] = more[k];
	}
	/* The launcher that this run was started by is not known inside. */
	if (starter_pass(attempt->argv[attempt->first_word], passed) == 1)
		words[3 + added + attempt->first_word] = passed;
	return words;
}

/* In the child: becomes bwrap, or the run inside. */
_Noreturn static void become(const struct start *start, const struct confinement *confinement,
			     char **words, const sigset_t *mask)
{
	int error;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)fcntl(start->list, F_SETFD, 0);
	(void)fcntl(start->sockets[1], F_SETFD, 0);
	(void)fcntl(start->standard_error, F_SETFD, 0);
	(void)dup2(start->errors[1], STDERR_FILENO);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	if (start->ruleset >= 0 && (error = landlock_enter(confinement, start->ruleset)) < 0) {
		(void)dprintf(STDERR_FILENO, "Landlock: %s\n", strerror(-error));
		_exit(EXIT_CODE_FAILED);
	}
	(void)execvp(words[0], words);
	(void)dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
	_exit(EXIT_CODE_FAILED);
}

/* A report of the run inside, and its process as it is numbered here.  False: there is none, and will
 * be none if `waits`. */
static bool receive(int socket, bool waits, struct report *ret_report, pid_t *ret_process)
{
	struct iovec bytes = { ret_report, sizeof(*ret_report) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct ucred sender = { .pid = 0 };
	ssize_t got;

	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
	while (got < 0 && errno == EINTR);
	if (got != sizeof(*ret_report))
		return false;
	if (message.msg_controllen >= CMSG_LEN(sizeof(sender)) &&
	    control.header.cmsg_type == SCM_CREDENTIALS)
		memcpy(&sender, CMSG_DATA(&control.header), sizeof(sender));
	*ret_process = sender.pid;
	return true;
}

static const char IN_CONFINED[] = "leave --confine out: the run that this one is in is confined "
				  "already, and what that keeps from it is out of reach here, too";

/* What its user can do. */
static const char *remedy(enum bwrap_state state)
{
	return state == BWRAP_REFUSED && above_is_confined() ? IN_CONFINED : bwrap_remedy(state);
}

/* It ended before the run inside began.  Returns EXIT_CODE_FAILED with a line, or NOT_HERE where another
 * way may be tried. */
static int explain(const struct start *start, struct attempt *attempt)
{
	char said[BWRAP_REASON_BYTES], reason[BWRAP_REASON_BYTES];
	ssize_t got = read(start->errors[0], said, sizeof(said) - 1);

	said[got < 0 ? 0 : got] = '\0';
	said[strcspn(said, "\n")] = '\0';
	enum bwrap_state state = start->ruleset < 0 ? bwrap_try(reason) : BWRAP_WORKS;
	if (state != BWRAP_WORKS && attempt->has_other) {
		(void)snprintf(attempt->refusal, sizeof(attempt->refusal), "%s",
			       said[0] ? said : "bwrap cannot be run");
		return NOT_HERE;
	}
	if (state == BWRAP_WORKS)
		message("--confine: the command is not started: %s",
			said[0] ? said : "it ended before it began");
	else
		message("--confine: not possible here: %s; the command is not started; %s",
			said[0] ? said : "bwrap cannot be run", remedy(state));
	return EXIT_CODE_FAILED;
}

static int wait_for(struct start *start, struct attempt *attempt, pid_t child, const sigset_t *all)
{
	struct report report = { .signal = 0 };
	pid_t inside = 0, sender;
	bool begins = receive(start->sockets[0], true, &report, &inside);

	if (begins && report.signal == 0) {
		int status = run_wait(child, NULL, inside, all, NULL);
		if (receive(start->sockets[0], false, &report, &sender) && report.signal > 0) {
			terminal_restore();
			*attempt->ret_signal = report.signal;
			return 128 + report.signal;
		}
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	(void)waitpid(child, NULL, 0);
	return explain(start, attempt);
}

static int start_inner(struct start *start, struct attempt *attempt, char **words)
{
	sigset_t all, mask;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &mask);
	(void)fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		become(start, attempt->confinement, words, &mask);
	(void)close(start->sockets[1]);
	(void)close(start->errors[1]);
	start->sockets[1] = start->errors[1] = -1;
	int code = EXIT_CODE_FAILED;
	if (child < 0)
		message("cannot start the command: %s", strerror(errno));
	else
		code = wait_for(start, attempt, child, &all);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	return code;
}

/* The words that are executed, by either way.  free() *ret_words. */
static int make_words(struct start *start, const struct attempt *attempt, char **inner,
		      char ***ret_words)
{
	*ret_words = NULL;
	if (attempt->by == CONFINE_BY_BUBBLEWRAP)
		return bwrap_words(attempt->confinement, inner, ret_words, &start->arguments);
	start->ruleset = landlock_make(attempt->confinement);
	return start->ruleset < 0 ? start->ruleset : 0;
}

/* With a confinement that can be held.  Returns NOT_HERE without a line, where it may be tried another way. */
static int run_confinement(struct attempt *attempt)
{
	char program[PATH_MAX], descriptors[DESCRIPTORS_BYTES];
	struct start start = { -1, { -1, -1 }, { -1, -1 }, -1, -1, -1 };
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int code = EXIT_CODE_FAILED;
	char **inner = NULL, **words = NULL,
	     **more = confined_options(attempt->config, attempt->confinement, attempt->by);

	program[length < 0 ? 0 : length] = '\0';
	int error = more ? open_all(attempt, &start) : -ENOMEM;
	if (error == 0) {
		inner = inner_words(&start, attempt, more, program, descriptors);
		error = inner ? make_words(&start, attempt, inner, &words) : -ENOMEM;
	}
	if (error == -E2BIG)
		message("--confine: %zu files and directories are more than bubblewrap takes; the "
			"command is not started; say --confine=secrets, or name what may be read "
			"by -c "
			"confine.read=",
			attempt->confinement->count);
	else if (error < 0 || !inner)
		message("--confine: the command is not started: %s", strerror(-error));
	else
		code = start_inner(&start, attempt, words ? words : inner);
	close_all(&start);
	free(inner);
	free(words);
	confined_options_free(more);
	return code;
}

/* Landlock, where it can be: it keeps nothing back in a writable directory.  bubblewrap: why that is not tried, or
 * was not possible; BWRAP_WORKS: it was not asked for. */
static int run_by_landlock(struct attempt *attempt, enum bwrap_state bubblewrap)
{
	const char *reason, *advice = bubblewrap == BWRAP_WORKS ? "say -c confine.by=bubblewrap"
								: remedy(bubblewrap);
	char first[PATH_MAX], why[BWRAP_REASON_BYTES + 32] = "";

	if (bubblewrap == BWRAP_ABSENT)
		(void)snprintf(why, sizeof(why), "there is no bwrap, and ");
	else if (bubblewrap == BWRAP_REFUSED)
		(void)snprintf(why, sizeof(why), "%s, and ", attempt->refusal);
	if (!landlock_version(&reason)) {
		message("--confine: not possible here: %s%s; the command is not started; %s", why,
			reason, advice);
		return EXIT_CODE_FAILED;
	}
	size_t count = grants_take_writable(attempt->confinement, first);
	if (count && attempt->by != CONFINE_BY_RULES) {
		message("--confine: not possible here: %sLandlock cannot keep %s%s in a writable "
			"directory; the command is not started; %s; or have rules keep these: -c "
			"confine.by=rules",
			why, first, count > 1 ? " and others" : "", advice);
		return EXIT_CODE_FAILED;
	}
	return run_confinement(attempt);
}

/* By what [confine] by says, one after the other. */
static int run_attempts(struct attempt *attempt)
{
	enum confine_by by = attempt->by;
	enum bwrap_state bubblewrap = BWRAP_WORKS;
	char path[PATH_MAX];

	if (by == CONFINE_BY_AUTO || by == CONFINE_BY_BUBBLEWRAP) {
		bool is_there = executable_find("bwrap", path, sizeof(path)) == 0;
		attempt->has_other = by == CONFINE_BY_AUTO;
		attempt->by = CONFINE_BY_BUBBLEWRAP;
		int code = is_there ? run_confinement(attempt) : NOT_HERE;
		if (code != NOT_HERE)
			return code;
		bubblewrap = is_there ? BWRAP_REFUSED : BWRAP_ABSENT;
		if (by == CONFINE_BY_BUBBLEWRAP) {
			message("--confine: not possible here: there is no bwrap; the command is "
				"not "
				"started; %s",
				bwrap_remedy(bubblewrap));
			return EXIT_CODE_FAILED;
		}
		attempt->by = CONFINE_BY_LANDLOCK;
	}
	attempt->has_other = false;
	return run_by_landlock(attempt, bubblewrap);
}

int confined_run(const struct config *config, int argc, char **argv, int first_word,
		 int *ret_signal)
{
	struct confinement confinement = { .places = NULL };
	struct attempt attempt = {
		.config = config,
		.confinement = &confinement,
		.by = (enum confine_by)config_number(config, OPTION_confine_by),
		.argc = argc,
		.argv = argv,
		.first_word = first_word,
		.ret_signal = ret_signal,
	};
	int code = EXIT_CODE_FAILED;

	*ret_signal = 0;
	terminal_note();
	int error = make_confinement(config, argv + first_word, &confinement);
	if (error == 0)
		error = check_inherited(&confinement);
	if (error == 0)
		code = run_attempts(&attempt);
	else
		message("%s; the command is not started",
			confinement.problem[0] ? confinement.problem : strerror(-error));
	confinement_destroy(&confinement);
	return code;
}

/* ---- inside ---- */

static struct {
	bool is_inside;
	int socket;
	char text[CONFINED_TEXT_BYTES];
} inside;

static void report(int signal)
{
	const struct report report = { .signal = signal };

	(void)send(inside.socket, &report, sizeof(report), MSG_NOSIGNAL);
}

bool confined_enter(const char *descriptors)
{
	int list, standard_error;

	if (sscanf(descriptors, "%d,%d,%d", &list, &inside.socket, &standard_error) != 3 ||
	    dup2(standard_error, STDERR_FILENO) < 0) {
		message("`seen run --confine` starts this");
		return false;
	}
	(void)close(standard_error);
	(void)fcntl(inside.socket, F_SETFD, FD_CLOEXEC);
	inside.is_inside = true;
	/* Either way has set it; if not, the check below is to say what is in reach. */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int error = terminal_filter_install();
	if (error < 0) {
		message("--confine: no filter of system calls (seccomp): %s", strerror(-error));
		return false;
	}
	/* Whatever is reported from here on is this process's own: bwrap did its part. */
	report(0);
	return confined_check_list(list, inside.text);
}

bool confined_is_inside(void)
{
	return inside.is_inside;
}

void confined_report_signal(int signal)
{
	if (inside.is_inside)
		report(signal);
}

const char *confined_text(void)
{
	return inside.text;
}
