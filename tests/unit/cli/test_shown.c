/* shown.h: which lines of a file an output shows. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/replay/shown.h"

/* "FIRST+COUNT", " whole", " PATH"; "none". */
static const char *described(struct shown_as as, const char *output)
{
	static char result[256];
	struct shown shown = { .lines = NULL };
	int known = shown_read(&shown, &as, output, strlen(output));

	if (known)
		(void)snprintf(result, sizeof(result), "%llu+%zu%s%s%.*s",
			       (unsigned long long)shown.first, shown.count,
			       shown.whole ? " whole" : "", shown.path ? " " : "",
			       (int)shown.path_bytes, shown.path ? shown.path : "");
	else
		(void)snprintf(result, sizeof(result), "none");
	shown_free(&shown);
	return result;
}

#define PLAIN(...) ((struct shown_as){ .form = SHOWN_PLAIN, __VA_ARGS__ })
#define NUMBERED(...) ((struct shown_as){ .form = SHOWN_NUMBERED, __VA_ARGS__ })
#define ANY(...) ((struct shown_as){ .form = SHOWN_ANY, __VA_ARGS__ })
#define EXPECT(as, output, expected) \
	cr_expect_str_eq(described(as, output), expected, "%s: %s", output, described(as, output))

Test(shown, plain)
{
	EXPECT(PLAIN(.asked_whole = true), "a\nb\n", "1+2 whole");
	EXPECT(PLAIN(.asked_whole = true), "a\nb", "1+2 whole");
	EXPECT(PLAIN(.asked_whole = true), "\n", "1+1 whole");
	EXPECT(PLAIN(.asked_whole = true), "", "none");
	EXPECT(PLAIN(.from = 7), "a\nb\n", "7+2");
	/* Numbers in a plain file are its own. */
	EXPECT(PLAIN(.asked_whole = true), "5\ta\n6\tb\n", "1+2 whole");
	EXPECT(PLAIN(.asked_whole = true), "[File: f (2 lines total)]\n1:a\n2:b\n", "1+3 whole");
	EXPECT(PLAIN(.asked_whole = true), "a\n... [3 lines truncated] ...\nb\n", "none");
}

Test(shown, numbered)
{
	EXPECT(NUMBERED(.asked_whole = true), "1\ta\n2\tb", "1+2 whole");
	EXPECT(NUMBERED(.asked_whole = true), "     1\ta\n     2\tb\n     3\t", "1+2 whole");
	EXPECT(NUMBERED(.asked_whole = true),
	       "     1\xe2\x86\x92"
	       "a\n     2\xe2\x86\x92"
	       "b",
	       "1+2 whole");
	EXPECT(NUMBERED(.from = 9), "9\ta\n10\tb", "9+2");
	EXPECT(NUMBERED(.total_lines = 2), "1\ta\n2\tb", "1+2 whole");
	EXPECT(NUMBERED(.total_lines = 3), "1\ta\n2\tb", "1+2");
	EXPECT(NUMBERED(.asked_whole = true), "2\ta\n3\tb", "2+2");
	EXPECT(NUMBERED(.asked_whole = true), "1\ta\n3\tb", "none");
	EXPECT(NUMBERED(.asked_whole = true), "1\ta\nb\n2\tc", "none");
	EXPECT(NUMBERED(.asked_whole = true), "1\ta\n2\tb\n\n<system-reminder>x</system-reminder>",
	       "1+2 whole");
	EXPECT(NUMBERED(.asked_whole = true), "1\ta\n2\tb\n<response clipped><NOTE>x</NOTE>",
	       "none");
	EXPECT(NUMBERED(.asked_whole = true), "a\nb\n", "none");
	EXPECT(NUMBERED(.asked_whole = true), "No such file", "none");
	EXPECT(NUMBERED(.asked_whole = true), "     1\ta\n     2", "1+1 whole");
	EXPECT(NUMBERED(.asked_whole = true), "     1\ta\n     7", "none");
	EXPECT(NUMBERED(.asked_whole = true), "18446744073709551615999\ta", "none");
	EXPECT(ANY(.asked_whole = true),
	       "Here's the result of running `cat -n` on /f:\n     1\ta\r\n     2\tb", "1+2 whole");
	EXPECT(ANY(.asked_whole = true), "Here's the result of running `cat -n` on /f:\nx", "none");
	EXPECT(ANY(.asked_whole = true), "a\nb\n", "1+2 whole");
}

Test(shown, windows)
{
	EXPECT(ANY(), "[File: /a b/f (3 lines total)]\n1:a\n2:\n3:c\n", "1+3 whole /a b/f");
	EXPECT(ANY(),
	       "[File: f (9 lines total)]\n(3 more lines above)\n4:a\n5:b\n(4 more lines below)",
	       "4+2 f");
	EXPECT(ANY(), "[File: f (2 lines total)]\r\n1:a\r\n2:b\r\n", "1+2 whole f");
	EXPECT(ANY(), "Edited.\n[File: f (2 lines total)]\n1:a\n2:b", "1+2 whole f");
	EXPECT(ANY(), "[File: f (2 lines total)]\nnothing", "none");
	EXPECT(ANY(), "[File: f (2 lines total)]", "none");
	EXPECT(NUMBERED(), "[File: f(1) (1 lines total)]\n1:a", "1+1 whole f(1)");
}

Test(shown, lines_by_text)
{
	struct shown a = { .lines = NULL }, b = { .lines = NULL };
	struct shown_as plain = PLAIN(.asked_whole = true),
			numbered = NUMBERED(.asked_whole = true);

	cr_assert_eq(shown_read(&a, &plain, "x\ny\n", 4), 1);
	cr_assert_eq(shown_read(&b, &numbered, "1\tx\n2\ty\n3\t", 10), 1);
	cr_expect_eq(a.version, b.version);
	cr_expect_eq(a.bytes, 4u);
	cr_expect_eq(b.bytes, 4u);
	cr_assert_eq(shown_read(&b, &plain, "x\nz\n", 4), 1);
	cr_expect_neq(a.version, b.version);
	cr_expect_eq(a.lines[0].hash, b.lines[0].hash);
	cr_expect_neq(a.lines[1].hash, b.lines[1].hash);
	shown_free(&a);
	shown_free(&b);
}
