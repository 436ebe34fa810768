/*
 * kills PID before|amid NUMBER [addfd]
 *
 * Kills process PID at the NUMBER-th system call that one of its threads makes from now on: before the call, or in it, as soon as it
 * would wait.  Calls by which a thread waits for something to do are not counted.  addfd: only the calls that add a descriptor to
 * another process (seccomp_unotify(2)).
 *
 * Prints a line when it is ready; another one with the number of calls when it has killed the process, or the process has ended, or
 * standard input has (then the process goes on).
 */
#include "check.h"

#include <dirent.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

static struct {
	pid_t process;
	bool is_amid, adds_only;
	long number;
} wanted;

static long counted;

static int seize_threads(pid_t process)
{
	char path[64];
	struct dirent *entry;
	int count = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	DIR *threads = opendir(path);
	CHECK(threads);
	while ((entry = readdir(threads))) {
		pid_t thread = atoi(entry->d_name);
		if (thread <= 0)
			continue;
		if (ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE) <
		    0)
			return -1;
		CHECK(ptrace(PTRACE_INTERRUPT, thread, 0, 0) == 0);
		count++;
	}
	CHECK(closedir(threads) == 0);
	return count;
}

static bool is_counted(const struct __ptrace_syscall_info *call)
{
	switch (call->entry.nr) {
	case SYS_restart_syscall:
	case SYS_epoll_pwait:
	case SYS_ppoll:
	case SYS_futex:
#ifdef SYS_poll
	case SYS_poll:
	case SYS_epoll_wait:
#endif
		return false;
	case SYS_ioctl:
		/* it waits for calls in this one */
		return wanted.adds_only ? call->entry.args[1] == SECCOMP_IOCTL_NOTIF_ADDFD
					: call->entry.args[1] != SECCOMP_IOCTL_NOTIF_RECV;
	default:
		return !wanted.adds_only;
	}
}

/* Lets a thread that stopped go on.  True: the process is being killed. */
static bool go_on(pid_t thread, int status)
{
	static pid_t amid; /* a thread in the call */
	struct __ptrace_syscall_info call;
	int signal = WSTOPSIG(status), event = status >> 16;

	if (thread == amid) {
		(void)kill(wanted.process, SIGKILL);
		return true;
	}
	if (signal == (SIGTRAP | 0x80) &&
	    ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(call), &call) > 0 &&
	    call.op == PTRACE_SYSCALL_INFO_ENTRY && is_counted(&call) &&
	    ++counted == wanted.number) {
		if (!wanted.is_amid) {
			(void)kill(wanted.process, SIGKILL);
			return true;
		}
		/* It finds an interruption as soon as it waits. */
		amid = thread;
		(void)ptrace(PTRACE_INTERRUPT, thread, 0, 0);
	}
	bool is_own = event || signal == SIGTRAP || signal == (SIGTRAP | 0x80);
	(void)ptrace(PTRACE_SYSCALL, thread, 0, is_own ? 0 : signal);
	return false;
}

int main(int argc, char **argv)
{
	sigset_t set;
	bool is_over = false, is_let_go = false;
	int status;
	pid_t thread;

	CHECK(argc >= 4);
	wanted.process = atoi(argv[1]);
	wanted.is_amid = strcmp(argv[2], "amid") == 0;
	wanted.number = strtol(argv[3], NULL, 10);
	wanted.adds_only = argc > 4;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (seize_threads(wanted.process) < 0)
		skip("may not trace here");
	printf("ready\n");
	(void)fflush(stdout);
	while (!is_over) {
		struct pollfd wait[] = { { signals, POLLIN, 0 },
					 { is_let_go ? -1 : 0, POLLIN, 0 } };
		struct signalfd_siginfo info;
		CHECK(poll(wait, 2, -1) > 0);
		while (read(signals, &info, sizeof(info)) > 0)
			;
		while ((thread = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
			if (WIFSTOPPED(status))
				is_over = go_on(thread, status) || is_over;
			else if (thread == wanted.process)
				is_over = true;
		}
		is_over = is_over || thread < 0 || (wait[1].revents & (POLLIN | POLLHUP));
	}
	printf("%ld %s\n", counted, counted >= wanted.number ? "killed" : "left");
	return fflush(stdout) == 0 ? 0 : 1; /* its threads go on untraced */
}
