/* The inodes that the records of a walk (tree_walk.h) are about. */
#ifndef SEEN_CLI_TREE_INODE_H
#define SEEN_CLI_TREE_INODE_H

#include "cli/undo/tree_walk.h"

/* tree_inode_find(): the inode of a state; NULL: no record was about it. */
struct tree_inode *tree_inode_find(const struct tree_walk *walk, const struct pack_state *state);

/* tree_inode_get(): makes it where no record was about it; NULL when out of memory. */
struct tree_inode *tree_inode_get(struct tree_walk *walk, const struct pack_state *state);

/* tree_inode_new(): as one that was not met yet: what is known of others of its number is of later
 * ones.  NULL when out of memory. */
struct tree_inode *tree_inode_new(struct tree_walk *walk, const struct pack_state *state);

/* Names of one file share its content and metadata.
 *
 * tree_inode_note_change(): a later record that is not selected may have changed a file by one of them.  Returns 0 or
 * -ENOMEM.  tree_inode_is_changed(): did one change a file that this record changes, too?
 *
 * tree_inode_note_anew(): a file that an undo or redo took away, as this record that is passed tells, and what one made
 * anew by its name later, are one file in this.  Returns 0 or -ENOMEM. */
int tree_inode_note_change(struct tree_walk *walk, const struct tree_record *record);
int tree_inode_note_anew(struct tree_walk *walk, const struct tree_record *record);
bool tree_inode_is_changed(const struct tree_walk *walk, const struct tree_record *record);

#endif
