/* Which inputs a reader has: see inputs_needed.h. */
#include "tracker/content/inputs_needed.h"

#include <string.h>

#include "tracker/content/inputs.h"

enum tells {
	TELLS_CONTENT, /* what is in its files, and their names */
	TELLS_NAMES,   /* what is in directories: with these options, names and types alone */
	TELLS_DETAILS,
	TELLS_SEARCH, /* what is in its files, and whether others are there */
	TELLS_GIT,
};

/* Programs whose output depends on what they open and list, and on their words, and on nothing
 * else.  Not here: bfs, which does it in several threads; readlink and realpath, which
 * follow links on the way. */
static const struct {
	const char *name;
	enum tells tells;
	const char *names; /* NAMES: short options */
} PROGRAMS[] = {
	{ "cat", TELLS_CONTENT, NULL },
	{ "cksum", TELLS_CONTENT, NULL },
	{ "cmp", TELLS_CONTENT, NULL },
	{ "comm", TELLS_CONTENT, NULL },
	{ "cut", TELLS_CONTENT, NULL },
	{ "diff", TELLS_DETAILS, NULL },
	{ "du", TELLS_DETAILS, NULL },
	{ "egrep", TELLS_CONTENT, NULL },
	{ "fgrep", TELLS_CONTENT, NULL },
	{ "find", TELLS_NAMES, NULL },
	{ "fold", TELLS_CONTENT, NULL },
	{ "git", TELLS_GIT, NULL },
	{ "grep", TELLS_CONTENT, NULL },
	{ "head", TELLS_CONTENT, NULL },
	{ "hexdump", TELLS_CONTENT, NULL },
	{ "ls", TELLS_NAMES, "aA1CmxqQNbBR" },
	{ "md5sum", TELLS_CONTENT, NULL },
	{ "nl", TELLS_CONTENT, NULL },
	{ "od", TELLS_CONTENT, NULL },
	{ "paste", TELLS_CONTENT, NULL },
	{ "rev", TELLS_CONTENT, NULL },
	{ "rg", TELLS_SEARCH, NULL }, /* search_order.h: where it has one thread */
	{ "sed", TELLS_CONTENT, NULL },
	{ "sha1sum", TELLS_CONTENT, NULL },
	{ "sha256sum", TELLS_CONTENT, NULL },
	{ "sha512sum", TELLS_CONTENT, NULL },
	{ "sort", TELLS_CONTENT, NULL },
	{ "stat", TELLS_DETAILS, NULL },
	{ "strings", TELLS_CONTENT, NULL },
	{ "tac", TELLS_CONTENT, NULL },
	{ "tail", TELLS_CONTENT, NULL },
	{ "tree", TELLS_DETAILS, NULL }, /* where links lead */
	{ "ugrep", TELLS_SEARCH, NULL }, /* likewise */
	{ "uniq", TELLS_CONTENT, NULL },
	{ "wc", TELLS_CONTENT, NULL },
	{ "xxd", TELLS_CONTENT, NULL },
};

/* Tests and actions of find(1) that know of a file its name and type alone. */
static bool find_needs_names(char *const argv[])
{
	static const char *const WORDS[] = {
		"-name",  "-iname",  "-path",      "-ipath", "-wholename", "-iwholename",
		"-regex", "-iregex", "-regextype", "-type",  "-maxdepth",  "-mindepth",
		"-prune", "-print",  "-print0",    "-o",     "-a",         "-or",
		"-and",   "-not",    "-depth",     "-P",     "-true",      "-false",
	};
	for (size_t i = 1; argv[i]; i++) {
		bool known = argv[i][0] != '-' || !argv[i][1];
		for (size_t k = 0; !known && k < sizeof(WORDS) / sizeof(WORDS[0]); k++)
			known = strcmp(argv[i], WORDS[k]) == 0;
		if (!known)
			return false;
	}
	return true;
}

static bool needs_names(const char *options, char *const argv[])
{
	for (size_t i = 1; argv[i]; i++) {
		const char *word = argv[i];
		if (word[0] != '-' || !word[1] || strcmp(word, "--") == 0)
			continue; /* behind `--`, too, an option's letters are inspected: that is the safe side */
		if (word[1 + strspn(word + 1, options)])
			return false;
	}
	return true;
}

