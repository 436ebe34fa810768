/*
 * `seen run`: opens or makes a session, runs a command with the library loaded in it, waits, and
 * says its result.
 *
 * The command runs in this process's group, so the terminal treats both as one job.  Signals that
 * the terminal sends reach the command without our doing; those sent to this process alone by
 * kill(2) are passed on.  When the command stops, this process stops; when it goes on, so does the
 * command.
 * Whatever goes wrong with the session, the command runs.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/agents/agent_version.h"
#include "cli/agents/transcripts.h"
#include "cli/base/executable.h"
#include "cli/base/exit_code.h"
#include "cli/base/mapped.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/preload.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/journal/seal.h"
#include "cli/run/elder.h"
#include "cli/run/fail_on.h"
#include "cli/run/metadata.h"
#include "cli/run/outlive.h"
#include "cli/run/starter.h"
#include "cli/run/supervised.h"
#include "cli/run/terminal.h"
#include "cli/run/unsaid.h"
#include "cli/run/via.h"
#include "cli/run/watch.h"
#include "cli/session/counts.h"
#include "cli/session/journal_file.h"
#include "cli/session/session.h"
#include "cli/session/session_make.h"
#include "cli/session/summary.h"
#include "cli/undo/checkpoint.h"
#include "config/rules.h"
#include "config/value.h"
#include "shim/supervise/supervisor.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"
#include "tracker/process/capture.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/role.h"
#include "tracker/process/runs.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

static const char *session_name;
static bool quiet, summary;
static int killed_by; /* the signal that ended the command; 0: none did */

static const struct option_spec SPECS[] = {
	{ "--session", "NAME", "use this session, made if it is new; default: a new one", NULL,
	  &session_name },
	{ "--summary", NULL, "print the summary also where stderr is no terminal", &summary, NULL },
	{ "--quiet", NULL, "print no summary", &quiet, NULL },
};

