/*
 * A viewer, to be called by the name `cat`, that cares for children of its own: prints its files, and says on standard error what it noticed of
 * children that are not its own, and of what is not as it was when a file was opened.
 *
 *	cat FILE...		(test_diff.py)
 *
 * PART, in the environment: of each file, so many bytes and no more.
 * CHILDREN: how it waits for its own: "handler", "ignore" (SIGCHLD), "nowait" (SA_NOCLDWAIT), "blocked", or nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count(int signal)
{
	(void)signal;
	signals++;
	while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
		signals += 100; /* a child that ended: its own does not */
}

static int descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int found = 0;
	while (readdir(directory))
		found++;
	(void)closedir(directory);
	return found;
}

static void compare(const char *what, long got, long expected)
{
	if (got != expected)
		(void)fprintf(stderr, "%s: %ld, not %ld\n", what, got, expected);
}

int main(int argc, char **argv)
{
	const char *how = getenv("CHILDREN") ? getenv("CHILDREN") : "";
	struct sigaction action = { .sa_handler = SIG_DFL };
	static char bytes[1 << 16];
	size_t part = getenv("PART") ? (size_t)atoi(getenv("PART")) : 0;
	sigset_t mask, after;

	if (strcmp(how, "handler") == 0)
		action.sa_handler = count;
	if (strcmp(how, "ignore") == 0)
		action.sa_handler = SIG_IGN;
	if (strcmp(how, "nowait") == 0)
		action.sa_flags = SA_NOCLDWAIT;
	(void)sigaction(SIGCHLD, &action, NULL);
	(void)sigemptyset(&mask);
	if (strcmp(how, "blocked") == 0)
		(void)sigaddset(&mask, SIGCHLD);
	(void)sigaddset(&mask, SIGUSR1);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);

	pid_t child = fork();
	if (child == 0) {
		for (;;)
			(void)pause();
	}
	for (int i = 1; i < argc; i++) {
		int before = descriptors();
		int fd = open(argv[i], O_RDONLY);
		compare("descriptors", descriptors(), before + 1);
		compare("number", fd, 3);
		compare("signals", signals, 0);
		int ended = 0;
		compare("wait", waitpid(-1, &ended, WNOHANG), 0);
		compare("wait for any", waitpid(-1, &ended, WNOHANG | __WALL), 0);
		(void)sigpending(&after);
		compare("pending", sigismember(&after, SIGCHLD), 0);
		(void)sigprocmask(SIG_SETMASK, NULL, &after);
		compare("blocked", sigismember(&after, SIGCHLD), strcmp(how, "blocked") == 0);
		compare("blocked, too", sigismember(&after, SIGUSR1), 1);
		compare("nothing more blocked", sigismember(&after, SIGTERM), 0);
		ssize_t got;
		while ((got = read(fd, bytes, part ? part : sizeof(bytes))) > 0) {
			compare("written", write(1, bytes, (size_t)got), got);
			if (part)
				break;
		}
		(void)close(fd);
	}
	(void)signal(SIGCHLD, SIG_DFL);
	compare("its child lives", kill(child, SIGKILL), 0);
	pid_t ended = waitpid(child, NULL, 0);
	if (strcmp(how, "ignore") != 0 && strcmp(how, "nowait") != 0)
		compare("its child", ended, child);
	return 0;
}
