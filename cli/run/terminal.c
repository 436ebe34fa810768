/* The terminal of a run: see terminal.h. */
#include "cli/run/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios found;
static int terminal = -1; /* descriptor; -1: there is none */

void terminal_note(void)
{
	static const int STANDARD[] = { STDERR_FILENO, STDOUT_FILENO, STDIN_FILENO };

	for (size_t i = 0; i < sizeof(STANDARD) / sizeof(STANDARD[0]) && terminal < 0; i++)
		if (tcgetattr(STANDARD[i], &found) == 0)
			terminal = STANDARD[i];
}

void terminal_restore(void)
{
	pid_t group = terminal < 0 ? -1 : tcgetpgrp(terminal);

	/* The command may have had a group of its own, which went with it. */
	if (group > 0 && (group == getpgrp() || (kill(-group, 0) < 0 && errno == ESRCH)))
		(void)tcsetattr(terminal, TCSANOW, &found);
}

/* ---- the last lines ---- */

static bool is_inside; /* of a line */

static void write_bytes(const char *bytes, size_t size_bytes)
{
	while (size_bytes > 0) {
		ssize_t wrote = write(STDERR_FILENO, bytes, size_bytes);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return;
		bytes += wrote;
		size_bytes -= (size_t)wrote;
	}
}

/* A newline alone moves the cursor down, not to the left. */
static bool is_raw(void)
{
	struct termios now;

	return tcgetattr(STDERR_FILENO, &now) == 0 &&
	       (!(now.c_oflag & OPOST) || !(now.c_oflag & ONLCR));
}

static ssize_t write_lines(void *cookie, const char *bytes, size_t size_bytes)
{
	static const char BEGIN[] = "\r\033[K";
	const char *end = is_raw() ? "\r\n" : "\n";

	(void)cookie;
	for (size_t at = 0; at < size_bytes;) {
		const char *newline = memchr(bytes + at, '\n', size_bytes - at);
		size_t length = newline ? (size_t)(newline - (bytes + at)) : size_bytes - at;
		if (!is_inside)
			write_bytes(BEGIN, sizeof(BEGIN) - 1);
		write_bytes(bytes + at, length);
		if (newline)
			write_bytes(end, strlen(end));
		is_inside = !newline;
		at += length + (newline != NULL);
	}
	return (ssize_t)size_bytes;
}

/* As many spaces as a line has columns: where the cursor is at the left edge it stays on its line,
 * else it comes to the next one. */
static void start_line(void)
{
	enum { COLUMNS_MAX = 1000 };
	struct winsize size = { 0 };
	char spaces[COLUMNS_MAX];

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col > COLUMNS_MAX)
		return;
	memset(spaces, ' ', size.ws_col);
	write_bytes(spaces, size.ws_col);
}

void terminal_start_lines(void)
{
#if defined(__GLIBC__) /* elsewhere stderr is a constant */
	const char *term = getenv("TERM");
	const cookie_io_functions_t functions = { .write = write_lines };

	if (!isatty(STDERR_FILENO) || !term || !term[0] || strcmp(term, "dumb") == 0)
		return;
	FILE *stream = fopencookie(NULL, "w", functions);
	if (!stream)
		return;
	(void)setvbuf(stream, NULL, _IOLBF, 0);
	(void)fflush(stderr);
	start_line();
	stderr = stream;
#endif
}
