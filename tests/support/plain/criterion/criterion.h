/*
 * Criterion's macros, as far as tests/unit uses them, for a plain program: where Criterion itself cannot
 * start its tests, as below qemu-user (SEEN_PLAIN_UNIT, tests/CMakeLists.txt).
 *
 * Each test runs in a child of its own.  The program prints what failed and its totals; it exits by 0, by 1
 * where a test failed, by 77 where all were skipped.  It ends at the first failure where PLAIN_FIRST is in the
 * environment.  To be included by one source of a program.
 */
#ifndef SEEN_TESTS_PLAIN_CRITERION_H
#define SEEN_TESTS_PLAIN_CRITERION_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAIN_FAILED = 1, PLAIN_SKIPPED = 77, PLAIN_TIMEOUT_S = 300, PLAIN_SLOWER = 10 };

struct plain_options {
	int place; /* so that what follows may be empty */
	void (*init)(void);
	void (*fini)(void);
	unsigned timeout; /* seconds, of a processor that is not emulated; 0: PLAIN_TIMEOUT_S */
};

struct plain_test {
	const char *suite, *name;
	void (*run)(void); /* NULL: these are the options of a suite */
	struct plain_options options;
	struct plain_test *next;
};

static struct plain_test *plain_first, **plain_last = &plain_first;
static bool plain_has_failed;

static inline void plain_add(struct plain_test *test)
{
	*plain_last = test;
	plain_last = &test->next;
}

