/* Work that no process waits for: see aside.h. */
#include "cli/run/aside.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Keeps nothing of the run: neither what others wait to see closed, nor a directory that could not be
 * unmounted, nor a signal that is for the run's terminal. */
static void stand_alone(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			(void)close(fd);
#ifdef SYS_close_range
	if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) < 0)
#endif
		for (int fd = (int)sysconf(_SC_OPEN_MAX) - 1; fd > STDERR_FILENO; fd--)
			(void)close(fd);
	(void)!chdir("/");
	(void)signal(SIGIO, SIG_IGN); /* store_remove.h */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The process between the run and what goes on; 0: none that is to be waited for. */
static pid_t between;

bool aside(void (*leave)(void *data), void (*work)(void *data), void *data)
{
	aside_reap();
	between = fork();
	if (between == 0) {
		/* What goes on is no child of the run, which would have to wait for it.  Where no
		 * second process is to be had, this one does the work. */
		(void)setsid();
		if (fork() > 0)
			_exit(0);
		leave(data);
		stand_alone();
		work(data);
		_exit(0);
	}
	return between > 0;
}

void aside_reap(void)
{
	if (between > 0 && waitpid(between, NULL, WNOHANG) != 0)
		between = 0;
}

bool aside_is_possible(bool is_inner)
{
	return !is_inner && getpid() != 1;
}