static const struct options OPTIONS = {
	.usage = "run [OPTION...] [--] COMMAND [ARGUMENT...]",
	.summary = "Runs COMMAND, usually an AI coding agent, and records the file accesses of "
		   "every process below it. Ends with COMMAND's status, or by its signal. Where "
		   "--fail-on finds something, the status is one of `seen help exit`.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* What the child needs to begin as it would without us. */
struct inherited {
	sigset_t mask;
	struct sigaction child_action;
};

/* Where a run records to: nothing mapped in a session without a journal. */
struct recording {
	const struct session *session;
	struct journal journal;
	uint64_t last;    /* the journal's end when it was last tended */
	uint64_t touched; /* number behind what of it is in memory */
	uint64_t most;    /* that was written between two turns */
	struct watch *watch;
	struct transcripts *transcripts;
	struct checkpoint checkpoint;
	bool supervisor_died; /* with the command still running, or at its end */
	/* tells that a signal is there while the watcher's descriptor is waited for; -1: not made
	 * yet */
	int signals;
};

/* The environment of the command: the library, the session, and what would hide file access from
 * it. */
static int prepare_environment(const struct session *session, bool preloads)
{
	char library[SEGMENT_PATH_BYTES];

	(void)unsetenv(TICKET_VARIABLE);
	/* Also without the library: commands below ask about their session. */
	if (setenv("UV_USE_IO_URING", "0", 0) < 0 ||
	    setenv("SEEN_SESSION", session->directory, 1) < 0)
		return -ENOMEM;
	if (!preloads)
		return 0;
	if (session_library(library, sizeof(library)) < 0) {
		message("lib/seen/libseen.so is not beside this program; install both under one "
			"prefix");
		return -ENOENT;
	}
	if (strpbrk(library, " :")) {
		message("%s cannot be preloaded: its path holds a space or a colon; install seen "
			"elsewhere",
			library);
		return -EINVAL;
	}
	return preload_add(library);
}

/* The place of the root in the tree: where the agent is, and what the run's own output is. */
static struct context root_context(const struct config *config, const struct segment *segment,
				   char **words)
{
	struct context context = { .flags = CONTEXT_ATTACHED | CONTEXT_ROOT,
				   .pid_ns = process_pid_ns() };
	uint64_t agent_is = config_number(config, OPTION_session_agent_is);
	const char *said = getenv("SEEN_AGENT_IS");
	struct invocation invocation;
	struct stat stat;

	if (agent_is == SESSION_AGENT_IS_AUTO && said && strcmp(said, "outside") == 0)
		agent_is = SESSION_AGENT_IS_OUTSIDE;
	if (agent_is == SESSION_AGENT_IS_AUTO && said && strcmp(said, "inside") == 0)
		agent_is = SESSION_AGENT_IS_INSIDE;
	role_invocation(segment, words[0], words, &invocation);
	if (agent_is == SESSION_AGENT_IS_OUTSIDE)
		context.flags |= CONTEXT_EXTERNAL_AGENT | CONTEXT_EXTERNAL_DECLARED;
	else if (agent_is == SESSION_AGENT_IS_AUTO &&
		 role_root_is_external(&invocation, isatty(STDIN_FILENO)))
		context.flags |= CONTEXT_EXTERNAL_AGENT;
	if (sys_fstat(STDOUT_FILENO, &stat) == 0)
		context.root_out = identity_of(&stat);
	context.flags |= CONTEXT_ROOT_OUT;
	return context;
}

static void restore(const struct inherited *inherited)
{
	(void)sigaction(SIGCHLD, &inherited->child_action, NULL);
	mapped_leave();
	(void)sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

/* The command is about to be started, or, with an error, could not be. */
static void record_exec(struct recording *recording, struct process_ref process, char **words,
			int error)
{
	char directory[SEGMENT_PATH_BYTES], arguments[4096];
	struct journal *journal = &recording->journal;
	struct journal_record record = journal_blank(error ? JOURNAL_EXEC_FAILED : JOURNAL_EXEC);
	size_t used = 0;

	if (!journal->header || !words[0])
		return;
	record.head.error = (uint16_t)error;
	record.tid = record.count = (uint32_t)getpid();
	record.amount = process.serial;
	for (int i = 0; words[i] && !(record.marks & JOURNAL_CUT); i++) {
		size_t bytes = strlen(words[i]) + 1;
		if (bytes > sizeof(arguments) - used)
			record.marks |= JOURNAL_CUT;
		else
			memcpy(arguments + used, words[i], bytes), used += bytes;
	}
	record.path = journal_text(journal, words[0], strlen(words[0]), true);
	record.other_path = journal_text(journal, arguments, used, true);
	if (getcwd(directory, sizeof(directory)))
		record.directory = journal_text(journal, directory, strlen(directory), true);
	uint32_t number = journal_write(journal, &record, NULL, 0, true);
	if (!error)
		process_set_record(&recording->session->segment, process, number);
}

/* What a child needs to become the command. */
struct creation {
	struct recording *recording; /* NULL: without a session */
	const struct context *context;
	char **words;
	const struct inherited *inherited;
	bool preloads;
	int report; /* gets errno when the command cannot be started */
	struct process_ref process;
};

/* In the child: announces the command. */
static struct process_ref announce(void *data)
{
	struct creation *creation = data;
	static char ticket[TICKET_BYTES];

	if (!creation->recording)
		return creation->process;
	creation->process = process_announce(&creation->recording->session->segment, SUBJECT_SELF,
					     creation->context, (struct process_ref){ 0, 0 },
					     getpid(), creation->words[0], creation->words, ticket);
	if (creation->process.serial && creation->preloads)
		(void)putenv(ticket);
	record_exec(creation->recording, creation->process, creation->words, 0);
	return creation->process;
}

/* A command that would not start below the library is started without it. */
static void spare_sanitizer(const char *name)
{
	char path[SEGMENT_PATH_BYTES], library[SEGMENT_PATH_BYTES];
	struct executable executable;

	if (executable_find(name, path, sizeof(path)) == 0 &&
	    executable_inspect(path, &executable) == 0 && executable.sanitized &&
	    session_library(library, sizeof(library)) == 0)
		(void)preload_remove(library);
}

/* In the child: becomes the command, or says why not and ends. */
static void become(void *data)
{
	struct creation *creation = data;

	restore(creation->inherited);
	if (creation->recording && creation->preloads)
		spare_sanitizer(creation->words[0]);
	starter_mark(creation->words[0]);
	(void)execvp(creation->words[0], creation->words);
	int error = errno;
	if (creation->recording) {
		record_exec(creation->recording, creation->process, creation->words, error);
		process_withdraw(&creation->recording->session->segment, creation->process);
	}
	(void)!write(creation->report, &error, sizeof(error));
	_exit(EXIT_CODE_FAILED);
}

/* Is a signal that reached this process to be passed on?  What the terminal sends (si_code
 * SI_KERNEL), it sends to the whole group; other signals of the kernel (an alarm set before we were
 * started) are for the command. */
static bool is_for_child(int signal, const siginfo_t *info)
{
	static const int OF_TERMINALS[] = { SIGINT,  SIGQUIT, SIGTSTP,  SIGTTIN,
					    SIGTTOU, SIGHUP,  SIGWINCH, SIGCONT };

	if (info->si_code != SI_KERNEL)
		return info->si_pid != getpid();
	for (size_t i = 0; i < sizeof(OF_TERMINALS) / sizeof(OF_TERMINALS[0]); i++)
		if (signal == OF_TERMINALS[i])
			return false;
	return true;
}

/* Is a process stopped (proc(5), stat, field 3)? */
static bool is_stopped(pid_t pid)
{
	char path[40], text[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	const char *behind_name = strrchr(text, ')');
	return behind_name && behind_name[1] == ' ' && behind_name[2] == 'T';
}

/* Another process may stop the command by its own pid (a limiter of processor time) and let it go
 * on without knowing of this process, which cannot notice while it is stopped itself: a child
 * checks, and lets it go on too. */
static pid_t watch(pid_t command)
{
	static const struct timespec PAUSE = { .tv_nsec = 20000000 };
	pid_t self = getpid();
	pid_t watcher = fork();

	if (watcher != 0)
		return watcher;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	do
		(void)nanosleep(&PAUSE, NULL);
	while (getppid() == self && is_stopped(command));
	(void)kill(self, SIGCONT);
	_exit(0);
}

/* Has the pages of the journal that are written next in memory: the first store to one that is not
 * takes its writer microseconds, for the file system's sake.  next: the journal's end.  written:
 * since the last turn. */
static void touch_journal(struct recording *recording, uint64_t next, uint64_t written)
{
	enum { AHEAD_UNITS = 8192, AHEAD_UNITS_MAX = 131072, TURNS = 4 };

	if (written > recording->most)
		recording->most = written;
	uint64_t ahead = TURNS * recording->most;
	ahead = ahead < AHEAD_UNITS ? AHEAD_UNITS : ahead;
	ahead = ahead > AHEAD_UNITS_MAX ? AHEAD_UNITS_MAX : ahead;
	uint64_t from = recording->touched > next ? recording->touched : next;
	if (from - next <= ahead / 2)
		recording->touched = journal_touch(&recording->journal, from, next + ahead);
}

/* Makes the journal longer before the processes that write to it have to: a call of theirs should
 * not take the time, nor a descriptor for a moment.  As much as was written since the last time,
 * twice.  Returns whether something was. */
static bool tend_journal(struct recording *recording)
{
	enum { UNITS_MIN = 4 * JOURNAL_ROOM_UNITS };
	bool first = recording && !recording->touched;
	struct journal *journal = recording ? &recording->journal : NULL;

	if (!journal || !journal->header)
		return false;
	uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_RELAXED);
	uint64_t written = !first && next > recording->last ? next - recording->last : 0;
	recording->last = next;
	if (written)
		journal_make_room(journal, UNITS_MIN + 2 * written);
	if (written || first)
		touch_journal(recording, next, written);
	return written;
}

enum { SOON_MS = 20, LATER_MS = 200 };

/* What there is to do while the command runs, at every turn of the loop that waits for it.  Returns
 * in how many milliseconds the next turn is to come at the latest. */
static unsigned tend(struct recording *recording)
{
	unsigned journal_ms = tend_journal(recording) ? SOON_MS : LATER_MS;
	unsigned watch_ms = watch_tick(recording->watch);
	unsigned checkpoint_ms = checkpoint_tick(&recording->checkpoint);

	unsigned transcripts_ms = transcripts_tick(recording->transcripts);
	agent_versions_tick(&recording->session->segment);
	watch_leave_out(recording->watch, recording->checkpoint.running);
	metadata_tick();
	unsigned least_ms = watch_ms < checkpoint_ms ? watch_ms : checkpoint_ms;
	least_ms = transcripts_ms < least_ms ? transcripts_ms : least_ms;
	return journal_ms < least_ms ? journal_ms : least_ms;
}

/* Waits for a signal, for as long at most, or until the watcher or a transcript has something to
 * do.  As sigtimedwait(2), which it is where nothing is watched. */
static int next_signal(struct recording *recording, const sigset_t *all, unsigned wait_ms,
		       siginfo_t *ret_info)
{
	struct timespec wait = { .tv_nsec = (long)wait_ms * 1000000 };
	int watched = watch_descriptor(recording->watch),
	    conversations_report = transcripts_descriptor(recording->transcripts);
	bool polls = watched >= 0 || conversations_report >= 0;

	if (polls && recording->signals < 0)
		recording->signals = signalfd(-1, all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (polls && recording->signals >= 0) {
		/* One that is negative is passed over. */
		struct pollfd any[] = { { .fd = watched, .events = POLLIN },
					{ .fd = conversations_report, .events = POLLIN },
					{ .fd = recording->signals, .events = POLLIN } };
		(void)ppoll(any, 3, &wait, NULL);
		wait = (struct timespec){ 0 };
	}
	return sigtimedwait(all, ret_info, &wait);
}

/* supervised: NULL: the command is a child of this process, whose number is its own until it is
 * waited for. */
static void signal_command(pid_t command, const struct supervised *supervised, int signal)
{
	if (supervised)
		supervised_signal(supervised, signal);
	else
		(void)kill(command, signal);
}

/* Was the command let go on since it stopped?  Then it is not told again: it may have been stopped
 * once more by now. */
static bool goes_on(pid_t command, const struct supervised *supervised)
{
	siginfo_t info = { .si_pid = 0 };

	if (supervised)
		return !is_stopped(command);
	if (waitid(P_PID, (id_t)command, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid)
		return true;
	/* The next stop takes back what the kernel reported of that; it is still to be waited
	 * for. */
	return waitid(P_PID, (id_t)command, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid;
}

/* Stops this process by a signal, so that its waiting parent gets the same status.  Returns whether
 * it did: the kernel drops the signals of terminals in an orphaned process group.
 * All signals are blocked. */
static bool stop_by(int signal)
{
	static const struct timespec NOW = { .tv_nsec = 0 };
	struct sigaction by_default = { .sa_handler = SIG_DFL }, before;
	sigset_t going_on, stopping, pending;

	(void)sigemptyset(&going_on);
	(void)sigaddset(&going_on, SIGCONT);
	while (sigtimedwait(&going_on, NULL, &NOW) > 0)
		; /* of before */
	(void)sigemptyset(&stopping);
	(void)sigaddset(&stopping, signal);
	(void)sigaction(signal, &by_default, &before);
	(void)kill(getpid(), signal);
	(void)sigprocmask(SIG_UNBLOCK, &stopping, NULL); /* here it stops */
	(void)sigprocmask(SIG_BLOCK, &stopping, NULL);
	(void)sigaction(signal, &before, NULL);
	/* The process that let it go on sent SIGCONT, which is blocked. */
	return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

/* The command stopped: so does this process, as one job with it. */
static void stop_with(pid_t command, const struct supervised *supervised, int signal)
{
	pid_t watcher = signal == SIGSTOP ? watch(command) : 0;

	if (signal == SIGSTOP || !stop_by(signal))
		(void)kill(getpid(), SIGSTOP);
	if (watcher > 0) {
		(void)kill(watcher, SIGKILL);
		(void)waitpid(watcher, NULL, 0);
	}
	/* This process was continued; perhaps with the whole group, perhaps alone. */
	if (!goes_on(command, supervised))
		signal_command(command, supervised, SIGCONT);
}

/* Checks whether the command, a child of this process, has ended; stops and goes on with it. */
static bool has_ended(pid_t command, int *ret_status)
{
	pid_t changed;

	while ((changed = waitpid(command, ret_status, WNOHANG | WUNTRACED)) > 0) {
		if (!WIFSTOPPED(*ret_status))
			return true;
		stop_with(command, NULL, WSTOPSIG(*ret_status));
	}
	*ret_status = 0;
	return changed < 0 && errno != EINTR;
}

/* The same for a command below a supervisor. */
static bool has_supervised_ended(struct supervised *supervised, int *ret_status,
				 struct recording *recording)
{
	struct supervised_message said;

	for (;;) {
		supervised_next(supervised, &said);
		*ret_status = said.status;
		switch (said.news) {
		case SUPERVISED_NONE:
			return false;
		case SUPERVISED_ENDED:
			return true;
		case SUPERVISED_STOPPED:
			stop_with(supervised->command, supervised, WSTOPSIG(said.status));
			break;
		case SUPERVISED_LINE:
			message("%s", said.line);
			break;
		case SUPERVISED_LOST:
			message("the supervisor has died; the command goes on, unobserved");
			recording->supervisor_died = true;
			break;
		}
	}
}

/* Waits for the command; stops and goes on with it; passes signals on.  supervised: NULL: it is a
 * child of this process.  Returns its wait status. */
static int wait_for(pid_t command, struct supervised *supervised, const sigset_t *all,
		    struct recording *recording)
{
	unsigned wait_ms = SOON_MS;

	for (;;) {
		siginfo_t info;
		int status;

		if (supervised ? has_supervised_ended(supervised, &status, recording)
			       : has_ended(command, &status))
			return status;
		int signal = recording ? next_signal(recording, all, wait_ms, &info)
				       : sigwaitinfo(all, &info);
		if (recording)
			wait_ms = tend(recording);
		if (signal > 0 && signal != SIGCHLD && is_for_child(signal, &info))
			signal_command(command, supervised, signal);
		if (recording && mapped_take_sent())
			signal_command(command, supervised, SIGBUS);
	}
}

/* Starts the command as a child of this process.  Returns its pid, or a negative errno. */
static pid_t start_child(struct creation *creation)
{
	pid_t parent = getpid();
	pid_t child = fork();

	if (child != 0)
		return child < 0 ? -errno : child;
	(void)announce(creation);
	/* A kill of `seen run` is meant for the command. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_CODE_FAILED);
	become(creation);
	_exit(EXIT_CODE_FAILED);
}

/* Starts the command below a supervisor.  False with a line that says why: then it is not
 * started. */
static bool start_supervised(struct creation *creation, struct supervised *ret_supervised)
{
	struct supervised_start start = {
		.segment = &creation->recording->session->segment,
		.directory = creation->recording->session->directory,
		.journal = &creation->recording->journal,
		.context = *creation->context,
		.has_library = creation->preloads,
		.announce = announce,
		.become = become,
		.data = creation,
	};
	int error = supervised_start(&start, ret_supervised);

	if (error < 0)
		message("%s", via_explain(error));
	return error == 0;
}

static int run_command(struct recording *recording, const struct context *context,
		       enum session_via via, char **words)
{
	struct inherited inherited;
	struct sigaction action = { .sa_handler = SIG_DFL };
	struct supervised supervised;
	bool is_supervised = false;
	int report[2], error = 0, status;
	sigset_t all;

	if (pipe2(report, O_CLOEXEC) < 0) {
		message("cannot start the command: %s", strerror(errno));
		return EXIT_CODE_FAILED;
	}
	(void)sigfillset(&all);
	if (recording) { /* what is mapped may be cut */
		mapped_go_on();
		(void)sigdelset(&all, SIGBUS);
	}
	(void)sigprocmask(SIG_BLOCK, &all, &inherited.mask);
	(void)sigaction(SIGCHLD, &action, &inherited.child_action);
	if (recording) {
		recording->checkpoint.mask = inherited.mask;
		recording->checkpoint.child_action = inherited.child_action;
	}
	struct creation creation = { .recording = recording,
				     .context = context,
				     .words = words,
				     .inherited = &inherited,
				     .preloads = via != SESSION_VIA_SUPERVISE,
				     .report = report[1] };
	if (via != SESSION_VIA_PRELOAD) {
		is_supervised = start_supervised(&creation, &supervised);
		/* Then it is for the library alone to see it. */
		if (!is_supervised && !creation.preloads) {
			creation.preloads = true;
			if (prepare_environment(recording->session, true) < 0)
				message("the command runs unobserved");
		}
	}
	pid_t command = is_supervised ? supervised.command : start_child(&creation);
	if (command < 0) {
		message("cannot start the command: %s", strerror(-command));
		return EXIT_CODE_FAILED;
	}
	(void)close(report[1]);
	(void)tend_journal(recording); /* it takes the command longer to begin */
	ssize_t got;
	do
		got = read(report[0], &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	(void)close(report[0]);
	status = wait_for(command, is_supervised ? &supervised : NULL, &all, recording);
	if (is_supervised)
		supervised_close(&supervised);
	if (got == sizeof(error)) {
		message("%s: %s", words[0], strerror(error));
		return error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE;
	}
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	terminal_restore();
	killed_by = WTERMSIG(status);
	return 128 + killed_by;
}

/* What a run is to be like without a session. */
enum blind { NOT_BLIND, BLIND, REFUSED };

/* Says why nothing can be observed.  The command runs all the same, but not where a user asked for
 * something to be refused.  session: the name or "no session"; may be NULL. */
static enum blind go_blind(const struct config_rule *rule, const char *what, const char *why)
{
	if (!rule) {
		message("%s%s; the command runs unobserved", what, why);
		return BLIND;
	}
	message("%s%s; [rule %s] (%s), set by %s, would not hold: the command is not started", what,
		why, rule->name, rule->values[RULE_OPTION_ACTION].text,
		rule->values[RULE_OPTION_ACTION].origin);
	return REFUSED;
}

/* The session, or none with a line that says why. */
static enum blind prepare_session(const struct config *config, char **words,
				  struct session *ret_session, struct via *ret_via)
{
	const struct config_rule *rule = via_binding_rule(config);
	enum blind blind = NOT_BLIND;
	char what[SEGMENT_PATH_BYTES];

	if (config_number(config, OPTION_session_mode) == SESSION_MODE_OFF)
		return BLIND;
	int error = session_make(config, session_name, ret_session);
	if (error < 0) {
		(void)snprintf(what, sizeof(what), "%s%s",
			       session_name ? session_name : "no session",
			       session_name ? ": " : " could be made: ");
		/* Of a directory that cannot be made, not of a session. */
		return go_blind(rule, what,
				error == -ENOENT ? strerror(ENOENT) : session_explain(error));
	}
	via_choose(config, &ret_session->segment, words, supervise_supported, ret_via);
	if (ret_via->refusal)
		blind = go_blind(rule, "", ret_via->refusal);
	else if (ret_via->note)
		message("%s", ret_via->note);
	if (!blind && rule && ret_session->keeps_settings)
		message("[rule %s] (%s) may not hold: the session has its own rules", rule->name,
			rule->values[RULE_OPTION_ACTION].text);
	/* Where there is no journal either, that line says why. */
	if (!blind && ret_session->contents_error < 0 && ret_session->journal_error == 0)
		message("nothing can be brought back: no content store: %s",
			session_explain(ret_session->contents_error));
	if (!blind && prepare_environment(ret_session, ret_via->ways != SESSION_VIA_SUPERVISE) < 0)
		blind = go_blind(rule, "", "there is no library");
	if (blind)
		session_close(ret_session);
	return blind;
}

/* The session's journal, to write to.  A session that ought to have one and has none is used all
 * the same. */
static void open_journal(const struct session *session, struct journal *ret_journal)
{
	const char *path = session_journal(session);
	int error = session_map_journal(session, ret_journal);

	if (error < 0)
		message("no journal: %s%s%s; what is accessed is not recorded", path ? path : "",
			path ? ": " : "",
			path || error != -ENOENT ? journal_file_explain(error)
						 : "this session has none");
}

/* Is the journal still the one that this run began with, and as long as it says?  Maps it anew:
 * where memory is limited, only what was there at the start was mapped.  What a damaged one yields
 * would be wrong. */
static void renew_journal(const struct session *session, const struct journal_header *begun,
			  struct journal *journal)
{
	const uint64_t dev = journal->dev, ino = journal->ino;
	const char *path = session_journal(session);

	if (!journal->header)
		return;
	journal_unmap(journal);
	int error = session_map_journal(session, journal);
	if (error == 0 &&
	    (!journal->header || journal->dev != dev || journal->ino != ino ||
	     memcmp(journal->header->nonce, begun->nonce, sizeof(begun->nonce)) != 0 ||
	     journal->header->next < begun->next || journal->header->lost < begun->lost))
		error = -EBADMSG;
	if (error == 0)
		return;
	journal_unmap(journal);
	message("the journal %s: %s: what was recorded in this run is not to be had",
		path ? path : "", journal_file_explain(error));
}

/* The run is over: its last records, and the seal over all of them. */
static void finish_journal(const struct session *session, struct journal *journal,
			   const struct summary *sum, bool shown)
{
	struct seal_result seal;
	char number[TEXT_NUMBER_BYTES];

	if (!journal->header)
		return;
	coverage_record(&sum->coverage, journal);
	int error = seal_append(session_journal(session), journal, &seal);
	if (error)
		message("the journal %s could not be sealed: %s", session_journal(session),
			journal_file_explain(error));
	else if (shown)
		(void)fprintf(stderr, "seen: sealed %s records, %s\n",
			      text_number(seal.records, number), seal.digest);
}

/* Ends this process as the command was ended.  Returns where that cannot be: the first process of a
 * container has no default actions. */
static void die_by(int signal)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t one;

	(void)fflush(NULL);
	(void)prctl(PR_SET_DUMPABLE, 0); /* the core of interest is the command's */
	(void)sigaction(signal, &by_default, NULL);
	(void)sigemptyset(&one);
	(void)sigaddset(&one, signal);
	(void)kill(getpid(), signal);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* Says what the run ends with, where that is not the command's status, and ends so. */
static int conclude(const char *line, int code)
{
	if (line[0])
		message("%s", line);
	if (killed_by && code == 128 + killed_by)
		die_by(killed_by);
	return code;
}

/* Are the last lines wanted? */
static bool is_shown(void)
{
	return !quiet && (summary || isatty(STDERR_FILENO));
}

/* A command that ran without a session. */
static int run_blind(const struct config *config, unsigned asked, char **words)
{
	bool is_off = config_number(config, OPTION_session_mode) == SESSION_MODE_OFF;
	bool is_strange = is_off &&
			  config_is_of_workspace(config, config_value(config, OPTION_session_mode));
	char line[FAIL_ON_LINE_BYTES], why[SEGMENT_PATH_BYTES + 64] = "there was no session";

	if (is_off)
		(void)snprintf(why, sizeof(why), "[session] mode = off, set by %s",
			       config_value(config, OPTION_session_mode)->origin);
	if (is_strange)
		message("nothing is observed: %s", why);
	int code = run_command(NULL, NULL, SESSION_VIA_PRELOAD, words);
	if (is_shown())
		terminal_start_lines();
	if (is_strange && is_shown())
		message("nothing was observed: %s", why);
	code = fail_on_blind(asked, why, code, line);
	return conclude(line, code);
}

/* Who speaks with the agent: a person at a terminal may have it begin another conversation. */
static uint32_t run_kind(const struct context *context)
{
	enum context_run kind = CONTEXT_RUN_HEADLESS;

	if (isatty(STDIN_FILENO))
		kind = context->flags & CONTEXT_EXTERNAL_AGENT ? CONTEXT_RUN_EXTERNAL
							       : CONTEXT_RUN_INTERACTIVE;
	return (uint32_t)kind << CONTEXT_RUN_KIND_SHIFT;
}

static int run(const struct config *config, char **words)
{
	static char path[PATH_MAX];
	int passed = starter_pass(words[0], path);

	if (passed == -ELOOP) {
		message("%s: it starts itself by `seen run` again and again, and there is no "
			"other program of that name on PATH",
			words[0]);
		return EXIT_CODE_NOT_FOUND;
	}
	if (passed)
		words[0] = path;
	terminal_note();
	unsigned asked = fail_on_asked(config);
	char line[FAIL_ON_LINE_BYTES];
	struct session session;
	struct summary sum;
	uint64_t counters[COUNTER_COUNT], since_realtime_ns = sys_realtime_ns(),
					  since_ns = sys_boottime_ns();
	char conversations_report[CONVERSATIONS_TEXT_BYTES];
	struct context context;
	struct via via;

	enum blind blind = prepare_session(config, words, &session, &via);
	if (blind)
		return blind == REFUSED ? EXIT_CODE_FAILED : run_blind(config, asked, words);
	struct recording recording = { .session = &session, .signals = -1 };
	open_journal(&session, &recording.journal);
	for (int i = 0; i < COUNTER_COUNT; i++)
		counters[i] = segment_counter(&session.segment, (enum counter)i);
	const struct journal_header begun = recording.journal.header
						    ? *recording.journal.header
						    : (struct journal_header){ .magic = 0 };
	context = root_context(config, &session.segment, words);
	uint32_t this_run = process_begin_run(&session.segment);
	context.flags |= this_run | run_kind(&context);
	recording.watch = watch_start(&session, &recording.journal, quiet);
	recording.transcripts = transcripts_start(config, &session, &recording.journal);
	checkpoint_start(&recording.checkpoint, &session, config);
	metadata_open(&session);
	int code = run_command(&recording, &context, via.ways, words);
	process_end_run(&session.segment, this_run);
	watch_finish(recording.watch);
	/* The last of what was given is reported before it ends. */
	(void)transcripts_tick(recording.transcripts);
	(void)transcripts_text(recording.transcripts, conversations_report);
	transcripts_finish(recording.transcripts);
	checkpoint_finish(&recording.checkpoint);
	metadata_close();
	bool shown = is_shown();
	if (shown)
		terminal_start_lines();
	coverage_wait(&session.segment, since_ns);
	renew_journal(&session, &begun, &recording.journal);
	summary_compute(&session.segment, &recording.journal, counters, since_realtime_ns, since_ns,
			&sum);
	if (recording.supervisor_died)
		coverage_note(&sum.coverage, "(supervisor)", "it died before the command ended");
	if (!recording.journal.header &&
	    session.segment.settings->journal_level != JOURNAL_LEVEL_OFF)
		coverage_note(&sum.coverage, "(journal)",
			      begun.magic ? "it was cut short or overwritten in this run"
					  : "it could not be written to");
	if (mapped_was_cut())
		coverage_note(&sum.coverage, "(session)", "a file of it was cut short in this run");
	if (shown)
		summary_print(&sum, session.name);
	if (shown && recording.journal.header &&
	    (counts_sum(sum.counters, COUNT_WARNED) || counts_sum(sum.counters, COUNT_DENIED)))
		unsaid_print(&session.segment, session_journal(&session), begun.next);
	if (shown && conversations_report[0])
		(void)fprintf(stderr, "seen: %s\n", conversations_report);
	if (fail_on_rules_missed(config, &sum.coverage, line))
		message("%s", line);
	code = fail_on_judge(asked,
			     &(struct fail_on_run){ .sum = &sum,
						    .lost_before = begun.lost,
						    .journal = &recording.journal,
						    .since = begun.next,
						    .session = session.name,
						    .keeps_rules = session.keeps_settings,
						    .status = code },
			     line);
	finish_journal(&session, &recording.journal, &sum, shown);
	if (shown)
		elder_print(&session.segment, since_ns);
	if (shown || recording.supervisor_died)
		outlive_print(&session, recording.checkpoint.running,
			      recording.journal.header != NULL);
	journal_unmap(&recording.journal);
	session_close(&session);
	return conclude(line, code);
}

int cmd_run(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0 &&
	    options_load(&parsed, &code) == 0) {
		if (session_name && session_name[0] != '/' &&
		    !session_name_is_valid(session_name)) {
			message("--session %s: %s", session_name, session_explain(-EINVAL));
			code = EXIT_CODE_FAILED;
		} else if (parsed.first_word == argc) {
			message("run what? `seen run -- COMMAND`");
			code = EXIT_CODE_FAILED;
		} else {
			code = run(parsed.config, argv + parsed.first_word);
		}
	} else if (code == EXIT_CODE_USAGE) {
		code = EXIT_CODE_FAILED; /* a status of its own: 2 may be the command's */
	}
	options_done(&parsed);
	return code;
}
