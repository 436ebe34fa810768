/*
 * Ways to write a command: its words, and those of find(1) and rg in random ways.  The words are about
 * a random tree.
 */
#ifndef SEEN_TESTS_RANDOM_WAYS_H
#define SEEN_TESTS_RANDOM_WAYS_H

#include "tests/support/random_tree.h"

enum { WORDS_MAX = 48, WAYS = 5, ROWS_MAX = 12 };

/* One way to write it. */
struct way {
	char text[WORDS_MAX][2 * WORD_BYTES];
	char *argv[WORDS_MAX + 1];
	unsigned count;
	unsigned rows[ROWS_MAX];
	unsigned row_count;
};

static char *new_word(struct way *way)
{
	must(way->count < WORDS_MAX);
	way->argv[way->count] = way->text[way->count];
	way->argv[way->count + 1] = NULL;
	return way->text[way->count++];
}

static void add_word(struct way *way, const char *word)
{
	(void)snprintf(new_word(way), 2 * WORD_BYTES, "%s", word);
}

static const char *any_glob(void)
{
	static const char *const GLOBS[] = { "*.c", "*", "a*", "sub", "b.h", "?at" };
	return GLOBS[below(sizeof(GLOBS) / sizeof(GLOBS[0]))];
}

/* A path of the tree as it may be written. */
static void any_way(const char *path, char *ret)
{
	struct stat stat_buffer;
	bool directory = stat(path, &stat_buffer) == 0 && S_ISDIR(stat_buffer.st_mode);
	const char *slash = strchr(path, '/');

	if (slash && chance(20))
		(void)snprintf(ret, 2 * WORD_BYTES, "%.*s%s%s", (int)(slash - path), path,
			       chance(50) ? "//" : "/./", slash + 1);
	else
		(void)snprintf(ret, 2 * WORD_BYTES, "%s%s%s", chance(35) ? "./" : "", path,
			       directory && chance(40) ? "/" : "");
}

/* ---- find ---- */

static void add_test(struct way *way)
{
	static const char *const TESTS[] = { "-name", "-iname", "-path",  "-wholename",
					     "-type", "-regex", "-ipath", "-size" };
	static const char *const TYPES[] = { "f", "d", "l", "f,d" };
	const char *name = TESTS[below(8)];

	add_word(way, name);
	if (strcmp(name, "-type") == 0)
		add_word(way, TYPES[below(4)]);
	else if (strcmp(name, "-size") == 0)
		add_word(way, "+0");
	else
		add_word(way, name[1] == 'n' || name[2] == 'n' ? any_glob() : ".*[ab].*");
}

/* Tests once more, in another order and with other words of the same meaning: each is a word or two
 * of `tests`. */
static void shuffle_tests(const struct way *tests, struct way *way)
{
	unsigned starts[16], count = 0;

	for (unsigned i = 0; i < tests->count && count < 16; i += 1) {
		starts[count++] = i;
		while (strcmp(tests->argv[i], "!") == 0)
			i++;
		i++;
	}
	for (unsigned i = count; i > 1; i--) {
		unsigned with = below(i), other = starts[i - 1];
		starts[i - 1] = starts[with];
		starts[with] = other;
	}
	for (unsigned k = 0; k < count; k++) {
		unsigned i = starts[k];
		if (k && chance(20))
			add_word(way, chance(50) ? "-a" : "-and");
		for (; strcmp(tests->argv[i], "!") == 0; i++)
			add_word(way, chance(50) ? "!" : "-not");
		bool path = strcmp(tests->argv[i], "-path") == 0 ||
			    strcmp(tests->argv[i], "-wholename") == 0;
		add_word(way, path ? chance(50) ? "-path" : "-wholename" : tests->argv[i]);
		add_word(way, tests->argv[i + 1]);
		if (chance(5))
			add_word(way, "-o");
	}
}

static void write_find_ways(struct way *ways)
{
	static struct way tests;
	char path[WORD_BYTES];
	unsigned count = below(4);
	bool max = chance(40), min = chance(20), depth = chance(20), bare = chance(40);

	(void)snprintf(path, sizeof(path), "%s", paths[below(path_count)]);
	tests.count = 0;
	for (unsigned i = 0; i < count; i++) {
		if (chance(25))
			add_word(&tests, "!");
		add_test(&tests);
	}
	for (unsigned i = 0; i < WAYS; i++) {
		struct way *way = &ways[i];
		bool late = chance(10), swapped = chance(50);
		way->count = way->row_count = 0;
		add_word(way, "find");
		if (chance(20))
			add_word(way, chance(80) ? "-P" : "-L");
		if (bare && chance(50))
			add_word(way, chance(80) ? "." : "./");
		else if (!bare && path[0] != '-')
			any_way(path, new_word(way));
		for (unsigned k = 0; k < 2; k++) {
			if (max && !late && (k == 0) == swapped) {
				add_word(way, "-maxdepth");
				add_word(way, chance(80) ? "2" : "02");
			}
			if (min && !late && (k == 1) == swapped) {
				add_word(way, "-mindepth");
				add_word(way, "1");
			}
			if (depth && k == 0)
				add_word(way, "-depth");
		}
		shuffle_tests(&tests, way);
		if (max && late) {
			add_word(way, "-maxdepth");
			add_word(way, "2");
		}
		if (chance(40))
			add_word(way, "-print");
	}
}

/* ---- rg ---- */

/* A search in random words; some have one order. */
static void write_search(struct way *way)
{
	static const char *const ORDERS[] = { "--sort=path", "-j1",         "--sortr=path",
					      "-j2",         "--threads=1", "" };
	static const char *const OPTIONS[] = {
		"-n",       "-i",
		"-c",       "-l",
		"-w",       "-v",
		"-uu",      "-uuu",
		"-o",       "--hidden",
		"-A1",      "--no-ignore",
		"--files",  "-p",
		"-a",       "--trim",
		"-g*.c",    "-m2",
		"--column", "--no-heading",
		"-tc",      "--no-messages",
		"-F",       "--max-depth=2",
		"-I",       "-H",
		"--crlf",   "-0",
		"-b",       "-C2",
	};
	const char *order = ORDERS[below(6)];

	way->count = way->row_count = 0;
	add_word(way, "rg");
	for (unsigned i = below(4); i; i--)
		add_word(way, OPTIONS[below(sizeof(OPTIONS) / sizeof(OPTIONS[0]))]);
	if (*order)
		add_word(way, order);
	add_word(way, "-e");
	add_word(way, chance(50) ? "pat" : chance(50) ? "l" : "^");
	add_word(way, "--");
	for (unsigned i = below(3); i; i--)
		any_way(paths[below(path_count)], new_word(way));
}

#endif
