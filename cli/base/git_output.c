/* What `git` prints: see git_output.h. */
#include "cli/base/git_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/memory_stream.h"

/* A repository's own settings name programs, and an agent can write them: none that is asked for here runs
 * one but this. */
#define GIT_FIRST "git", "--no-pager", "-c", "core.fsmonitor=false", "-C"

enum { WORDS_MAX = 32, FIRST = 6, NOT_FOUND = 127 };

static void run(const char *directory, const char *const *words, int output)
{
	const char *all[FIRST + WORDS_MAX + 1] = { GIT_FIRST, directory };

	for (int i = 0; i < WORDS_MAX && words[i]; i++)
		all[FIRST + i] = words[i];
	if (dup2(output, STDOUT_FILENO) >= 0 && setenv("GIT_OPTIONAL_LOCKS", "0", 1) == 0)
		(void)execvp("git", (char *const *)(uintptr_t)all);
	_exit(NOT_FOUND);
}

static int read_all(int fd, char **ret_text, size_t *ret_size)
{
	FILE *file = memory_stream_open(ret_text, ret_size);
	char bytes[1 << 16];
	ssize_t got = 0;

	if (!file)
		return -ENOMEM;
	while ((got = read(fd, bytes, sizeof(bytes))) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		if (got > 0)
			(void)fwrite(bytes, 1, (size_t)got, file);
	}
	int error = got < 0 ? -errno : 0;
	return fclose(file) != 0 ? -ENOMEM : error;
}

static int wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		return -ENOENT;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

int git_output(const char *directory, const char *const *words, char **ret_text, size_t *ret_size)
{
	int ends[2];
	char *text = NULL;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t child = fork();
	if (child == 0)
		run(directory, words, ends[1]);
	int error = child < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (error == 0) {
		error = read_all(ends[0], &text, ret_size);
		int ended = wait_for(child);
		error = error < 0 ? error : ended;
	}
	(void)close(ends[0]);
	if (error < 0)
		free(text);
	else
		*ret_text = text;
	return error;
}
