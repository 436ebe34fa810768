/* The pager: see pager.h. */
#include "cli/base/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/child_output.h"
#include "cli/base/text.h"

enum { COMMAND_BYTES = 4096 };

static pid_t pager;

/* What `git config --get core.pager` prints in the root directory, which is no repository that an
 * agent can write to.  False: nothing. */
static bool read_git(char *ret_command, size_t capacity)
{
	int ends[2], status = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	pid_t child = fork();
	if (child == 0) {
		int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (chdir("/") == 0 && dup2(ends[1], STDOUT_FILENO) >= 0 &&
		    dup2(nothing, STDERR_FILENO) >= 0)
			(void)execlp("git", "git", "config", "--get", "core.pager", (char *)NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	ssize_t length = child_output_read(ends[0], child, ret_command, capacity, &status);
	ret_command[strcspn(ret_command, "\n")] = '\0';
	return length >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* False: none is to be started. */
static bool choose(char *ret_command, size_t capacity)
{
	const char *term = getenv("TERM"), *named = getenv("GIT_PAGER");

	if (!isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
		return false;
	if (!named && read_git(ret_command, capacity))
		named = ret_command;
	if (!named)
		named = getenv("PAGER");
	if (!named)
		named = "less";
	if (named != ret_command)
		(void)snprintf(ret_command, capacity, "%s", named);
	return ret_command[0] && strcmp(ret_command, "cat") != 0;
}

void pager_start(void)
{
	char command[COMMAND_BYTES];
	int ends[2];

	if (pager || !choose(command, sizeof(command)) || pipe2(ends, O_CLOEXEC) < 0)
		return;
	(void)fflush(stdout);
	text_style_keep();
	pid_t child = fork();
	if (child == 0) {
		(void)setenv("LESS", "FRX", 0);
		(void)setenv("LV", "-c", 0);
		if (dup2(ends[0], STDIN_FILENO) >= 0)
			(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	(void)close(ends[0]);
	if (child > 0 && dup2(ends[1], STDOUT_FILENO) >= 0)
		pager = child;
	(void)close(ends[1]);
	/* Ctrl-C is the pager's. */
	if (pager)
		(void)signal(SIGINT, SIG_IGN);
}

void pager_finish(void)
{
	if (!pager)
		return;
	(void)fflush(stdout);
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nothing >= 0)
		(void)dup2(nothing, STDOUT_FILENO); /* the end of what the pager reads */
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
	pager = 0;
}
