/* screen_fit.h: bytes of others in a number of columns. */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli/screen/screen_fit.h"

static char fitted[SCREEN_FIT_BYTES];

static void init(void)
{
	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

TestSuite(screen_fit, .init = init);

static void fits(const char *bytes, int columns, enum screen_cut cut, const char *expected,
		 int used)
{
	cr_expect_eq(screen_fit(bytes, columns, cut, true, fitted), used, "%s in %d: %s", bytes,
		     columns, fitted);
	cr_expect_str_eq(fitted, expected, "%s in %d: %s", bytes, columns, fitted);
}

#define ELLIPSIS "\xe2\x80\xa6"

Test(screen_fit, plain)
{
	fits("abc", 3, SCREEN_CUT_END, "abc", 3);
	fits("abcd", 3, SCREEN_CUT_END, "ab" ELLIPSIS, 3);
	fits("abcd", 3, SCREEN_CUT_START, ELLIPSIS "cd", 3);
	fits("abcd", 1, SCREEN_CUT_START, ELLIPSIS, 1);
	fits("abcd", 1, SCREEN_CUT_END, ELLIPSIS, 1);
	fits("abcd", 0, SCREEN_CUT_END, "", 0);
	fits("abcd", -3, SCREEN_CUT_END, "", 0);
	fits("", 3, SCREEN_CUT_END, "", 0);
}

/* 日 takes two columns: half of one is never shown. */
Test(screen_fit, backslashes)
{
	fits("a\\b", 9, SCREEN_CUT_END, "a\\\\b", 4);
	fits("a\\b", 9, SCREEN_CUT_TEXT, "a\\b", 3);
	fits("a\\b\033", 9, SCREEN_CUT_TEXT, "a\\b\\x1b", 7);
}

Test(screen_fit, wide)
{
	fits("日本語", 6, SCREEN_CUT_END, "日本語", 6);
	fits("日本語", 5, SCREEN_CUT_END, "日本" ELLIPSIS, 5);
	fits("日本語", 4, SCREEN_CUT_END, "日" ELLIPSIS, 3);
	fits("日本語", 5, SCREEN_CUT_START, ELLIPSIS "本語", 5);
	fits("日本語", 4, SCREEN_CUT_START, ELLIPSIS "語", 3);
}

#define ACUTE "\xcc\x81"

Test(screen_fit, combining)
{
	fits("e" ACUTE "a", 2, SCREEN_CUT_END, "e" ACUTE "a", 2);
	fits("abe" ACUTE, 2, SCREEN_CUT_START, ELLIPSIS "e" ACUTE, 2);
	/* With nothing to combine with, and more of them than a cell holds. */
	fits(ACUTE "a", 20, SCREEN_CUT_END, "\\xcc\\x81a", 9);
	fits("a" ACUTE ACUTE ACUTE ACUTE, 20, SCREEN_CUT_END, "a" ACUTE ACUTE ACUTE "\\xcc\\x81",
	     9);
}

Test(screen_fit, hostile)
{
	fits("a\033[2J\n", 20, SCREEN_CUT_END, "a\\x1b[2J\\n", 10);
	fits("\xff\xfe", 20, SCREEN_CUT_END, "\\xff\\xfe", 8);
	fits("\xc2\x9b", 20, SCREEN_CUT_END, "\\xc2\\x9b", 8); /* CSI, as one character */
	fits("a\\b\x7f", 20, SCREEN_CUT_END, "a\\\\b\\x7f", 8);
	fits("x\xe2\x80\xaey", 20, SCREEN_CUT_END, "x\\xe2\\x80\\xaey", 14); /* right to left */
	fits("x\xe2\x80\x8dy", 20, SCREEN_CUT_END, "x\\xe2\\x80\\x8dy", 14); /* a joiner */
	fits("x\xef\xb8\x8fy", 20, SCREEN_CUT_END, "x\\xef\\xb8\\x8fy",
	     14); /* a variation selector */
	fits("x\xf3\xa0\x81\x81y", 20, SCREEN_CUT_END, "x\\xf3\\xa0\\x81\\x81y", 18); /* a tag */
	/* An escape sequence is shown whole or not at all. */
	fits("ab\x1b", 5, SCREEN_CUT_END, "ab" ELLIPSIS, 3);
	fits("\x1b\x62", 4, SCREEN_CUT_START, ELLIPSIS "b", 2);
}

Test(screen_fit, without_utf8)
{
	cr_assert_eq(screen_fit("日x", 20, SCREEN_CUT_END, false, fitted), 13);
	cr_assert_str_eq(fitted, "\\xe6\\x97\\xa5x");
	cr_assert_eq(screen_fit("abcdef", 3, SCREEN_CUT_START, false, fitted), 3);
	cr_assert_str_eq(fitted, "~ef");
}

/* The number of columns is that of the text, whatever the bytes. */
Test(screen_fit, any_bytes)
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
		wchar_t wide[SCREEN_FIT_BYTES];
		for (int length = rand_r(&seed) % 20; length > 0; length--)
			strcat(bytes,
			       PARTS[(size_t)rand_r(&seed) % (sizeof(PARTS) / sizeof(PARTS[0]))]);
		int columns = rand_r(&seed) % 30;
		int used = screen_fit(bytes, columns,
				      rand_r(&seed) % 2 ? SCREEN_CUT_END : SCREEN_CUT_START, true,
				      fitted);
		cr_assert(used <= columns, "%d of %d: %s", used, columns, fitted);
		size_t length = mbstowcs(wide, fitted, SCREEN_FIT_BYTES);
		cr_assert_neq(length, (size_t)-1, "no UTF-8: %s", fitted);
		cr_assert_eq(wcswidth(wide, length), used, "%s", fitted);
	}
}
