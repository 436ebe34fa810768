/*
 * One call of libc by this program fails: programs/lib/fail_functions.c, which is preloaded elsewhere, is a part of the test.  It comes behind all other headers.
 *
 * `count` is how many were counted; with `always` each one behind it fails, too.  `meanwhile` is called before that call, which does not fail then.  A sanitizer has functions of its own in the same places: there CAN_FAIL is 0.
 */
#ifndef SEEN_TESTS_FAILING_LIBC_H
#define SEEN_TESTS_FAILING_LIBC_H

#ifdef __SANITIZE_ADDRESS__
#define CAN_FAIL 0
static long count __attribute__((unused));
static bool always __attribute__((unused));
static void (*meanwhile)(void) __attribute__((unused));

static inline void fail_at(const char *names, long which, int with)
{
	(void)names, (void)which, (void)with;
}
#else
#define CAN_FAIL 1
#pragma GCC diagnostic ignored "-Wshadow"      /* it has names such as `count` */
#include "tests/programs/lib/fail_functions.c" /* NOLINT(bugprone-suspicious-include) */

/* fail_at(): of the calls of these functions (names between spaces) the one of that number, from 1, fails with that error; 0: none, and they are counted.
 * names: NULL: no call fails, or is counted, any more. */
static inline void fail_at(const char *names, long which, int with)
{
	functions = NULL;
	count = 0;
	number = which;
	error = with;
	functions = names;
}
#endif

#endif
