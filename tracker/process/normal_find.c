/*
 * The normal form of find(1).
 *
 * An expression is a program: its order counts.  Of one kind it does not: tests of a name or a type,
 * all of which have to hold, and which do nothing else.  They are put into the order of their words.
 * Each other expression stays word for word.
 */
#include "tracker/process/normal_find.h"

#include <string.h>

enum { TESTS_MAX = 32 };

struct test {
	bool is_negated;
	const char *name, *value;
};

/* What is asked for. */
struct expression {
	const char *depth_max, *depth_min;
	bool is_depth;
	struct test tests[TESTS_MAX];
	unsigned count;
};

/* The one name of a test; NULL: it is none of these. */
static const char *test_name(const char *word)
{
	static const char NAMES[][2][12] = {
		{ "-name", "-name" },      { "-iname", "-iname" },   { "-path", "-path" },
		{ "-wholename", "-path" }, { "-ipath", "-ipath" },   { "-iwholename", "-ipath" },
		{ "-regex", "-regex" },    { "-iregex", "-iregex" }, { "-type", "-type" },
	};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strcmp(NAMES[i][0], word) == 0)
			return NAMES[i][1];
	return NULL;
}

static bool begins_expression(const char *word)
{
	return word[0] == '-' || strcmp(word, "(") == 0 || strcmp(word, ")") == 0 ||
	       strcmp(word, "!") == 0 || strcmp(word, ",") == 0;
}

/* Options that hold for all of the expression, and come first: elsewhere find warns.  Returns what
 * follows; NULL: the expression stays word for word. */
static char *const *parse_options(char *const *at, struct expression *expression)
{
	for (; *at; at++) {
		bool is_max = strcmp(*at, "-maxdepth") == 0;
		if (strcmp(*at, "-depth") == 0) {
			expression->is_depth = true;
			continue;
		}
		if (!is_max && strcmp(*at, "-mindepth") != 0)
			break;
		const char **depth = is_max ? &expression->depth_max : &expression->depth_min;
		if (*depth || !at[1])
			return NULL;
		*depth = normal_digits(*++at);
		if (!*depth)
			return NULL;
	}
	return at;
}

/* Tests, `!` before some of them, `-a` between them, `-print` behind the last.  False: the
 * expression stays word for word. */
static bool parse_tests(char *const *at, struct expression *expression)
{
	bool may_join = false;

	for (; *at; at++) {
		struct test test = { .is_negated = false };
		if (strcmp(*at, "-print") == 0 && !at[1])
			return true;
		if (may_join && (strcmp(*at, "-a") == 0 || strcmp(*at, "-and") == 0))
			at++;
		if (*at && (strcmp(*at, "!") == 0 || strcmp(*at, "-not") == 0)) {
			test.is_negated = true;
			at++;
		}
		if (!*at || !at[1] || expression->count == TESTS_MAX)
			return false;
		test.name = test_name(*at);
		test.value = *++at;
		if (!test.name ||
		    (strcmp(test.name, "-type") == 0 && (!test.value[0] || test.value[1])))
			return false;
		expression->tests[expression->count++] = test;
		may_join = true;
	}
	return true;
}

static int compare(const struct test *a, const struct test *b)
{
	int order = strcmp(a->name, b->name);

	if (order == 0)
		order = strcmp(a->value, b->value);
	return order ? order : (int)a->is_negated - (int)b->is_negated;
}

static void sort(struct expression *expression)
{
	for (unsigned i = 1; i < expression->count; i++)
		for (unsigned k = i;
		     k && compare(&expression->tests[k - 1], &expression->tests[k]) > 0; k--) {
			struct test test = expression->tests[k];
			expression->tests[k] = expression->tests[k - 1];
			expression->tests[k - 1] = test;
		}
}

static void write(const struct expression *expression, struct normal_words *words)
{
	if (expression->depth_max) {
		normal_words_write(words, "-maxdepth");
		normal_words_write(words, expression->depth_max);
	}
	if (expression->depth_min) {
		normal_words_write(words, "-mindepth");
		normal_words_write(words, expression->depth_min);
	}
	if (expression->is_depth)
		normal_words_write(words, "-depth");
	for (unsigned i = 0; i < expression->count; i++) {
		const struct test *test = &expression->tests[i];
		if (test->is_negated)
			normal_words_write(words, "!");
		normal_words_write(words, test->name);
		normal_words_write(words, test->value);
	}
}

/* Is it an option that stands before all paths? */
static bool is_option(const char *word)
{
	return strcmp(word, "-P") == 0 || strcmp(word, "-L") == 0 || strcmp(word, "-H") == 0 ||
	       strcmp(word, "--") == 0 || strncmp(word, "-O", 2) == 0 ||
	       strncmp(word, "-D", 2) == 0;
}

bool normal_find(char *const argv[], struct normal_words *words)
{
	struct expression expression = { .count = 0 };
	char *const *at = argv + 1;

	/* -P is the default; of several options the last counts. */
	if (*at && strcmp(*at, "-P") == 0)
		at++;
	if (*at && is_option(*at))
		return false;
	if (!*at || begins_expression(*at))
		normal_words_write(words, ".");
	for (; *at && !begins_expression(*at); at++)
		normal_words_write(words, *at);
	normal_words_write(words, "--");
	char *const *tests = parse_options(at, &expression);
	if (tests && parse_tests(tests, &expression)) {
		sort(&expression);
		write(&expression, words);
		return true;
	}
	normal_words_write(words, "--");
	for (; *at; at++)
		normal_words_write(words, *at);
	return true;
}
