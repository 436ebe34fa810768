/* What was by a name at the point that a walk (tree_walk.h) has reached. */
#ifndef SEEN_CLI_TREE_STATE_H
#define SEEN_CLI_TREE_STATE_H

#include "cli/undo/tree_entry.h"
#include "cli/undo/tree_walk.h"

/* Of each: walk: its texts belong to it.  base: the walk that came before it, whose point is its
 * beginning; NULL: it began at what is on disk.  path: absolute.  Returns 0, -ENOMEM, or why nothing
 * on disk can be inspected.
 *
 * tree_state_at(): at the walk's point.  tree_state_of_node(): the same of a node.
 * tree_state_of_base(): at its beginning. */
int tree_state_at(struct tree_walk *walk, struct tree_walk *base, const char *path,
		  struct tree_entry *ret_entry);
int tree_state_of_node(struct tree_walk *walk, struct tree_walk *base, const struct tree_node *node,
		       struct tree_entry *ret_entry);
int tree_state_of_base(struct tree_walk *walk, struct tree_walk *base, const char *path,
		       struct tree_entry *ret_entry);

#endif