#define PLAIN_ADD(suite_name, test_name, function, ...) \
	static struct plain_test plain_##suite_name##_##test_name = { .suite = #suite_name, \
								      .name = #test_name, \
								      .run = (function), \
								      .options = __VA_ARGS__ }; \
	__attribute__((constructor)) static void plain_add_##suite_name##_##test_name(void) \
	{ \
		plain_add(&plain_##suite_name##_##test_name); \
	}
#define TestSuite(suite, ...) \
	PLAIN_ADD(suite, of_all, NULL, { .place = 0, __VA_ARGS__ }) \
	_Static_assert(true, "")
#define Test(suite, name, ...) \
	static void plain_run_##suite##_##name(void); \
	PLAIN_ADD(suite, name, plain_run_##suite##_##name, { .place = 0, __VA_ARGS__ }) \
	static void plain_run_##suite##_##name(void)

__attribute__((format(printf, 5, 6))) static inline void plain_check(bool holds, bool is_last,
								     const char *place,
								     const char *what,
								     const char *format, ...)
{
	va_list arguments;

	if (holds)
		return;
	(void)printf("%s: %s: ", place, what);
	va_start(arguments, format);
	(void)vprintf(format, arguments);
	va_end(arguments);
	(void)printf("\n");
	(void)fflush(stdout);
	plain_has_failed = true;
	if (is_last)
		_exit(PLAIN_FAILED);
}

#define PLAIN_TEXT_OF(line) #line
#define PLAIN_TEXT(line) PLAIN_TEXT_OF(line)
#define PLAIN_CHECK(holds, is_last, what, ...) \
	plain_check((holds), is_last, __FILE__ ":" PLAIN_TEXT(__LINE__), what, " " __VA_ARGS__)

#define cr_assert(condition, ...) PLAIN_CHECK(condition, true, #condition, __VA_ARGS__)
#define cr_assert_not(condition, ...) \
	PLAIN_CHECK(!(condition), true, "not " #condition, __VA_ARGS__)
#define cr_assert_eq(a, b, ...) PLAIN_CHECK((a) == (b), true, #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) PLAIN_CHECK((a) != (b), true, #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) PLAIN_CHECK((a) < (b), true, #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) PLAIN_CHECK((a) <= (b), true, #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) PLAIN_CHECK((a) > (b), true, #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) PLAIN_CHECK((a) >= (b), true, #a " >= " #b, __VA_ARGS__)
#define cr_assert_null(a, ...) PLAIN_CHECK((a) == NULL, true, #a " == NULL", __VA_ARGS__)
#define cr_assert_not_null(a, ...) PLAIN_CHECK((a) != NULL, true, #a " != NULL", __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) \
	PLAIN_CHECK(strcmp((a), (b)) == 0, true, #a " is " #b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) \
	PLAIN_CHECK(strcmp((a), (b)) != 0, true, #a " is not " #b, __VA_ARGS__)
#define cr_assert_str_empty(a, ...) PLAIN_CHECK((a)[0] == '\0', true, #a " is empty", __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) \
	PLAIN_CHECK(memcmp((a), (b), (bytes)) == 0, true, #a " is " #b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, by, ...) \
	PLAIN_CHECK(fabs((a) - (b)) <= (by), true, #a " is about " #b, __VA_ARGS__)

#define cr_expect(condition, ...) PLAIN_CHECK(condition, false, #condition, __VA_ARGS__)
#define cr_expect_not(condition, ...) \
	PLAIN_CHECK(!(condition), false, "not " #condition, __VA_ARGS__)
#define cr_expect_eq(a, b, ...) PLAIN_CHECK((a) == (b), false, #a " == " #b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) PLAIN_CHECK((a) != (b), false, #a " != " #b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...) PLAIN_CHECK((a) < (b), false, #a " < " #b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) PLAIN_CHECK((a) <= (b), false, #a " <= " #b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...) PLAIN_CHECK((a) > (b), false, #a " > " #b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) PLAIN_CHECK((a) >= (b), false, #a " >= " #b, __VA_ARGS__)
#define cr_expect_null(a, ...) PLAIN_CHECK((a) == NULL, false, #a " == NULL", __VA_ARGS__)
#define cr_expect_not_null(a, ...) PLAIN_CHECK((a) != NULL, false, #a " != NULL", __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) \
	PLAIN_CHECK(strcmp((a), (b)) == 0, false, #a " is " #b, __VA_ARGS__)

#define cr_skip_test(...) \
	((void)printf(__VA_ARGS__), (void)printf("\n"), (void)fflush(stdout), _exit(PLAIN_SKIPPED))
#define cr_skip cr_skip_test
#define cr_log_info(...) ((void)printf(__VA_ARGS__), (void)printf("\n"))

static inline const struct plain_options *plain_suite(const char *name)
{
	static const struct plain_options NONE;

	for (const struct plain_test *at = plain_first; at; at = at->next)
		if (!at->run && strcmp(at->suite, name) == 0)
			return &at->options;
	return &NONE;
}

_Noreturn static inline void plain_run(const struct plain_test *test)
{
	const struct plain_options *all = plain_suite(test->suite), *own = &test->options;

	unsigned timeout = own->timeout ? own->timeout : all->timeout;

	(void)alarm(timeout ? timeout * PLAIN_SLOWER : PLAIN_TIMEOUT_S);
	if (all->init)
		all->init();
	if (own->init)
		own->init();
	test->run();
	if (own->fini)
		own->fini();
	if (all->fini)
		all->fini();
	exit(plain_has_failed ? PLAIN_FAILED : 0);
}

int main(void)
{
	int count = 0, skipped = 0, failed = 0;

	for (const struct plain_test *test = plain_first; test; test = test->next) {
		int status = -1;
		if (failed && getenv("PLAIN_FIRST"))
			break;
		if (!test->run)
			continue;
		(void)fflush(stdout);
		pid_t child = fork();
		if (child == 0)
			plain_run(test);
		(void)waitpid(child, &status, 0);
		count++;
		if (WIFEXITED(status) && WEXITSTATUS(status) == PLAIN_SKIPPED)
			skipped++;
		else if (status != 0) {
			failed++;
			(void)printf("%s::%s failed, wait status %#x\n", test->suite, test->name,
				     (unsigned)status);
		}
	}
	(void)printf("%d tests, %d failed, %d skipped\n", count, failed, skipped);
	return failed || !count ? PLAIN_FAILED : skipped == count ? PLAIN_SKIPPED : 0;
}

#endif
