/*
 * What became of one file: each change that undo records have of it, with what it was before and
 * what its writer left.
 *
 * What one change left is not always what the next one found: then an external program changed the
 * file between.
 */
#ifndef SEEN_CLI_FILE_HISTORY_H
#define SEEN_CLI_FILE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/undo/tree_record.h"

struct file_state {
	bool known;  /* false: neither is the rest */
	bool exists; /* as a file or a symbolic link */
	struct pack_state state;
	const struct tree_record *content; /* that holds its bytes; NULL: not known by records */
};

struct file_change {
	const struct tree_record *record; /* the first of the call: who, and when */
	struct file_state before, after;
	/* Written again at the same boundary: what was found then is not on record. */
	bool continues;
};

struct file_history {
	struct file_change *changes; /* the oldest first */
	size_t count;
};

/* file_history_read(): of the file that has a path at the end.
 *
 * follows: where it was renamed, it is followed to the name before; else it begins there.
 * ret_history: file_history_free() it in any case; borrows the records.  Returns 0 or -ENOMEM. */
int file_history_read(const struct tree_records *records, const char *path, bool follows,
		      struct file_history *ret_history);
void file_history_free(struct file_history *history);

/* file_state_is(): are both the same, by inode, size and time?  Not known is like nothing. */
bool file_state_is(const struct file_state *one, const struct file_state *other);

#endif