/* Does an option speak of when a file was last read? */
static bool names_access_time(char *const argv[])
{
	for (size_t i = 1; argv[i]; i++) {
		const char *word = argv[i];
		if (word[0] == '-' &&
		    (word[1] == '-' ? strncmp(word, "--time", 6) == 0 : strchr(word, 'u') != NULL))
			return true;
	}
	return false;
}

/* Is one of a program's short options given? */
static bool has_letter(char *const argv[], const char *letters)
{
	for (size_t i = 1; argv[i]; i++)
		if (argv[i][0] == '-' && (argv[i][1] == '-' || strpbrk(argv[i], letters)))
			return true;
	return false;
}

/* A word that stands for the standard input, which is not inspected: stat(1) describes it and does
 * not read it. */
static bool names_stdin(char *const argv[])
{
	for (size_t i = 1; argv[i]; i++)
		if (strcmp(argv[i], "-") == 0)
			return true;
	return false;
}

/* Does sort(1) put lines in an order of chance?  -R, among other letters and in a key,
 * --random-sort, --sort=random, abbreviated. */
static bool sorts_by_chance(char *const argv[])
{
	for (size_t i = 1; argv[i]; i++) {
		const char *word = argv[i];
		if (strncmp(word, "--ra", 4) == 0 || strncmp(word, "--so", 4) == 0 ||
		    ((word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) && strchr(word, 'R')))
			return true;
	}
	return false;
}

/* Words by which a program prints what no input tells: the room of a file system, whether this
 * process may write on it, when a file was made, files that a file names. */
static bool names_more(const char *name, char *const argv[])
{
	static const struct {
		char program[5];
		bool begins; /* a word, or its beginning */
		char word[13];
	} WORDS[] = {
		{ "stat", true, "--fi" },          { "du", true, "--fil" },
		{ "find", false, "-files0-from" }, { "find", false, "-readable" },
		{ "find", false, "-writable" },    { "find", false, "-executable" },
		{ "ls", false, "--time" },         { "ls", true, "--time=b" },
		{ "ls", true, "--time=cr" },
	};
	for (size_t k = 1; argv[k]; k++) {
		if (strcmp(name, "stat") == 0 && argv[k][0] == '-' && argv[k][1] != '-' &&
		    strchr(argv[k], 'f'))
			return true;
		for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
			if (strcmp(WORDS[i].program, name) == 0 &&
			    (WORDS[i].begins
				     ? strncmp(argv[k], WORDS[i].word, strlen(WORDS[i].word)) == 0
				     : strcmp(argv[k], WORDS[i].word) == 0))
				return true;
	}
	return false;
}

bool inputs_needed(const char *name, char *const argv[], struct inputs_needed *ret_plan)
{
	bool is_ls = strcmp(name, "ls") == 0, is_find = strcmp(name, "find") == 0;

	if (!argv[0] || names_stdin(argv) || names_more(name, argv) ||
	    (strcmp(name, "sort") == 0 && sorts_by_chance(argv)))
		return false;
	for (size_t i = 0; i < sizeof(PROGRAMS) / sizeof(PROGRAMS[0]); i++) {
		if (strcmp(name, PROGRAMS[i].name) != 0)
			continue;
		ret_plan->is_git = PROGRAMS[i].tells == TELLS_GIT;
		ret_plan->asks = PROGRAMS[i].tells == TELLS_SEARCH || ret_plan->is_git;
		ret_plan->content = PROGRAMS[i].tells == TELLS_CONTENT || ret_plan->asks;
		ret_plan->details = PROGRAMS[i].tells == TELLS_DETAILS;
		if (PROGRAMS[i].tells == TELLS_NAMES)
			ret_plan->details = PROGRAMS[i].names
						    ? !needs_names(PROGRAMS[i].names, argv)
						    : !find_needs_names(argv);
		/* find(1) without a path; others list it, or print too little. */
		ret_plan->is_here = is_find && (!argv[1] || strchr("-(!", argv[1][0]));
		ret_plan->flags = 0;
		if (strcmp(name, "stat") == 0 || (is_find && ret_plan->details) ||
		    ((is_ls || strcmp(name, "du") == 0) && names_access_time(argv)))
			ret_plan->flags |= INPUT_ACCESS_TIME;
		if (is_ls && has_letter(argv, "af"))
			ret_plan->flags |= INPUT_PARENT;
		return true;
	}
	return false;
}
