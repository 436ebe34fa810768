/* The command's start: see run_start.h. */
#include "cli/run/run_start.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/executable.h"
#include "cli/base/exit_code.h"
#include "cli/base/mapped.h"
#include "cli/base/message.h"
#include "cli/base/preload.h"
#include "cli/enable/starter.h"
#include "cli/run/run_wait.h"
#include "cli/run/supervised.h"
#include "cli/run/terminal.h"
#include "cli/run/via.h"
#include "shim/start/request.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

/* What the child needs to begin as it would without us. */
struct inherited {
	sigset_t mask;
	struct sigaction child_action;
};

int run_prepare_environment(const struct session *session, bool preloads)
{
	char library[SEGMENT_PATH_BYTES];

	(void)unsetenv(TICKET_VARIABLE);
	/* Also without the library: commands below ask about their session. */
	if (setenv("UV_USE_IO_URING", "0", 0) < 0 ||
	    setenv("SEEN_SESSION", session->directory, 1) < 0)
		return -ENOMEM;
	if (!preloads)
		return 0;
	int error = session_library(library, sizeof(library));
	if (error < 0) {
		message("%s%s", session_library_missing(error),
			error == -ENODEV ? "" : "; install both under one prefix");
		return error;
	}
	if (strpbrk(library, " :")) {
		message("%s cannot be preloaded: its path holds a space or a colon; install seen "
			"elsewhere",
			library);
		return -EINVAL;
	}
	return preload_add(library);
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
	const struct via *via;
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
static void spare_sanitizer(const char *path)
{
	char library[SEGMENT_PATH_BYTES];
	struct executable executable;

	if (executable_inspect(path, &executable) == 0 && executable.sanitized &&
	    session_library(library, sizeof(library)) == 0)
		(void)preload_remove(library);
}

/* The command asks to be supervised, as each program does for which it is needed.  It loses the right
 * to gain privileges: who names it as the command wants it observed. */
static void request_supervisor(const struct creation *creation)
{
	const struct session *session = creation->recording->session;
	const struct request_start start = {
		.directory = session->directory,
		.run = creation->context->flags >> CONTEXT_RUN_SHIFT,
		.process = creation->process,
		.may_drop = true,
		.is_run_root = true,
	};

	process_set_mechanism(&session->segment, creation->process, request_supervision(&start));
}

/* In the child: becomes the command, or says why not and ends. */
static void become(void *data)
{
	struct creation *creation = data;
	char found[SEGMENT_PATH_BYTES];
	bool passed;
	const char *path = creation->words[0];

	restore(creation->inherited);
	bool is_found = executable_find_past(path, found, sizeof(found), &passed) == 0;
	if (is_found)
		path = found;
	if (is_found && creation->recording && creation->preloads)
		spare_sanitizer(path);
	starter_mark(path);
	if (creation->recording && creation->via->at_exec &&
	    creation->via->ways != SESSION_VIA_PRELOAD)
		request_supervisor(creation);
	/* Else each directory of PATH before it is a call that a supervisor is asked about. */
	if (is_found && !passed && path[0] == '/')
		(void)execv(path, creation->words);
	(void)execvp(creation->words[0], creation->words);
	int error = errno;
	if (creation->recording) {
		record_exec(creation->recording, creation->process, creation->words, error);
		process_withdraw(&creation->recording->session->segment, creation->process);
	}
	(void)!write(creation->report, &error, sizeof(error));
	_exit(EXIT_CODE_FAILED);
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
		.is_strict = creation->via->must_supervise,
		.at_exec = creation->via->at_exec,
		.announce = announce,
		.become = become,
		.data = creation,
	};
	int error = supervised_start(&start, ret_supervised);

	if (error < 0)
		message("%s", via_explain(error));
	return error == 0;
}

/* Blocks the signals that are waited for, and has SIGCHLD come. */
static void prepare_signals(struct recording *recording, struct inherited *inherited,
			    sigset_t *ret_all)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	(void)sigfillset(ret_all);
	if (recording) { /* what is mapped may be cut */
		mapped_go_on();
		(void)sigdelset(ret_all, SIGBUS);
	}
	(void)sigprocmask(SIG_BLOCK, ret_all, &inherited->mask);
	(void)sigaction(SIGCHLD, &action, &inherited->child_action);
	if (recording) {
		recording->checkpoint.mask = inherited->mask;
		recording->checkpoint.child_action = inherited->child_action;
	}
}

/* Waits until the command's exec has succeeded.  Returns 0, or its errno. */
static int read_report(int report)
{
	int error = 0;
	ssize_t got;

	do
		got = read(report, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	(void)close(report);
	return got == sizeof(error) ? error : 0;
}

int run_start(struct recording *recording, const struct context *context, const struct via *via,
	      char **words, int *ret_signal)
{
	struct inherited inherited;
	struct supervised supervised;
	bool is_supervised = false;
	int report[2];
	sigset_t all;

	*ret_signal = 0;
	if (pipe2(report, O_CLOEXEC) < 0) {
		message("cannot start the command: %s", strerror(errno));
		return EXIT_CODE_FAILED;
	}
	prepare_signals(recording, &inherited, &all);
	struct creation creation = { .recording = recording,
				     .context = context,
				     .words = words,
				     .inherited = &inherited,
				     .preloads = via->ways != SESSION_VIA_SUPERVISE,
				     .via = via,
				     .report = report[1] };
	if (recording && (via->ways != SESSION_VIA_PRELOAD || via->at_exec)) {
		is_supervised = start_supervised(&creation, &supervised);
		if (!is_supervised && via->must_supervise) {
			message("a rule that denies would not hold: the command is not started "
				"(--best-effort starts it)");
			return EXIT_CODE_FAILED;
		}
		/* Then it is for the library alone to see it. */
		if (!is_supervised && !creation.preloads) {
			creation.preloads = true;
			if (run_prepare_environment(recording->session, true) < 0)
				message("the command runs unobserved");
		}
	}
	pid_t command = is_supervised ? supervised.command : start_child(&creation);
	if (command < 0) {
		message("cannot start the command: %s", strerror(-command));
		return EXIT_CODE_FAILED;
	}
	(void)close(report[1]);
	(void)recording_tend_journal(recording); /* it takes the command longer to begin */
	int error = read_report(report[0]);
	int status = run_wait(command, is_supervised ? &supervised : NULL, 0, &all, recording);
	if (is_supervised)
		supervised_close(&supervised);
	if (error) {
		message("%s: %s", words[0], strerror(error));
		return error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE;
	}
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	terminal_restore();
	*ret_signal = WTERMSIG(status);
	return 128 + *ret_signal;
}
