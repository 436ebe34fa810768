/* The order in which a search prints: see search_order.h. */
#include "tracker/process/search_order.h"

#include <string.h>

/* Options that leave the order, and what a search depends on, as they are (ripgrep 13, ugrep
 * 3.11).  Long ones stand between blanks. */
struct searcher {
	char name[6];
	char flags[32];       /* letters without a value */
	char with_values[20]; /* and with one */
	char long_flags[760];
	char long_with_values[280];
};

static const struct searcher SEARCHERS[] = {
	{ "rg", "nNisSwvclohHIFxUPp0au.b", "ABCmegtTrMEdfj",
	  " line-number no-line-number ignore-case case-sensitive smart-case word-regexp "
	  "invert-match count count-matches files-with-matches files-without-match only-matching "
	  "with-filename no-filename fixed-strings line-regexp multiline multiline-dotall pcre2 "
	  "pretty null text hidden no-hidden unrestricted heading no-heading column no-column trim "
	  "no-messages no-ignore no-ignore-vcs no-ignore-dot no-ignore-parent no-ignore-global "
	  "no-ignore-exclude no-ignore-files no-require-git no-config files vimgrep byte-offset "
	  "passthru glob-case-insensitive crlf null-data binary include-zero no-unicode mmap "
	  "no-mmap "
	  "max-columns-preview ",
	  " after-context before-context context max-count regexp glob iglob type type-not replace "
	  "max-columns encoding file color colors threads sort sortr max-depth maxdepth "
	  "context-separator field-match-separator path-separator engine ignore-file type-add " },
	{ "ugrep", "nivwclohHFEGPxrRsa", "ABCmegJt",
	  " line-number ignore-case invert-match word-regexp count files-with-matches "
	  "only-matching no-filename with-filename fixed-strings extended-regexp basic-regexp "
	  "perl-regexp line-regexp recursive no-messages text ",
	  " after-context before-context context max-count regexp glob jobs file-type include "
	  "exclude include-dir exclude-dir color " },
};

/* What is known of a search. */
struct search {
	bool has_pattern; /* by -e, -f or --files: the first operand is none */
	bool is_alone;    /* it has one thread */
	bool is_mixed;    /* what is written at once may be of several files */
	bool is_unknown;  /* an option that is not known */
	unsigned operands;
	const char *operand; /* the last one */
};

static const struct searcher *searcher_of(const char *name)
{
	for (size_t i = 0; i < sizeof(SEARCHERS) / sizeof(SEARCHERS[0]); i++)
		if (strcmp(SEARCHERS[i].name, name) == 0)
			return &SEARCHERS[i];
	return NULL;
}

bool search_order_counts(const char *name)
{
	return searcher_of(name) != NULL;
}

static bool is_in(const char *list, const char *name, size_t length)
{
	for (const char *at = list; *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (length && strncmp(at, name, length) == 0 && at[length] == ' ')
			return true;
	}
	return false;
}

static bool is_name(const char *name, size_t length, const char *wanted)
{
	return strlen(wanted) == length && strncmp(name, wanted, length) == 0;
}

/* An option with its value.  name: a letter, or the long one. */
static void note_value(struct search *search, const char *name, size_t length, const char *value)
{
	if (is_name(name, length, "j") || is_name(name, length, "threads") ||
	    is_name(name, length, "J") || is_name(name, length, "jobs"))
		search->is_alone = strcmp(value, "1") == 0;
	else if (is_name(name, length, "sort") || is_name(name, length, "sortr")) {
		search->is_alone = strcmp(value, "path") == 0;
		search->is_unknown |= !search->is_alone; /* by times, or by none behind a path */
	} else if (is_name(name, length, "e") || is_name(name, length, "f") ||
		   is_name(name, length, "regexp") || is_name(name, length, "file"))
		search->has_pattern = true;
}

static void read_long(const struct searcher *searcher, char *const **at, struct search *search)
{
	const char *name = **at + 2;
	size_t length = strcspn(name, "=");

	if (is_in(searcher->long_with_values, name, length)) {
		const char *value = name[length] ? name + length + 1 : *++*at;
		if (value)
			note_value(search, name, length, value);
		else
			search->is_unknown = true;
	} else if (name[length] || !is_in(searcher->long_flags, name, length)) {
		search->is_unknown = true;
	} else if (is_name(name, length, "files")) {
		search->has_pattern = search->is_mixed = true;
	} else if (is_name(name, length, "null") || is_name(name, length, "null-data")) {
		search->is_mixed = true;
	}
}

static void read_letters(const struct searcher *searcher, char *const **at, struct search *search)
{
	for (const char *letter = **at + 1; *letter && !search->is_unknown; letter++) {
		search->is_mixed |= *letter == '0';
		if (strchr(searcher->flags, *letter))
			continue;
		search->is_unknown = !strchr(searcher->with_values, *letter);
		if (search->is_unknown)
			return;
		const char *value = letter[1] ? letter + 1 + (letter[1] == '=') : *++*at;
		if (value)
			note_value(search, letter, 1, value);
		else
			search->is_unknown = true;
		return;
	}
}

static bool has_options_file(char *const environment[])
{
	static const char NAME[] = "RIPGREP_CONFIG_PATH=";

	for (size_t i = 0; environment && environment[i]; i++)
		if (strncmp(environment[i], NAME, sizeof(NAME) - 1) == 0 &&
		    environment[i][sizeof(NAME) - 1])
			return true;
	return false;
}

enum search_order search_order(const char *name, char *const argv[], char *const environment[],
			       bool (*is_file)(const char *path))
{
	const struct searcher *searcher = searcher_of(name);
	struct search search = { .operands = 0 };
	bool ended = false;

	if (!searcher || !argv[0] || has_options_file(environment))
		return SEARCH_UNKNOWN;
	for (char *const *at = argv + 1; *at && !search.is_unknown; at++) {
		if (!ended && strcmp(*at, "--") == 0) {
			ended = true;
		} else if (ended || (*at)[0] != '-' || !(*at)[1]) {
			search.operands++;
			search.operand = *at;
		} else if ((*at)[1] == '-') {
			read_long(searcher, &at, &search);
		} else {
			read_letters(searcher, &at, &search);
		}
		if (!*at)
			return SEARCH_UNKNOWN;
	}
	unsigned paths = search.operands - (!search.has_pattern && search.operands);
	if (search.is_unknown)
		return SEARCH_UNKNOWN;
	if (search.is_alone || (paths == 1 && is_file && is_file(search.operand)))
		return SEARCH_FIXED;
	return strcmp(name, "rg") == 0 && !search.is_mixed ? SEARCH_BY_FILE : SEARCH_UNKNOWN;
}
