/* top_text.h: bytes of others in a number of columns, numbers that fit into a few. */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli/top/top_text.h"

static char fitted[TOP_FIT_BYTES];

static void init(void)
{
	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

TestSuite(top_text, .init = init);

static void fits(const char *bytes, int columns, enum top_cut cut, const char *expected, int used)
{
	cr_expect_eq(top_fit(bytes, columns, cut, true, fitted), used, "%s in %d: %s", bytes,
		     columns, fitted);
	cr_expect_str_eq(fitted, expected, "%s in %d: %s", bytes, columns, fitted);
}

#define ELLIPSIS "\xe2\x80\xa6"

Test(top_text, plain)
{
	fits("abc", 3, TOP_CUT_END, "abc", 3);
	fits("abcd", 3, TOP_CUT_END, "ab" ELLIPSIS, 3);
	fits("abcd", 3, TOP_CUT_START, ELLIPSIS "cd", 3);
	fits("abcd", 1, TOP_CUT_START, ELLIPSIS, 1);
	fits("abcd", 1, TOP_CUT_END, ELLIPSIS, 1);
	fits("abcd", 0, TOP_CUT_END, "", 0);
	fits("abcd", -3, TOP_CUT_END, "", 0);
	fits("", 3, TOP_CUT_END, "", 0);
}

/* 日 takes two columns: half of one is never shown. */
Test(top_text, wide)
{
	fits("日本語", 6, TOP_CUT_END, "日本語", 6);
	fits("日本語", 5, TOP_CUT_END, "日本" ELLIPSIS, 5);
	fits("日本語", 4, TOP_CUT_END, "日" ELLIPSIS, 3);
	fits("日本語", 5, TOP_CUT_START, ELLIPSIS "本語", 5);
	fits("日本語", 4, TOP_CUT_START, ELLIPSIS "語", 3);
}

#define ACUTE "\xcc\x81"

Test(top_text, combining)
{
	fits("e" ACUTE "a", 2, TOP_CUT_END, "e" ACUTE "a", 2);
	fits("abe" ACUTE, 2, TOP_CUT_START, ELLIPSIS "e" ACUTE, 2);
	/* With nothing to combine with, and more of them than a cell holds. */
	fits(ACUTE "a", 20, TOP_CUT_END, "\\xcc\\x81a", 9);
	fits("a" ACUTE ACUTE ACUTE ACUTE, 20, TOP_CUT_END, "a" ACUTE ACUTE ACUTE "\\xcc\\x81", 9);
}

Test(top_text, hostile)
{
	fits("a\033[2J\n", 20, TOP_CUT_END, "a\\x1b[2J\\n", 10);
	fits("\xff\xfe", 20, TOP_CUT_END, "\\xff\\xfe", 8);
	fits("\xc2\x9b", 20, TOP_CUT_END, "\\xc2\\x9b", 8); /* CSI, as one character */
	fits("a\\b\x7f", 20, TOP_CUT_END, "a\\\\b\\x7f", 8);
	fits("x\xe2\x80\xaey", 20, TOP_CUT_END, "x\\xe2\\x80\\xaey", 14); /* right to left */
	fits("x\xe2\x80\x8dy", 20, TOP_CUT_END, "x\\xe2\\x80\\x8dy", 14); /* a joiner */
	fits("x\xef\xb8\x8fy", 20, TOP_CUT_END, "x\\xef\\xb8\\x8fy", 14); /* a variation selector */
	fits("x\xf3\xa0\x81\x81y", 20, TOP_CUT_END, "x\\xf3\\xa0\\x81\\x81y", 18); /* a tag */
	/* An escape sequence is shown whole or not at all. */
	fits("ab\x1b", 5, TOP_CUT_END, "ab" ELLIPSIS, 3);
	fits("\x1b\x62", 4, TOP_CUT_START, ELLIPSIS "b", 2);
}

Test(top_text, without_utf8)
{
	cr_assert_eq(top_fit("日x", 20, TOP_CUT_END, false, fitted), 13);
	cr_assert_str_eq(fitted, "\\xe6\\x97\\xa5x");
	cr_assert_eq(top_fit("abcdef", 3, TOP_CUT_START, false, fitted), 3);
	cr_assert_str_eq(fitted, "~ef");
}

/* The number of columns is that of the text, whatever the bytes. */
Test(top_text, any_bytes)
{
	static const char *const PARTS[] = { "a",
					     "/",
					     "日",
					     "é",
					     ACUTE,
					     "\xff",
					     "\x1b",
					     "\xe2\x80\xae",
					     "\xf0\x9f\x98\x80",
					     "\xf0\x9f",
					     "\\",
					     "\xcc",
					     "\n" };
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		char bytes[128] = "";
		wchar_t wide[TOP_FIT_BYTES];
		for (int length = rand_r(&seed) % 20; length > 0; length--)
			strcat(bytes,
			       PARTS[(size_t)rand_r(&seed) % (sizeof(PARTS) / sizeof(PARTS[0]))]);
		int columns = rand_r(&seed) % 30;
		int used = top_fit(bytes, columns, rand_r(&seed) % 2 ? TOP_CUT_END : TOP_CUT_START,
				   true, fitted);
		cr_assert(used <= columns, "%d of %d: %s", used, columns, fitted);
		size_t length = mbstowcs(wide, fitted, TOP_FIT_BYTES);
		cr_assert_neq(length, (size_t)-1, "no UTF-8: %s", fitted);
		cr_assert_eq(wcswidth(wide, length), used, "%s", fitted);
	}
}

static void number_is(const char *text, const char *expected, size_t columns)
{
	cr_expect_str_eq(text, expected);
	cr_expect_leq(strlen(text), columns, "%s", text);
}

Test(top_text, numbers)
{
	char text[TOP_NUMBER_BYTES];

	number_is(top_size(0, text), "0 B", 7);
	number_is(top_size(9999, text), "9,999 B", 7);
	number_is(top_size(10000, text), "9.8 KiB", 7);
	number_is(top_size(10240, text), "10 KiB", 7);
	number_is(top_size(1023 * 1024, text), "1.0 MiB", 7);
	number_is(top_size(UINT64_MAX, text), "16 EiB", 7);
	number_is(top_count(0, text), "0", 6);
	number_is(top_count(99999, text), "99,999", 6);
	number_is(top_count(100000, text), "100k", 6);
	number_is(top_count(9999999, text), "9999k", 6);
	number_is(top_count(10000000, text), "10M", 6);
	number_is(top_count(UINT64_MAX, text), "18E", 6);
	number_is(top_per_second(0.04, text), "0", 6);
	number_is(top_per_second(0.25, text), "0.2", 6);
	number_is(top_per_second(9.94, text), "9.9", 6);
	number_is(top_per_second(9.96, text), "10", 6);
	number_is(top_per_second(1234567, text), "1234k", 6);
	number_is(top_span(0, text), "0s", 4);
	number_is(top_span(59, text), "59s", 4);
	number_is(top_span(60, text), "1m", 4);
	number_is(top_span(3599, text), "59m", 4);
	number_is(top_span(86399, text), "23h", 4);
	number_is(top_span(86400 * 5000u, text), "999d", 4);
	number_is(top_clock(0, text), "0:00:00", 9);
	number_is(top_clock(3661, text), "1:01:01", 9);
	number_is(top_clock(UINT64_MAX, text), "999d", 9);
}
