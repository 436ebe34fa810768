/*
 * For the programs of tests/programs.  Each does what ordinary programs do and prints the result; `run-program`
 * holds what it printed against what it prints under `seen run`.  None of them knows of the shim.
 *
 * Descriptors, results and errno are printed, process ids, addresses and times are not.
 */
#ifndef SEEN_TESTS_PRELOAD_CHECK_H
#define SEEN_TESTS_PRELOAD_CHECK_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "old_libc.h"

/* The program's own environment; not libc's header, which has it only with _GNU_SOURCE. */
extern char **environ;

enum { ERRNO_BEFORE = 4711, SKIPPED = 77 };

/* Ends the program with a message when something that holds everywhere does not hold. */
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #condition, \
			       strerror(errno)); \
			exit(1); \
		} \
	} while (0)

/* Makes a call and prints it, its result, and whether and how it changed errno. */
#define SHOW(call) \
	do { \
		errno = ERRNO_BEFORE; \
		long show_result = (long)(call); \
		show_line(#call, show_result, errno); \
	} while (0)

/* The same for a call that returns a pointer: only whether it is NULL. */
#define SHOW_POINTER(call) \
	do { \
		errno = ERRNO_BEFORE; \
		const void *show_result = (call); \
		show_line(#call, show_result != NULL, errno); \
	} while (0)

static inline void show_line(const char *call, long result, int error)
{
	printf("%s = %ld, errno %s\n", call, result,
	       error == ERRNO_BEFORE    ? "kept"
	       : strerrorname_np(error) ? strerrorname_np(error)
					: "odd");
	fflush(stdout);
}

__attribute__((format(printf, 1, 2), noreturn)) static inline void skip(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("skipped: ", stdout);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	exit(SKIPPED);
}

/* The path of this program. */
static inline const char *self(void)
{
	static char path[4096];
	if (!path[0])
		CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	return path;
}

/* Prints how a process ended. */
static inline void show_status(const char *what, int status)
{
	if (WIFEXITED(status))
		printf("%s: exit %d\n", what, WEXITSTATUS(status));
	else
		printf("%s: killed by %s%s\n", what, sigabbrev_np(WTERMSIG(status)),
		       WCOREDUMP(status) ? "" : "");
	fflush(stdout);
}

/* Waits for a child and prints how it ended. */
static inline void show_exit(const char *what, pid_t child)
{
	int status = 0;
	CHECK(child > 0);
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	show_status(what, status);
}

/* fork() with standard output flushed: nothing is printed twice. */
static inline pid_t fork_flushed(void)
{
	fflush(stdout);
	pid_t child = fork();
	CHECK(child >= 0);
	return child;
}

/* Starts a program, waits, prints how it ended. */
static inline void show_run(const char *what, char *const argv[])
{
	pid_t child = fork_flushed();
	if (child == 0) {
		execv(argv[0], argv);
		_exit(126);
	}
	show_exit(what, child);
}

/* Runs this program anew with one argument, which main() takes for what to do. */
static inline void show_self(const char *mode)
{
	char *argv[] = { (char *)self(), (char *)mode, NULL };
	show_run(mode, argv);
}

/* Runs a command of the shell with nothing printed; did it exit 0? */
static inline bool quietly(const char *command)
{
	char whole[8192];
	CHECK((size_t)snprintf(whole, sizeof(whole), "{ %s\n} >/dev/null 2>&1 </dev/null",
			       command) < sizeof(whole));
	return system(whole) == 0;
}

/* Has SIGALRM come again and again; 0: no more.  A single one can come before the call that it is for, which then waits for good. */
static inline void interrupt_every(long microseconds)
{
	struct itimerval every = { { 0, microseconds }, { 0, microseconds } };
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
}

/* Writes a file of the current directory. */
static inline void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(close(fd) == 0);
	CHECK(chmod(path, mode) == 0);
}

/* Prints the content of a file. */
static inline void show_file(const char *path)
{
	char bytes[4096];
	int fd = open(path, O_RDONLY);
	ssize_t count = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	printf("%s: ", path);
	if (count < 0)
		printf("%s\n", strerrorname_np(errno));
	else
		printf("%zd bytes: %.*s\n", count, (int)count, bytes);
	if (fd >= 0)
		CHECK(close(fd) == 0);
	fflush(stdout);
}

#endif
