/* search_order.h: which searches print in one order. */
#include <criterion/criterion.h>
#include <string.h>

#include "support.h"
#include "tracker/process/search_order.h"

static bool is_file(const char *path)
{
	return strcmp(path, "f") == 0;
}

static enum search_order order_of(const char *command, char *const environment[])
{
	char text[200], *words[20], *rest = NULL;
	size_t count = 0;

	(void)snprintf(text, sizeof(text), "%s", command);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	words[count] = NULL;
	return search_order(words[0], words, environment, is_file);
}

static bool is_fixed(const char *command, char *const environment[])
{
	return order_of(command, environment) == SEARCH_FIXED;
}

Test(search_order, fixed)
{
	static const char *const FIXED[] = {
		"rg --sort path x",  "rg --sort=path x d",
		"rg x --sortr path", "rg -j1 x",
		"rg -nj 1 x",        "rg --threads=1 x d",
		"rg -n x f",         "rg -e x f",
		"rg --files f",      "rg -A2 x f",
		"rg x -A 2 -- f",    "rg --context 3 x f",
		"ugrep -J1 -r x d",  "ugrep x f",
		"ugrep --jobs=1 x",  "rg -g*.c --sort path x",
		"rg -j=1 x",
	};
	for (size_t i = 0; i < sizeof(FIXED) / sizeof(FIXED[0]); i++)
		cr_expect(is_fixed(FIXED[i], NULL), "%s", FIXED[i]);
}

Test(search_order, not_fixed)
{
	static const char *const OTHERS[] = {
		"rg x",
		"rg x d",
		"rg x f f",
		"rg f",
		"rg -A f x",
		"rg --sort modified x f",
		"rg --sort path --sort none x",
		"rg -j2 x",
		"rg -j1 -j2 x",
		"rg -j",
		"rg --sort",
		"rg --sort path --stats x",
		"rg --sort path -L x",
		"rg -zn x f",
		"rg -j1 --json x f",
		"rg --pre=cat x f",
		"rg --sort path --max-filesize 1 x",
		"rg --sort path --unknown x",
		"rg --line x f",
		"rg --heading=1 x f",
		"ugrep -r x d",
		"ugrep -z x f",
		"ugrep --sort=changed -J1 x",
		"grep x f",
	};
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
		cr_expect_not(is_fixed(OTHERS[i], NULL), "%s", OTHERS[i]);
}

/* What a thread found in a file is written at once, and at its end is a line's end. */
Test(search_order, by_file)
{
	static const char *const BY_FILE[] = { "rg x",       "rg x d",  "rg x f f",  "rg -j2 x",
					       "rg -n -e x", "rg -l x", "rg -p x d", "rg -A 2 x" };
	static const char *const UNKNOWN[] = {
		"rg --files",       "rg --files d",     "rg -0l x",     "rg -l0 x",
		"rg --null -l x",   "rg --null-data x", "rg --stats x", "rg -L x",
		"rg --sort none x", "rg --unknown x",   "ugrep -r x d", "rg --sort modified x",
		"rg -z x",
	};
	for (size_t i = 0; i < sizeof(BY_FILE) / sizeof(BY_FILE[0]); i++)
		cr_expect_eq(order_of(BY_FILE[i], NULL), SEARCH_BY_FILE, "%s", BY_FILE[i]);
	for (size_t i = 0; i < sizeof(UNKNOWN) / sizeof(UNKNOWN[0]); i++)
		cr_expect_eq(order_of(UNKNOWN[i], NULL), SEARCH_UNKNOWN, "%s", UNKNOWN[i]);
}

Test(search_order, file_of_options)
{
	char *with[] = { (char *)"A=1", (char *)"RIPGREP_CONFIG_PATH=o", NULL };
	char *empty[] = { (char *)"RIPGREP_CONFIG_PATH=", NULL };

	cr_assert_not(is_fixed("rg -j1 x", with));
	cr_assert(is_fixed("rg -j1 x", empty));
	cr_assert(search_order_counts("rg") && search_order_counts("ugrep"));
	cr_assert_not(search_order_counts("grep"));
}
