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
#include "cli/confine/sets.h"
#include "cli/enable/starter.h"
#include "cli/run/launcher.h"
#include "cli/run/run_wait.h"
#include "cli/run/terminal.h"
#include "cli/session/settings_only.h"
#include "config/value.h"
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

/* The protected files, for the run inside: "DEVICE INODE PATH", each ended by NUL. */
static int write_list(const struct confinement *confinement, enum confine_set set)
{
	int fd = memfd_create("seen-confined", MFD_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (!file)
		return fd < 0 ? -errno : -ENOMEM;
	(void)fprintf(file, "%d %d %zu %zu%c", (int)set, confinement->shares_network,
		      confinement_count(confinement, CONFINE_UNREADABLE),
		      confinement_count(confinement, CONFINE_CLOSED), '\0');
	for (size_t i = 0; i < confinement->count; i++)
		if (confinement->places[i].access == CONFINE_UNREADABLE ||
		    confinement->places[i].access == CONFINE_CLOSED)
			(void)fprintf(file, "%llu %llu %s%c",
				      (unsigned long long)confinement->places[i].device,
				      (unsigned long long)confinement->places[i].inode,
				      confinement->places[i].path, '\0');
	bool is_whole = fflush(file) == 0 && lseek(fd, 0, SEEK_SET) == 0;
	(void)fclose(file);
	return is_whole ? fd : -EIO;
}

/* ---- `seen run`: the start ---- */

/* What the start of a confined run holds open. */
struct start {
	int list, sockets[2], errors[2], arguments, standard_error;
};

static void close_all(struct start *start)
{
	int *const ALL[] = { &start->list,          &start->sockets[0], &start->sockets[1],
			     &start->errors[0],     &start->errors[1],  &start->arguments,
			     &start->standard_error };

	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		if (*ALL[i] >= 0)
			(void)close(*ALL[i]);
}

static int open_all(const struct confinement *confinement, enum confine_set set,
		    struct start *start)
{
	const int yes = 1;

	*start = (struct start){ -1, { -1, -1 }, { -1, -1 }, -1, -1 };
	start->list = write_list(confinement, set);
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

/* The words of the run inside. */
static char **inner_words(const struct start *start, int argc, char **argv, int first_word,
			  char *program, char *descriptors)
{
	char **words = calloc((size_t)argc + 4, sizeof(*words));
	static char passed[PATH_MAX];
	int count = 0;

	if (!words)
		return NULL;
	(void)snprintf(descriptors, DESCRIPTORS_BYTES, "%d,%d,%d", start->list, start->sockets[1],
		       start->standard_error);
	words[count++] = program;
	words[count++] = (char *)"confined";
	words[count++] = descriptors;
	for (int i = 0; i < argc; i++)
		words[count++] = argv[i];
	/* The launcher that this run was started by is not known inside. */
	if (starter_pass(argv[first_word], passed) == 1)
		words[3 + first_word] = passed;
	return words;
}

/* In the child: becomes bwrap. */
_Noreturn static void become(const struct start *start, char **words, const sigset_t *mask)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)fcntl(start->list, F_SETFD, 0);
	(void)fcntl(start->sockets[1], F_SETFD, 0);
	(void)fcntl(start->standard_error, F_SETFD, 0);
	(void)dup2(start->errors[1], STDERR_FILENO);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
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

/* bwrap ended before the run inside began. */
static int explain(const struct start *start)
{
	char said[BWRAP_REASON_BYTES], reason[BWRAP_REASON_BYTES];
	ssize_t got = read(start->errors[0], said, sizeof(said) - 1);

	said[got < 0 ? 0 : got] = '\0';
	said[strcspn(said, "\n")] = '\0';
	enum bwrap_state state = bwrap_try(reason);
	if (state == BWRAP_WORKS)
		message("--confine: the command is not started: %s",
			said[0] ? said : "bwrap ended before it");
	else
		message("--confine: not possible here: %s; the command is not started; %s",
			said[0] ? said : "bwrap cannot be run", bwrap_remedy(state));
	return EXIT_CODE_FAILED;
}

static int wait_for(struct start *start, pid_t child, const sigset_t *all, int *ret_signal)
{
	struct report report = { .signal = 0 };
	pid_t inside = 0, sender;
	bool begins = receive(start->sockets[0], true, &report, &inside);

	if (begins && report.signal == 0) {
		int status = run_wait(child, NULL, inside, all, NULL);
		if (receive(start->sockets[0], false, &report, &sender) && report.signal > 0) {
			terminal_restore();
			*ret_signal = report.signal;
			return 128 + report.signal;
		}
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	(void)waitpid(child, NULL, 0);
	return explain(start);
}

static int start_inner(struct start *start, char **words, int *ret_signal)
{
	sigset_t all, mask;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &mask);
	(void)fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		become(start, words, &mask);
	(void)close(start->sockets[1]);
	(void)close(start->errors[1]);
	start->sockets[1] = start->errors[1] = -1;
	int code = EXIT_CODE_FAILED;
	if (child < 0)
		message("cannot start the command: %s", strerror(errno));
	else
		code = wait_for(start, child, &all, ret_signal);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	return code;
}

/* With a confinement that can be held. */
static int run_confinement(struct confinement *confinement, enum confine_set set, int argc,
			   char **argv, int first_word, int *ret_signal)
{
	char program[PATH_MAX], descriptors[DESCRIPTORS_BYTES];
	struct start start;
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int code = EXIT_CODE_FAILED;
	char **inner = NULL, **words = NULL;

	program[length < 0 ? 0 : length] = '\0';
	int error = open_all(confinement, set, &start);
	if (error == 0) {
		inner = inner_words(&start, argc, argv, first_word, program, descriptors);
		error = inner ? bwrap_words(confinement, inner, &words, &start.arguments) : -ENOMEM;
	}
	if (error == -E2BIG)
		message("--confine: %zu files and directories are more than bubblewrap takes; the "
			"command is not started; say --confine=secrets, or name what may be read "
			"by -c "
			"confine.read=",
			confinement->count);
	else if (error < 0 || !words)
		message("--confine: the command is not started: %s", strerror(-error));
	else
		code = start_inner(&start, words, ret_signal);
	close_all(&start);
	free(inner);
	free(words);
	return code;
}

int confined_run(const struct config *config, int argc, char **argv, int first_word,
		 int *ret_signal)
{
	struct confinement confinement = { .places = NULL };
	char path[PATH_MAX];
	int code = EXIT_CODE_FAILED;

	*ret_signal = 0;
	if (executable_find("bwrap", path, sizeof(path)) < 0) {
		message("--confine: not possible here: there is no bwrap; the command is not "
			"started; %s",
			bwrap_remedy(BWRAP_ABSENT));
		return code;
	}
	terminal_note();
	int error = make_confinement(config, argv + first_word, &confinement);
	if (error == 0)
		error = check_inherited(&confinement);
	if (error == 0)
		code = run_confinement(&confinement,
				       (enum confine_set)config_number(config, OPTION_confine_set),
				       argc, argv, first_word, ret_signal);
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

/* Is a protected file out of reach?  Another one stands in its place. */
static bool is_out_of_reach(const char *entry, const char **ret_path)
{
	unsigned long long device, inode;
	int bytes = 0;
	struct stat stat;

	if (sscanf(entry, "%llu %llu %n", &device, &inode, &bytes) != 2 || bytes == 0)
		return false;
	*ret_path = entry + bytes;
	return lstat(*ret_path, &stat) < 0 || stat.st_dev != device || stat.st_ino != inode;
}

/* Reads the list, and checks each file of it. */
static bool check_list(int list)
{
	char *entry = NULL;
	size_t capacity = 0, count = 0, closed = 0;
	int set = 0, shares_network = 0;
	FILE *file = fdopen(list, "r");
	bool holds = file && getdelim(&entry, &capacity, '\0', file) > 0 &&
		     sscanf(entry, "%d %d %zu %zu", &set, &shares_network, &count, &closed) == 4 &&
		     set > CONFINE_SET_OFF && set <= CONFINE_SET_ISOLATED;
	size_t left = count + closed;

	for (; holds && left > 0 && getdelim(&entry, &capacity, '\0', file) > 0; left--) {
		const char *path = "a protected file";
		holds = is_out_of_reach(entry, &path);
		if (!holds)
			message("--confine: %s is in reach, where it ought not to be; the command "
				"is "
				"not started",
				path);
	}
	if (file)
		(void)fclose(file);
	free(entry);
	if (holds)
		(void)snprintf(inside.text, sizeof(inside.text),
			       "confined (%s): %zu protected files and directories out of reach%s",
			       option_at(OPTION_confine_set)->choices[set], count,
			       shares_network ? "" : ", no network");
	return holds && left == 0;
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
	/* Whatever is reported from here on is this process's own: bwrap did its part. */
	report(0);
	return check_list(list);
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
