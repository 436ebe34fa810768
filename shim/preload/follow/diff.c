/*
 * What changed in a file, instead of the file: told by the program (`seen answer diff`).
 *
 * A viewer is a stranger's process, and must not notice: only we wait for the child, and no
 * SIGCHLD comes.  A child that was started with no signal for its end is what wait() does not see;
 * but exec gives it SIGCHLD for one (execve(2)).  So there are two:
 *
 * 	viewer          waits for the keeper: for a pipe's end, and not longer than it has patience
 * 	 └─ keeper      a copy of the viewer, never replaced: without a signal for its end
 * 	     └─ seen    the program
 *
 * Each dies with the one above it.  Whatever goes wrong, the viewer is given the file.
 */
#include "shim/preload/follow/diff.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "shim/preload/state.h"
#include "tracker/answer/notice.h"
#include "tracker/content/contents_name.h"
#include "tracker/guard/guard.h"
#include "tracker/path/decimal.h"
#include "tracker/sys/sys.h"

static const uint64_t PATIENCE_NS = 3000000000u; /* with all diffs of one process */

enum {
	NS_PER_MS = 1000000,
	NS_PER_SECOND = 1000000000,
	SIGNALS = 64,
	SIGNAL_SET_BYTES = 8, /* the kernel's sigset_t */
	HEADER_BYTES = 16384, /* that the header's line is looked for in */
};

/* The kernel's struct sigaction; all zero is SIG_DFL. */
struct kernel_action {
	uint64_t words[4];
};

/* A program to be run. */
struct run {
	const char *path;
	char *const *words;
	char *const *environment;
	int in, out; /* its descriptors 0 and 1 */
};

_Noreturn static void leave(int status)
{
	for (;;)
		(void)sys_call3(SYS_exit_group, status, 0, 0);
}

/* Ends with the process above, which may have ended before this was called. */
static void exit_with_parent(pid_t parent)
{
	(void)sys_call6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	if (sys_getppid() != parent)
		leave(DIFF_FAILED);
}

/* The program: descriptors 0 to 2 and no others. */
static void start_program(const struct run *run)
{
	int in = sys_fcntl(run->in, F_DUPFD, 3), out = sys_fcntl(run->out, F_DUPFD, 3);
	int nothing = sys_open("/dev/null", O_RDWR, 0);

	if (nothing >= 0 && nothing < 3)
		nothing = sys_fcntl(nothing, F_DUPFD, 3);
	/* What could not be opened is no descriptor that has a copy. */
	if (sys_call3(SYS_dup3, in, 0, 0) < 0 || sys_call3(SYS_dup3, out, 1, 0) < 0 ||
	    sys_call3(SYS_dup3, nothing, 2, 0) < 0)
		return;
	/* An older kernel than 5.9 has no such call: then it has what the viewer would hand on. */
	(void)sys_call3(SYS_close_range, 3, ~0U, 0);
	(void)sys_call3(SYS_execve, (long)run->path, (long)run->words, (long)run->environment);
}

/* The keeper.  It began with all signals blocked: what the viewer does about them must not be done
 * twice. */
static void keep_program(const struct run *run, pid_t viewer)
{
	static const struct kernel_action by_default;
	uint64_t none = 0;
	int status = 0;

	for (int signal = 1; signal <= SIGNALS; signal++)
		(void)sys_call6(SYS_rt_sigaction, signal, (long)&by_default, 0, SIGNAL_SET_BYTES, 0,
				0);
	exit_with_parent(viewer);
	(void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, SIGNAL_SET_BYTES, 0, 0);
	pid_t keeper = sys_getpid();
	long child = sys_call6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	if (child == 0) {
		exit_with_parent(keeper);
		start_program(run);
		leave(DIFF_FAILED);
	}
	if (child < 0)
		leave(DIFF_FAILED);
	while (sys_call6(SYS_wait4, child, (long)&status, 0, 0, 0, 0) == -EINTR)
		;
	leave(WIFEXITED(status) ? WEXITSTATUS(status) : DIFF_FAILED);
}

/* Until the other end of a pipe is closed.  False: it is not in time. */
static bool wait_for_exit(int fd, uint64_t patience_ns)
{
	uint64_t end_ns = sys_boottime_ns() + patience_ns;

	for (;;) {
		uint64_t now_ns = sys_boottime_ns();
		uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
		struct timespec left = { (time_t)(left_ns / NS_PER_SECOND),
					 (long)(left_ns % NS_PER_SECOND) };
		struct pollfd poll = { .fd = fd };
		long ready = sys_call6(SYS_ppoll, (long)&poll, 1, (long)&left, 0, 0, 0);
		if (ready > 0)
			return true;
		if (ready != -EINTR || !left_ns)
			return false;
	}
}

