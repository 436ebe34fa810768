/*
 * The walk through undo records from the youngest to the oldest, each taken back in a tree of names
 * (tree_names.h).  Touches no file.
 *
 * Records tell what was there before a call.  The oldest record about a thing in a range is
 * therefore what tells its state before the range; a walk backwards is there last.
 */
#ifndef SEEN_CLI_TREE_WALK_H
#define SEEN_CLI_TREE_WALK_H

#include "cli/undo/place.h"
#include "cli/undo/tree_names.h"

/* Something that is there at the beginning, and was not at the walk's point. */
struct tree_gone {
	struct tree_gone *next;
	const char *current_path;
	const struct tree_inode *inode;
	uint64_t first_time_ns, last_time_ns;
	uint32_t process, records;
	bool conflict, moved;
};

struct tree_walk {
	struct tree_memory *memory;
	struct tree_names names;
	struct tree_gone *gone;
	struct tree_inode **inodes; /* a table */
	size_t inode_count, inode_mask;
	uint64_t records;
	uint64_t moves;       /* `found` of a name is void behind one */
	bool has_other;       /* a record was not selected */
	struct places places; /* for what is on disk: opened at first use */
};

/* tree_walk_new(): NULL when out of memory.  tree_walk_free(): accepts NULL. */
struct tree_walk *tree_walk_new(void);
void tree_walk_free(struct tree_walk *walk);

/* tree_walk_back(): takes a record back.  Returns 0 or -ENOMEM. */
int tree_walk_back(struct tree_walk *walk, const struct tree_record *record);

/* tree_walk_pass(): passes a record over that is not selected.  conflicts: later in the walk, what
 * changes the same is a conflict. */
int tree_walk_pass(struct tree_walk *walk, const struct tree_record *record, bool conflicts);

#endif
