/* Globs, against fnmatch(3) where both mean the same: a pattern, a NUL, a text. */
#include "fuzz_harness.h"

#include <fnmatch.h>

#include "tracker/path/glob.h"

/* What fnmatch() takes otherwise: `**`, sets (its classes and equivalences), bytes that are no ASCII. */
static bool is_common(const char *pattern, const char *text)
{
	if (strstr(pattern, "**") || strpbrk(pattern, "[]\\"))
		return false;
	for (const char *at = pattern; *at; at++)
		if (*at & '\x80')
			return false;
	for (const char *at = text; *at; at++)
		if (*at & '\x80')
			return false;
	return strlen(pattern) < 64 && strlen(text) < 256; /* no budget is used up */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data;
	size_t left = size, part = fuzz_cut(&at, &left);
	char *pattern = fuzz_text(data, part), *text = fuzz_text(at, left);

	for (int fold = 0; fold < 2; fold++) {
		bool matches = path_glob(pattern, text, fold);
		if (is_common(pattern, text))
			fuzz_holds(matches ==
				   (fnmatch(pattern, text,
					    FNM_PATHNAME | (fold ? FNM_CASEFOLD : 0)) == 0));
		if (matches)
			fuzz_holds(path_covers(pattern, text, fold));
		(void)path_matches_glob(pattern, text, fold);
	}
	free(pattern);
	free(text);
	return 0;
}
