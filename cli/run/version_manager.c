/* Version managers: see version_manager.h. */
#include "cli/run/version_manager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

enum { PATIENCE_MS = 5000 };

enum { LINE_WORDS = 7 };

static bool is_manager(const char *word)
{
	static const char *const NAMES[] = { "pyenv", "rbenv", "nodenv", "plenv", "asdf" };

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strcmp(path_base(word), NAMES[i]) == 0)
			return true;
	return false;
}

/* The words that ask the manager.  Returns how many words name the program; 0: no manager. */
static size_t question(char *const words[], const char *ret_line[static LINE_WORDS])
{
	if (strcmp(path_base(words[0]), "nvm-exec") == 0 && words[1]) {
		const char *const line[LINE_WORDS] = {
			words[0], "sh", "-c", "command -v -- \"$1\"", "sh", words[1], NULL,
		};
		memcpy(ret_line, line, sizeof(line));
		return 2;
	}
	if (!is_manager(words[0]) || !words[1] || strcmp(words[1], "exec") != 0 || !words[2])
		return 0;
	const char *const line[LINE_WORDS] = { words[0], "which", words[2], NULL };
	memcpy(ret_line, line, sizeof(line));
	return 3;
}

/* In the child: becomes the manager, its output in a pipe. */
static void become(const char *const line[], int output)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
	    dup2(output, STDOUT_FILENO) >= 0 && setpgid(0, 0) == 0)
		(void)execvp(line[0], (char *const *)line);
	_exit(127);
}

/* The first line that is written to a pipe until it is closed. */
static bool read_line(int fd, char *ret_line)
{
	uint64_t end_ns = sys_boottime_ns() + PATIENCE_MS * UINT64_C(1000000);
	size_t length = 0;
	ssize_t got = 1;

	while (got > 0 && length < PATH_MAX - 1) {
		struct pollfd one = { .fd = fd, .events = POLLIN };
		uint64_t now_ns = sys_boottime_ns();
		if (now_ns >= end_ns || poll(&one, 1, (int)((end_ns - now_ns) / 1000000) + 1) <= 0)
			return false;
		got = read(fd, ret_line + length, PATH_MAX - 1 - length);
		length += got > 0 ? (size_t)got : 0;
	}
	ret_line[length] = '\0';
	ret_line[strcspn(ret_line, "\n")] = '\0';
	return got == 0;
}

int version_manager_find(char *const words[], char *ret_path, size_t *ret_taken,
			 bool *ret_is_needed)
{
	const char *line[LINE_WORDS];
	int ends[2], status = -1;
	size_t taken = question(words, line);

	if (!taken)
		return -EINVAL;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -ENOENT;
	pid_t child = fork();
	if (child == 0)
		become(line, ends[1]);
	(void)close(ends[1]);
	bool found = child > 0 && read_line(ends[0], ret_path);
	(void)close(ends[0]);
	if (child > 0 && !found)
		(void)kill(-child, SIGKILL);
	if (child > 0 && waitpid(child, &status, 0) < 0)
		status = -1;
	*ret_taken = taken;
	*ret_is_needed = !is_manager(words[0]);
	return found && status == 0 && ret_path[0] == '/' ? 0 : -ENOENT;
}
