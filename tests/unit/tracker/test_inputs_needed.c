/* inputs_needed.h: which invocations' inputs are known. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tracker/content/inputs.h"
#include "tracker/content/inputs_needed.h"

static const char *plan_of(const char *line)
{
	static char text[32];
	char words[200], *argv[20];
	struct inputs_needed plan = { .flags = 0 };
	int count = 0;

	(void)snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[count++] = word;
	argv[count] = NULL;
	if (!inputs_needed(argv[0], argv, &plan))
		return "never";
	(void)snprintf(text, sizeof(text), "%s%s%s%s",
		       plan.content   ? "content"
		       : plan.details ? "details"
				      : "names",
		       plan.flags & INPUT_ACCESS_TIME ? " access" : "",
		       plan.flags & INPUT_PARENT ? " parent" : "", plan.is_here ? " here" : "");
	return text;
}

Test(inputs_needed, plans)
{
	static const char *const CASES[][2] = {
		{ "grep -rn pat src", "content" },
		{ "sed -n 1,5p f", "content" },
		{ "rg pat", "content" },
		{ "bfs .", "never" },
		{ "readlink f", "never" },
		{ "make", "never" },
		{ "ls", "names" },
		{ "ls -R d", "names" },
		{ "ls -a", "names parent" },
		{ "ls -la", "details parent" },
		{ "ls -l", "details" },
		{ "ls -F", "details" },
		{ "ls -t", "details" },
		{ "ls -lu", "details access" },
		{ "ls --time=atime", "details access parent" },
		{ "ls --color=always", "details parent" },
		{ "ls -- -l", "details parent" },
		{ "find . -name x -type f", "names" },
		{ "find . -maxdepth 2 -not -path x", "names" },
		{ "find -L .", "details access here" },
		{ "find . -newer f", "details access" },
		{ "find . -size +1k", "details access" },
		{ "find . -empty", "details access" },
		{ "du -a", "details" },
		{ "diff -u a b", "details" },
		{ "stat f", "details access" },
		{ "tree -d", "details" },
		{ "tree -L 2", "details" },
		{ "find . -maxdepth 0 -size +0", "details access" },
		{ "find -maxdepth 0 -size +0", "details access here" },
		{ "find", "names here" },
		{ "find ( -name x )", "names here" },
		{ "ls -d", "details" },
		/* what no input tells */
		{ "stat -f .", "never" },
		{ "stat -Lf .", "never" },
		{ "stat --file-system .", "never" },
		{ "stat --fi .", "never" },
		{ "stat -c %f f", "details access" },
		{ "stat --format=%f f", "details access" },
		{ "du --files0-from=list", "never" },
		{ "du --fil=list", "never" },
		{ "find -files0-from list", "never" },
		{ "find . -readable", "never" },
		{ "find . -not -writable", "never" },
		{ "find . -executable", "never" },
		{ "ls -l --time=b", "never" },
		{ "ls -l --time=creation", "never" },
		{ "ls -l --time c", "never" },
		{ "ls -l --time=ctime", "details access parent" },
		{ "ls -l --time-style=iso", "details access parent" },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_assert_str_eq(plan_of(CASES[i][0]), CASES[i][1], "%s", CASES[i][0]);
}
