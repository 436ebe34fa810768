/* Hazard: what a program finds when main() begins: its descriptors, children, threads, signals, timers, umask, errno, the
 * current directory.  A shim's start must leave nothing behind. */
#include "check.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

static int error_at_start;

__attribute__((constructor)) static void start(void)
{
	error_at_start = errno;
}

static void show_entries(const char *directory, const char *what)
{
	int count = 0;
	DIR *entries = opendir(directory);
	CHECK(entries);
	for (struct dirent *entry; (entry = readdir(entries));)
		count += entry->d_name[0] != '.';
	CHECK(closedir(entries) == 0);
	printf("%s: %d\n", what, count);
}

static void show_state(void)
{
	sigset_t signals;
	struct itimerval timer;
	struct rlimit limit;
	struct rusage usage;
	stack_t stack;
	char directory[4096];

	printf("errno at start %d\n", error_at_start);
	show_entries("/proc/self/fd", "descriptors");
	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("descriptor %d: flags %d, %d\n", fd, fcntl(fd, F_GETFD),
			       fcntl(fd, F_GETFL) & O_ACCMODE);
	show_entries("/proc/self/task", "threads");
	SHOW(waitpid(-1, NULL, WNOHANG));
	CHECK(getrusage(RUSAGE_CHILDREN, &usage) == 0);
	printf("children waited for: %d\n", usage.ru_maxrss != 0);
	CHECK(sigprocmask(SIG_BLOCK, NULL, &signals) == 0);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
			printf("signal %d: %s\n", number,
			       action.sa_handler == SIG_IGN ? "ignored" : "handled");
		if (sigismember(&signals, number) == 1)
			printf("signal %d: blocked\n", number);
	}
	CHECK(sigpending(&signals) == 0);
	printf("pending: %d\n", !sigisemptyset(&signals));
	CHECK(getitimer(ITIMER_REAL, &timer) == 0);
	printf("timer %ld, alarm %u\n", timer.it_value.tv_usec, alarm(0));
	CHECK(sigaltstack(NULL, &stack) == 0);
	printf("alternate stack: %d\n", stack.ss_flags != SS_DISABLE);
	for (int resource = 0; resource < RLIM_NLIMITS; resource++)
		if (getrlimit(resource, &limit) == 0)
			printf("limit %d: %ld %ld\n", resource, (long)limit.rlim_cur,
			       (long)limit.rlim_max);
	mode_t mask = umask(0);
	umask(mask);
	printf("umask %o, nice %d, dumpable %d, death signal %d, no new privileges %d, seccomp %d, "
	       "name ",
	       mask, getpriority(PRIO_PROCESS, 0), prctl(PR_GET_DUMPABLE),
	       prctl(PR_GET_PDEATHSIG, &(int){ 0 }), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	       prctl(PR_GET_SECCOMP));
	char name[16] = "";
	CHECK(prctl(PR_GET_NAME, name) == 0);
	printf("%s\n", name);
	CHECK(getcwd(directory, sizeof(directory)));
	printf("directory %s\n", strrchr(directory, '/'));
	printf("group leader %d, session leader %d, foreground %d\n", getpgrp() == getpid(),
	       getsid(0) == getpid(), isatty(0));
	SHOW(open("/dev/null", O_RDONLY));
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		show_state();
		return 3;
	}
	(void)argv;
	/* Started by an ordinary program; and with more set than usual. */
	show_self("state");
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGCHLD);
	CHECK(sigprocmask(SIG_BLOCK, &signals, NULL) == 0);
	signal(SIGHUP, SIG_IGN);
	umask(077);
	errno = 0;
	CHECK(nice(3) != -1 || errno == 0); /* how nice it then is, is compared with bare */
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(raise(SIGUSR1) == 0);
	show_self("state");
	/* SIGCHLD ignored: children leave no status. */
	signal(SIGCHLD, SIG_IGN);
	pid_t child = fork_flushed();
	if (child == 0) {
		execl(self(), "self", "state", NULL);
		_exit(126);
	}
	SHOW(waitpid(child, NULL, 0));
	return 0;
}
