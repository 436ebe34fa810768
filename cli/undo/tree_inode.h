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

#endif
