/* The ways in which `seen diff` prints a set of files: a patch, git's --stat, JSON. */
#ifndef SEEN_CLI_DIFF_PRINT_H
#define SEEN_CLI_DIFF_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/undo/diff_set.h"

/* diff_print_patch(): one patch.  What it cannot carry stands before it, in lines that begin with
 * `#`, which `git apply` and patch(1) pass over.
 *
 * A content that cannot be read is added to `set->omitted`, and reported on stderr.
 * Returns 0 or -ENOMEM.  The caller checks the errors of `file`. */
int diff_print_patch(FILE *file, const struct tree_records *records, struct diff_set *set,
		     const struct patch_style *style);

/* diff_print_stat(): as `git diff --stat`, `columns` wide.  As diff_print_patch(). */
int diff_print_stat(FILE *file, const struct tree_records *records, struct diff_set *set,
		    const struct patch_style *style, unsigned columns);

/* diff_print_json(): arrays `files` and `not_carried` in the document.  Returns 0 or -ENOMEM. */
int diff_print_json(json_t *document, const struct tree_records *records, struct diff_set *set);

/* diff_print_is_whole(): does the patch lead to the state after, but for what no patch can carry? */
bool diff_print_is_whole(const struct diff_set *set);

#endif
