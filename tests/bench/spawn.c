/*
 * Starts a command COUNT times, one after the other, and waits for each.  `{}` in an argument
 * becomes the number of the start, from 0.  Fails when one of them does.
 *
 * usage: spawn [-p NUMBER] [-o FILE] COUNT COMMAND [ARGUMENT...]
 *
 * -p NUMBER: so many at a time.
 * -o FILE: what the command prints goes there, in place of what was in it, and not to where the own standard output goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/report.h"

/* Waits for one of those that were started, whichever it is. */
static bool await_one(const char *name)
{
	int status = -1;

	if (wait(&status) > 0 && status == 0)
		return true;
	(void)fprintf(stderr, "spawn: %s: wait status %d\n", name, status);
	return false;
}

int main(int argc, char **argv)
{
	uint64_t abreast = 1, running = 0;

	if (argc > 2 && strcmp(argv[1], "-p") == 0) {
		abreast = strtoul(argv[2], NULL, 10);
		argc -= 2;
		argv += 2;
	}
	if (argc > 2 && strcmp(argv[1], "-o") == 0) {
		int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || close(fd) != 0) {
			(void)fprintf(stderr, "spawn: %s: %s\n", argv[2], strerror(errno));
			return 1;
		}
		argc -= 2;
		argv += 2;
	}
	if (argc < 3) {
		(void)fprintf(stderr,
			      "usage: spawn [-p NUMBER] [-o FILE] COUNT COMMAND [ARGUMENT...]\n");
		return 2;
	}
	uint64_t count = strtoul(argv[1], NULL, 10);
	uint64_t cpu_ns = report_cpu_ns(), wall_ns = report_now_ns();

	for (uint64_t i = 0; i < count; i++) {
		char *words[64] = { NULL };
		char texts[64][4096];
		pid_t child;

		for (int k = 2; k < argc && k < 64; k++) {
			const char *mark = strstr(argv[k], "{}");
			words[k - 2] = argv[k];
			if (mark) {
				(void)snprintf(texts[k], sizeof(texts[k]), "%.*s%lu%s",
					       (int)(mark - argv[k]), argv[k], i, mark + 2);
				words[k - 2] = texts[k];
			}
		}
		int error = posix_spawnp(&child, words[0], NULL, NULL, words, environ);
		if (error) {
			(void)fprintf(stderr, "spawn: %s: %s\n", words[0], strerror(error));
			return 1;
		}
		if (++running == abreast && !await_one(words[0]))
			return 1;
		running -= running == abreast;
	}
	for (; running; running--)
		if (!await_one(argv[2]))
			return 1;
	wall_ns = report_now_ns() - wall_ns;
	cpu_ns = report_cpu_ns() - cpu_ns;
	report_write(count, wall_ns, cpu_ns);
	return 0;
}
