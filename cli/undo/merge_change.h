/*
 * Undo of a file that was also changed by others: a later step, or an external program.  What the
 * range changed is made undone in what is there, by three-way merges (merge.h).
 */
#ifndef SEEN_CLI_MERGE_CHANGE_H
#define SEEN_CLI_MERGE_CHANGE_H

#include "cli/undo/merge.h"
#include "cli/undo/tree_change.h"

struct merged_file {
	struct merge_text text;
	size_t conflicts; /* that are marked in it */
	uint32_t mode;    /* before the range, where only the range changed it */
};

/* merge_change(): what a file becomes.
 *
 * change: of the range.  label: stands behind the marks of what comes back.
 * ret_merged: free() its text's bytes.  Returns 0; -ENOMEM; -ENODATA: it cannot be merged: it was made,
 * removed or renamed, is no text, or what the range left of it is not known. */
int merge_change(const struct tree_records *records, const struct tree_range *range,
		 const struct tree_change *change, const char *label,
		 struct merged_file *ret_merged);

#endif
