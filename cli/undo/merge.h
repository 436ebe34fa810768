/*
 * Three-way merges of texts: what was changed from one text to another is made undone in a third
 * one.
 */
#ifndef SEEN_CLI_MERGE_H
#define SEEN_CLI_MERGE_H

#include <stdbool.h>
#include <stddef.h>

struct merge_text {
	char *bytes; /* owned by the holder */
	size_t size;
};

/* merge_texts(): brings what differs between `base` and `theirs` into `current`.
 *
 * current_label, theirs_label: stand behind the marks of conflicts, which are git's.
 * ret_merged: free() its bytes.  ret_conflicts: how many are marked.
 * Returns 0; -EINVAL: one of them is no text (it has a NUL); -ENOSYS: the library is not there;
 * -ENOMEM; -EIO: it failed. */
int merge_texts(const struct merge_text *base, const struct merge_text *current,
		const struct merge_text *theirs, const char *current_label,
		const char *theirs_label, struct merge_text *ret_merged, size_t *ret_conflicts);

#endif
