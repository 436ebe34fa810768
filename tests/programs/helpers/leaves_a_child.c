/* leaves_a_child GO OUT SCRIPT PROGRAM ARGUMENT...: starts a child that says nothing until there is a file GO, and becomes
 * `bash -c SCRIPT` then, its output packed by gzip into OUT.  Itself becomes PROGRAM at once, or dies by a signal where there is none. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int ends[2];

	if (argc < 4 || pipe(ends) < 0)
		return 2;
	if (fork() == 0) {
		(void)dup2(ends[0], 0);
		(void)close(ends[0]);
		(void)close(ends[1]);
		(void)dup2(open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
		execlp("gzip", "gzip", "-c", (char *)NULL);
		_exit(127);
	}
	if (fork() == 0) {
		(void)dup2(ends[1], 1);
		(void)close(ends[0]);
		(void)close(ends[1]);
		while (access(argv[1], F_OK) < 0)
			(void)usleep(10000);
		execl("/bin/bash", "bash", "-c", argv[3], (char *)NULL);
		_exit(127);
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
	if (argc > 4)
		execvp(argv[4], argv + 4);
	else
		(void)kill(getpid(), SIGKILL);
	return 127;
}
