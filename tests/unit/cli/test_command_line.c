/* command_line.h: what a shell's line runs, and what is beyond that. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/replay/command_line.h"

/* "a|b;c|d @DIR": commands, their words joined by |, and where the last `cd` leads to; "complex". */
static const char *parsed(const char *text, const char *directory)
{
	static char result[1024];
	struct command_line line;

	result[0] = '\0';
	cr_assert_eq(command_line_parse(text, directory, &line), 0);
	for (size_t i = 0; i < line.count && !line.complex; i++)
		for (size_t k = 0; line.commands[i][k]; k++) {
			strcat(result, k ? "|" : i ? ";" : "");
			strcat(result, line.commands[i][k]);
		}
	if (line.complex)
		strcpy(result, "complex");
	else if (line.directory)
		strcat(strcat(result, " @"), line.directory);
	if (line.globs && !line.complex)
		strcat(result, " globs");
	command_line_free(&line);
	return result;
}

Test(command_line, words)
{
	static const char *const CASES[][2] = {
		{ "cat f", "cat|f @/w" },
		{ "  cat\t f  \n", "cat|f @/w" },
		{ "cat 'a b' \"c d\" e\\ f", "cat|a b|c d|e f @/w" },
		{ "cat a'b'\"c\"d", "cat|abcd @/w" },
		{ "grep \"a\\\"b\\$\" f", "grep|a\"b$|f @/w" },
		{ "grep '' f", "grep||f @/w" },
		{ "ls -la", "ls|-la @/w" },
		{ "cat a; cat b", "cat|a;cat|b @/w" },
		{ "cat a && cat b\ncat c", "cat|a;cat|b;cat|c @/w" },
		{ "cd sub && cat f", "cat|f @/w/sub" },
		{ "cd /x; cd y && cat f", "cat|f @/x/y" },
		{ "cd .. && ls", "ls @/" },
		{ "cd - && ls", "ls" },
		{ "cd && ls", "ls" },
		{ "cat *.c", "cat|*.c @/w globs" },
		{ "cat '*.c'", "cat|*.c @/w" },
		{ "cat f 2>/dev/null", "cat|f @/w" },
		{ "cat f 2>&1", "cat|f @/w" },
		{ "cat f 2> /dev/null; ls", "cat|f;ls @/w" },
		{ "cat 2file", "cat|2file @/w" },
		{ "", " @/w" },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_expect_str_eq(parsed(CASES[i][0], "/w"), CASES[i][1], "%s: %s", CASES[i][0],
				 parsed(CASES[i][0], "/w"));
	cr_expect_str_eq(parsed("cd sub && ls", NULL), "ls");
	cr_expect_str_eq(parsed("cd /x && ls", NULL), "ls @/x");
}

Test(command_line, what_is_beyond)
{
	static const char *const CASES[] = {
		"cat f | head", "cat f > g",    "cat < f",    "cat $f",     "cat \"$f\"",
		"cat `x`",      "cat \"`x`\"",  "cat $(x)",   "(cat f)",    "cat f &",
		"cat f || ls",  "for f in a b", "if true",    "A=1 cat f",  "cat ~/f",
		"cat 'f",       "cat \"f",      "cat f # x",  "cat f 2>g",  "cat f 2>/dev/nullx",
		"cat f 2>&12",  "! cat f",      "time cat f", "{ cat f; }", "cat <<E\nx\nE",
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_expect_str_eq(parsed(CASES[i], "/w"), "complex", "%s: %s", CASES[i],
				 parsed(CASES[i], "/w"));
}

Test(command_line, bounds)
{
	char text[4 * COMMAND_LINE_WORDS_MAX];
	struct command_line line;

	/* One word more than there may be. */
	for (int words = COMMAND_LINE_WORDS_MAX - 4; words < COMMAND_LINE_WORDS_MAX + 4; words++) {
		for (int i = 0; i < words; i++)
			memcpy(text + 2 * i, "x ", 2);
		text[2 * words] = '\0';
		cr_assert_eq(command_line_parse(text, NULL, &line), 0);
		cr_expect(line.complex || line.count == 1);
		command_line_free(&line);
	}
	for (int i = 0; i < COMMAND_LINE_WORDS_MAX; i++)
		memcpy(text + 2 * i, "x;", 2);
	text[2 * COMMAND_LINE_WORDS_MAX] = '\0';
	cr_assert_eq(command_line_parse(text, NULL, &line), 0);
	cr_expect(line.complex);
	command_line_free(&line);
	text[2 * COMMAND_LINE_COMMANDS_MAX] = '\0';
	cr_assert_eq(command_line_parse(text, NULL, &line), 0);
	cr_expect(!line.complex);
	cr_expect_eq(line.count, (size_t)COMMAND_LINE_COMMANDS_MAX);
	command_line_free(&line);
}
