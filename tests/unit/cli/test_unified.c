/* unified.h: what a diff leads to. */
#include <criterion/criterion.h>

#include "cli/files/unified.h"
#include "support.h"

#define HEAD "--- f\n+++ f\n"

static bool leads(const char *old, const char *diff, const char *new)
{
	return unified_leads_to(old, strlen(old), diff, strlen(diff), new, strlen(new));
}

Test(unified, leads_to)
{
	cr_assert(leads("a\nb\nc\n", HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"));
	cr_assert(leads("a\nb\nc\nd\n", HEAD "@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc\nd\n"),
		  "what is outside the hunks is in both");
	cr_assert(leads("a\nb\n", HEAD "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n"), "behind a line");
	cr_assert(leads("a\n", HEAD "@@ -0,0 +1,2 @@\n+x\n+y\n", "x\ny\na\n"), "before the first");
	cr_assert(leads("", HEAD "@@ -0,0 +1 @@\n+x\n", "x\n"));
	cr_assert(leads("x\n", HEAD "@@ -1 +0,0 @@\n-x\n", ""));
	cr_assert(leads("a\nb\nc\nd\ne\n", HEAD "@@ -1 +1 @@\n-a\n+A\n@@ -5 +5,2 @@\n-e\n+E\n+F\n",
			"A\nb\nc\nd\nE\nF\n"));
	cr_assert(leads("a\r\nb\n", HEAD "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n", "a\nb\n"));
}

Test(unified, no_newline_at_the_end)
{
	static const char NOTE[] = "\\ No newline at end of file\n";
	char diff[256];

	(void)snprintf(diff, sizeof(diff), HEAD "@@ -1 +1 @@\n-a\n%s+a\n", NOTE);
	cr_assert(leads("a", diff, "a\n"));
	cr_assert_not(leads("a\n", diff, "a\n"));
	(void)snprintf(diff, sizeof(diff), HEAD "@@ -1 +1 @@\n-a\n+a\n%s", NOTE);
	cr_assert(leads("a\n", diff, "a"));
	cr_assert_not(leads("a\n", diff, "a\n"));
	(void)snprintf(diff, sizeof(diff), HEAD "@@ -1,2 +1,2 @@\n-a\n+A\n b\n%s", NOTE);
	cr_assert(leads("a\nb", diff, "A\nb"));
	cr_assert_not(leads("a\nb\n", diff, "A\nb"));
	cr_assert(leads("a\nb", HEAD "@@ -1 +1 @@\n-a\n+A\n", "A\nb"), "behind the hunks");
}

Test(unified, leads_to_something_else)
{
	static const char *const BROKEN[] = {
		"",
		"--- f\n",
		"--- f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
		HEAD "",
		HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n",
		HEAD "@@ -1,3 +1,3 @@\n a\n-x\n+B\n c\n",
		HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n",
		HEAD "@@ -1,3 +1,2 @@\n a\n-b\n+B\n c\n",
		HEAD "@@ -1,2 +1,3 @@\n a\n-b\n+B\n c\n",
		HEAD "@@ -2,3 +1,3 @@\n a\n-b\n+B\n c\n",
		HEAD "@@ -99 +1 @@\n-b\n+B\n",
		HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\nmore\n",
		HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n*c\n",
		HEAD "@@ -1,3 +1,3\n a\n-b\n+B\n c\n",
		HEAD "@@ -1,3 @@\n a\n-b\n+B\n c\n",
		HEAD "@@ -x +1,3 @@\n a\n-b\n+B\n c\n",
		HEAD "@@ -1,99999999999999999999 +1,99999999999999999999 @@\n a\n-b\n+B\n c\n",
		"Binary files a and b differ\n",
		HEAD "Binary files a and b differ\n",
	};
	for (size_t i = 0; i < sizeof(BROKEN) / sizeof(BROKEN[0]); i++)
		cr_assert_not(leads("a\nb\nc\n", BROKEN[i], "a\nB\nc\n"), "%zu", i);
	cr_assert_not(leads("a\nb\nc\n", HEAD "@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc"));
	cr_assert_not(leads("a\nb\nc\n", HEAD "@@ -2 +2 @@\n-b\n+B\n", "a\nB\nC\n"));
	cr_assert_not(leads("a\nb\nc\n", HEAD "@@ -2 +2 @@\n-b\n+B\n", "x\nB\nc\n"));
}

/* A damaged diff is not read past its end: every part of one, with its neighbourhood not there. */
Test(unified, cut_anywhere)
{
	static const char OLD[] = "a\nb\nc", NEW[] = "a\nB\nc\nd";
	static const char DIFF[] = HEAD
		"@@ -1,3 +1,4 @@\n a\n-b\n-c\n\\ No newline at end of file\n"
		"+B\n+c\n+d\n\\ No newline at end of file\n";
	for (size_t length = 0; length < sizeof(DIFF); length++) {
		char *part = malloc(length + 1);
		must(part);
		memcpy(part, DIFF, length);
		cr_assert_eq(
			unified_leads_to(OLD, sizeof(OLD) - 1, part, length, NEW, sizeof(NEW) - 1),
			length == sizeof(DIFF) - 1, "%zu", length);
		free(part);
	}
}
