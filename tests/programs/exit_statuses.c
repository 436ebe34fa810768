/* Hazard: a program's end told wrongly to its parent: abort, _exit, quick_exit, signals, core dumps, a stop and a
 * continuation, a status of more than 8 bits, a program killed while it reads. */
#include "check.h"

#include <sys/prctl.h>
#include <sys/resource.h>

static int exit_by(const char *way)
{
	int *volatile nowhere = NULL;
	prctl(PR_SET_DUMPABLE, 0);
	if (strcmp(way, "abort") == 0)
		abort();
	if (strcmp(way, "_exit") == 0)
		_exit(250);
	if (strcmp(way, "_Exit") == 0)
		_Exit(251);
	if (strcmp(way, "exit") == 0)
		exit(0x1234);
	if (strcmp(way, "quick_exit") == 0)
		quick_exit(252);
	if (strcmp(way, "segv") == 0)
		*nowhere = 1;
	if (strcmp(way, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(way, "term") == 0)
		raise(SIGTERM);
	if (strcmp(way, "pipe") == 0) {
		int ends[2];
		CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
		CHECK(write(ends[1], "x", 1) != 1);
	}
	if (strcmp(way, "pipe ignored") == 0) {
		int ends[2];
		signal(SIGPIPE, SIG_IGN);
		CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
		return write(ends[1], "x", 1) == -1 && errno == EPIPE ? 11 : 12;
	}
	if (strcmp(way, "alarm") == 0) {
		char byte;
		int ends[2];
		CHECK(pipe(ends) == 0);
		ualarm(50000, 0);
		CHECK(read(ends[0], &byte, 1) != 1);
	}
	if (strcmp(way, "xfsz") == 0) {
		struct rlimit limit = { 1, 1 };
		setrlimit(RLIMIT_FSIZE, &limit);
		int fd = open("written", O_WRONLY | O_CREAT, 0600);
		CHECK(write(fd, "xx", 2) == 1);
		CHECK(write(fd, "xx", 2) == 1);
	}
	return 10;
}

int main(int argc, char **argv)
{
	static const char *const WAYS[] = { "abort", "_exit", "_Exit", "exit", "quick_exit",
					    "segv",  "kill",  "term",  "pipe", "pipe ignored",
					    "alarm", "xfsz",  "return" };
	if (argc > 1)
		return exit_by(argv[1]);
	for (size_t i = 0; i < sizeof(WAYS) / sizeof(WAYS[0]); i++)
		show_self(WAYS[i]);

	pid_t child = fork_flushed();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "kill -STOP $$; exit 3", NULL);
		_exit(126);
	}
	int status;
	CHECK(waitpid(child, &status, WUNTRACED) == child);
	printf("stopped: %d\n", WIFSTOPPED(status));
	CHECK(kill(child, SIGCONT) == 0);
	CHECK(waitpid(child, &status, WCONTINUED) == child);
	if (WIFCONTINUED(status))
		show_exit("continued", child);
	else /* it ended meanwhile */
		show_status("continued", status);
	return 0;
}
