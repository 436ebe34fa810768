/* Items of the plan of an undo: for a name that stays, and becomes what it was. */
#ifndef SEEN_CLI_SCHEDULE_ADJUST_H
#define SEEN_CLI_SCHEDULE_ADJUST_H

#include "cli/undo/schedule_making.h"

/* Of each: Returns 0 or -ENOMEM.
 *
 * making_add(): an item.  other, wanted, found: NULL: none.
 * making_add_name(): what an item makes is one of several names of an inode. */
int making_add(struct making *making, enum schedule_kind kind, const char *path, const char *other,
	       const struct tree_entry *wanted, const struct tree_entry *found);
int making_add_name(struct making *making, const char *path, const struct tree_entry *wanted,
		    size_t item);

/* making_adjust(): what is at `path` by then, of which `found` is known, becomes as wanted.  disk_path: where
 * it is now. */
int making_adjust(struct making *making, const char *path, const struct tree_entry *wanted,
		  const struct tree_entry *found, const char *disk_path);

/* making_new(): it is made where nothing is by then. */
int making_new(struct making *making, const char *path, const struct tree_entry *wanted);

#endif