/* Runs it.  Returns its exit status, or a negative errno. */
static int run_program(const struct run *run, uint64_t patience_ns)
{
	uint64_t all = ~UINT64_C(0), before = 0;
	int ends[2], status = 0;

	if (sys_call3(SYS_pipe2, (long)ends, O_CLOEXEC, 0) < 0)
		return -EMFILE;
	pid_t viewer = sys_getpid();
	(void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before,
			SIGNAL_SET_BYTES, 0, 0);
	long keeper = sys_call6(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (keeper == 0)
		keep_program(run, viewer);
	(void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, SIGNAL_SET_BYTES, 0, 0);
	(void)sys_close(ends[1]);
	if (keeper > 0 && !wait_for_exit(ends[0], patience_ns))
		(void)sys_call3(SYS_kill, keeper, SIGKILL, 0);
	(void)sys_close(ends[0]);
	if (keeper < 0)
		return (int)keeper;
	long ended;
	while ((ended = sys_call6(SYS_wait4, keeper, (long)&status, __WALL, 0, 0, 0)) == -EINTR)
		;
	return ended == keeper && WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/* What was written is what it should be: short, and beginning with a line that holds the session's
 * nonce, so that it is known for what it is wherever it turns up. */
static int check(int fd, const struct answer *answer, struct version *ret_version)
{
	char start[HEADER_BYTES];
	struct content content;
	int error = content_of_descriptor(fd, answer->content.version.size_bytes, &content);

	if (error == -EFBIG)
		return -ENODATA;
	if (error < 0)
		return error;
	ssize_t got = sys_pread(fd, start, sizeof(start), 0);
	const char *end = got > 0 ? memchr(start, '\n', (size_t)got) : NULL;
	if (!end || !guard_has_nonce(&shim.segment, start, (size_t)(end - start)))
		return -EBADMSG;
	if (!decision_is_short(content.version.size_bytes, answer->content.version.size_bytes))
		return -ENODATA;
	*ret_version = content.version;
	return 0;
}

static int make(int fd, const char *path, const struct answer *answer, uint64_t patience_ns,
		struct version *ret_version)
{
	char program[SEGMENT_PATH_BYTES], before[CONTENTS_NAME_BYTES], now[CONTENTS_NAME_BYTES];
	char given[DECIMAL_BYTES_MAX + 1];
	char *words[] = { program, (char *)"answer", (char *)"--", (char *)"diff",
			  /* SEEN_SESSION=DIRECTORY */
			  shim.session + sizeof("SEEN_SESSION=") - 1, before, now, given,
			  (char *)(uintptr_t)path, NULL };
	char *environment[] = { NULL };

	if (!program_path(program, sizeof(program)))
		return -ENOENT;
	contents_name(&answer->delivered, before);
	contents_name(&answer->content.version, now);
	uint64_t age_ns = sys_boottime_ns() - answer->given.time_ns;
	*decimal_write(given, sys_realtime_ns() - age_ns) = '\0';

	int memfd = notice_memory();
	if (memfd < 0)
		return memfd;
	struct run run = { program, words, environment, fd, memfd };
	int status = run_program(&run, patience_ns);
	if (status != DIFF_MADE) {
		(void)sys_close(memfd);
		return status == DIFF_LONG ? -ENODATA : status < 0 ? status : -EIO;
	}
	int text = notice_seal(memfd);
	int error = text < 0 ? text : check(text, answer, ret_version);
	if (text >= 0 && error < 0)
		(void)sys_close(text);
	return error < 0 ? error : text;
}

int diff_make(int fd, const char *path, const struct answer *answer, struct version *ret_version)
{
	static uint64_t spent_ns;
	uint64_t start_ns = sys_boottime_ns();
	int text = spent_ns < PATIENCE_NS
			   ? make(fd, path, answer, PATIENCE_NS - spent_ns, ret_version)
			   : -ETIMEDOUT;

	spent_ns += sys_boottime_ns() - start_ns;
	if (text < 0 && text != -ENODATA)
		segment_count(&shim.segment, COUNTER_lost_diffs, 1);
	return text;
}
