/* Globs: see glob.h. */
#include "tracker/path/glob.h"

#include <string.h>

enum { GLOB_STEPS_MAX = 100000 };

/* Matches one byte against the set that begins behind `[`.  Returns the byte behind the closing
 * `]`, or NULL when the set is not closed (then `[` is an ordinary byte). */
static const char *glob_set(const char *set, char byte, bool fold, bool *ret_match)
{
	bool negated = *set == '!' || *set == '^';
	bool match = false;
	const char *at = set + negated;

	for (bool first = true; *at && (first || *at != ']'); first = false) {
		unsigned char low = glob_folded(*at, fold), high = low;
		if (at[1] == '-' && at[2] && at[2] != ']') {
			high = glob_folded(at[2], fold);
			at += 2;
		}
		match = match ||
			(low <= glob_folded(byte, fold) && glob_folded(byte, fold) <= high);
		at++;
	}
	if (*at != ']')
		return NULL;
	*ret_match = match != negated;
	return at + 1;
}

/* covers: a pattern that ends where a directory's name ends matches what is below it too. */
static bool glob_match(const char *pattern, const char *text, bool fold, bool covers, int *steps)
{
	for (;;) {
		if (--*steps < 0)
			return false;
		if (*pattern == '*') {
			bool any = pattern[1] == '*';
			const char *rest = pattern + 1 + any;
			/* `**` followed by a slash also stands for no directory at all */
			if (any && *rest == '/' && glob_match(rest + 1, text, fold, covers, steps))
				return true;
			bool plain = *rest && !strchr("*?[\\", *rest);
			for (;; text++) {
				/* most places are ruled out by the byte that must come next */
				if ((!plain ||
				     glob_folded(*text, fold) == glob_folded(*rest, fold)) &&
				    glob_match(rest, text, fold, covers, steps))
					return true;
				if (*text == '\0' || (*text == '/' && !any) || *steps < 0)
					return false;
			}
		}
		if (*pattern == '\0')
			return *text == '\0' || (covers && *text == '/');
		if (*text == '\0')
			return false;
		const char *behind;
		bool match;
		if (*pattern == '?') {
			if (*text == '/')
				return false;
			pattern++;
		} else if (*pattern == '[' &&
			   (behind = glob_set(pattern + 1, *text, fold, &match))) {
			if (!match || *text == '/')
				return false;
			pattern = behind;
		} else {
			if (*pattern == '\\' && pattern[1])
				pattern++;
			if (glob_folded(*pattern, fold) != glob_folded(*text, fold))
				return false;
			pattern++;
		}
		text++;
	}
}

bool path_glob(const char *pattern, const char *text, bool fold)
{
	int steps = GLOB_STEPS_MAX;
	return glob_match(pattern, text, fold, false, &steps);
}

bool glob_covers(const char *pattern, const char *text, bool fold, bool undecided)
{
	int steps = GLOB_STEPS_MAX;
	bool match = glob_match(pattern, text, fold, true, &steps);
	return steps < 0 ? undecided : match;
}

bool path_covers(const char *pattern, const char *path, bool fold)
{
	return glob_covers(pattern, path, fold, false);
}

bool glob_matches_at_any_depth(const char *pattern, const char *relative, bool fold, bool undecided)
{
	if (pattern[0] == '/')
		return glob_covers(pattern + 1, relative, fold, undecided);
	/* most names are ruled out by their first byte */
	bool plain = pattern[0] && !strchr("*?[\\", pattern[0]);
	unsigned char first = glob_folded(pattern[0], fold);
	for (const char *at = relative; at; at = strchr(at, '/')) {
		at += *at == '/';
		if ((!plain || glob_folded(*at, fold) == first) &&
		    glob_covers(pattern, at, fold, undecided))
			return true;
	}
	return false;
}

bool path_matches_glob(const char *pattern, const char *relative, bool fold)
{
	return glob_matches_at_any_depth(pattern, relative, fold, false);
}
