/* What glibc 2.31, Debian 11's, has not: programs of tests/programs that are built there (scripts/package --release) do the same by
 * syscall(), which is interposed as well. */
#ifndef SEEN_TESTS_OLD_LIBC_H
#define SEEN_TESTS_OLD_LIBC_H

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tracker/sys/numbers.h"

#if !__GLIBC_PREREQ(2, 32)
/* The same text for the same error is enough here. */
static inline const char *strerrorname_np(int error)
{
	return error == 0 || strncmp(strerror(error), "Unknown error", 13) != 0 ? strerror(error)
										: NULL;
}

static inline const char *sigabbrev_np(int signal)
{
	return strsignal(signal);
}
#endif

#if !__GLIBC_PREREQ(2, 34)
#include <linux/close_range.h>
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

static inline int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static inline void closefrom(int first)
{
	(void)close_range((unsigned)first, ~0u, 0);
}

static inline int execveat(int directory, const char *path, char *const *words,
			   char *const *variables, int flags)
{
	return (int)syscall(SYS_execveat, directory, path, words, variables, flags);
}

static inline pid_t _Fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
}
#endif

#endif
