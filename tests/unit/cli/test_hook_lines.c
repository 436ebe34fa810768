/* hook_lines.h: what a text proves to hold of a file, against every other way to say it. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/hooks/hook_lines.h"

static const char FILE_TEXT[] = "one\ntwo\n\nfour\nfive\n";
static const char OPEN_TEXT[] = "one\ntwo";

static bool plain(const char *file, uint64_t first, const char *text, struct file_lines *lines)
{
	*lines = (struct file_lines){ .first = 0 };
	return hook_lines_plain(file, strlen(file), first, text, strlen(text), lines);
}

static size_t numbered(const char *file, const char *text, struct file_lines *lines)
{
	*lines = (struct file_lines){ .first = 0 };
	return hook_lines_numbered(file, strlen(file), text, strlen(text), ": ", false, lines);
}

static void expect(const struct file_lines *lines, uint64_t first, uint64_t last, bool is_whole)
{
	cr_assert_eq(lines->span.first, first);
	cr_assert_eq(lines->span.last, last);
	cr_assert_eq(lines->is_whole, is_whole);
}

Test(hook_lines, plain)
{
	struct file_lines lines;

	cr_assert(plain(FILE_TEXT, 1, FILE_TEXT, &lines));
	expect(&lines, 1, 5, true);
	cr_assert(plain(FILE_TEXT, 1, "one\ntwo\n\nfour\nfive", &lines));
	expect(&lines, 1, 5, true);
	cr_assert(plain(FILE_TEXT, 2, "two\n", &lines)); /* the newline ends it */
	expect(&lines, 2, 3, false);                     /* or the third, empty line is there */
	cr_assert(plain(FILE_TEXT, 2, "two", &lines));
	expect(&lines, 2, 2, false);
	cr_assert(plain(FILE_TEXT, 4, "four\nfive\n", &lines));
	expect(&lines, 4, 5, false);
	cr_assert(plain(OPEN_TEXT, 1, OPEN_TEXT, &lines));
	expect(&lines, 1, 2, true);
	cr_assert(plain(OPEN_TEXT, 2, "two", &lines));
	expect(&lines, 2, 2, false);
	cr_assert(plain(OPEN_TEXT, 1, "one\n", &lines));
	expect(&lines, 1, 1, false);
}

Test(hook_lines, plain_proves_nothing)
{
	struct file_lines lines;

	cr_assert_not(plain(FILE_TEXT, 1, "", &lines));
	cr_assert_not(plain(FILE_TEXT, 1, "one\ntw", &lines));
	cr_assert_not(plain(FILE_TEXT, 1, "two\n", &lines));
	cr_assert_not(plain(FILE_TEXT, 1, "one\ntwo\n\nfour\nfive\nsix\n", &lines));
	cr_assert_not(plain(FILE_TEXT, 1, "one\ntwo\n\nfour\nfive\n\n", &lines));
	cr_assert_not(plain(FILE_TEXT, 9, "five\n", &lines));
	cr_assert_not(plain(OPEN_TEXT, 1, "one\ntwo\n", &lines));
	cr_assert_not(plain("", 1, "x", &lines));
}

Test(hook_lines, numbered)
{
	struct file_lines lines;
	static const char ALL[] = "1: one\n2: two\n3: \n4: four\n5: five\n";

	cr_assert_eq(numbered(FILE_TEXT, ALL, &lines), strlen(ALL));
	expect(&lines, 1, 5, true);
	cr_assert_eq(numbered(FILE_TEXT, "2: two\n3: \n\n(more)", &lines), strlen("2: two\n3: \n"));
	expect(&lines, 2, 3, false);
	cr_assert_eq(numbered(OPEN_TEXT, "1: one\n2: two\n\n(end)", &lines),
		     strlen("1: one\n2: two\n"));
	expect(&lines, 1, 2, true);
	cr_assert_eq(numbered(FILE_TEXT, "5: five\n6: \n", &lines), strlen("5: five\n6: \n"));
	expect(&lines, 5, 5, false);
	const char *padded = "    1\tone\n    2\ttwo\n";
	cr_assert_eq(hook_lines_numbered(FILE_TEXT, strlen(FILE_TEXT), padded, strlen(padded), "\t",
					 true, &lines),
		     strlen(padded));
	expect(&lines, 1, 2, false);
}

Test(hook_lines, numbered_proves_nothing)
{
	struct file_lines lines;

	/* how far it is so; the caller asks what follows */
	cr_assert_eq(numbered(FILE_TEXT, "1: one\n2: tw\n", &lines), strlen("1: one\n"));
	cr_assert_eq(numbered(FILE_TEXT, "1: one\n3: \n", &lines), strlen("1: one\n"));
	cr_assert_eq(numbered(FILE_TEXT, "1: one\n2: two", &lines), strlen("1: one\n"));
	cr_assert_eq(numbered(FILE_TEXT, "1: one... (cut)\n", &lines), 0);
	cr_assert_eq(numbered(FILE_TEXT, "2: one\n", &lines), 0);
	cr_assert_eq(numbered(FILE_TEXT, "0: one\n", &lines), 0);
	cr_assert_eq(numbered(FILE_TEXT, "9: \n", &lines), 0);
	cr_assert_eq(numbered(FILE_TEXT, " 1: one\n", &lines), 0);
	cr_assert_eq(numbered(FILE_TEXT, "1 one\n", &lines), 0);
	cr_assert_eq(numbered(FILE_TEXT, "", &lines), 0);
	cr_assert_eq(numbered(FILE_TEXT, "99999999999999999999999: one\n", &lines), 0);
}
