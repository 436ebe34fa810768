/*
 * Patches in git's format (gitformat-diff, git-diff(1) "Generating patch text with -p"), for `git
 * apply` and, but for binary contents, `patch -p1`.
 *
 * They know regular files, of which one bit of the mode counts, and symbolic links.
 */
#ifndef SEEN_CLI_PATCH_H
#define SEEN_CLI_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/files/hunks.h"
#include "cli/files/line_script.h"

/* Escape sequences: as git's defaults, or all "". */
struct patch_style {
	const char *meta; /* headers */
	struct hunks_style hunks;
};

extern const struct patch_style PATCH_PLAIN, PATCH_COLOURED;

/* What is by a name. */
struct patch_side {
	const char *path;  /* below the root of the patch; also where nothing is */
	uint32_t mode;     /* as stat(2); 0: nothing is there */
	const char *bytes; /* of a symbolic link its target; may be NULL where size is 0 */
	size_t size;
};

/* One file: the paths differ where it was renamed. */
struct patch_pair {
	struct patch_side old, new;
	bool is_binary;
	struct line_script script; /* of text */
	size_t removed, added;     /* lines */
	unsigned similarity;       /* percent */
};

/* patch_pair_make(): compares two sides, of one type where both are there.
 *
 * old, new: borrowed until patch_pair_free().  ret_pair: patch_pair_free() it in any case.
 * Returns 0 or -ENOMEM, -EFBIG: line_script_make(). */
int patch_pair_make(const struct patch_side *old, const struct patch_side *new,
		    struct patch_pair *ret_pair);
void patch_pair_free(struct patch_pair *pair);

/* patch_mode(): a mode as git has it: 100644, 100755, 120000 (octal); 0: a patch cannot carry it. */
uint32_t patch_mode(uint32_t mode);

/* patch_differs(): is there anything to write? */
bool patch_differs(const struct patch_pair *pair);

/* patch_write(): the patch of one file; nothing where the sides do not differ.
 *
 * Returns whether something was written.  The caller checks the errors of `file`. */
bool patch_write(FILE *file, const struct patch_pair *pair, const struct patch_style *style);

/* patch_name_write(): a name as git quotes it: in quotes, with C's escapes, where it has bytes that
 * are no printable ASCII, a quote or a backslash. */
void patch_name_write(FILE *file, const char *prefix, const char *name);

#endif
