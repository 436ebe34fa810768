/* What a renamed directory took along: for those who need each file. */
#ifndef SEEN_CLI_TREE_MOVED_H
#define SEEN_CLI_TREE_MOVED_H

#include "cli/undo/tree_found.h"

/* tree_moved_find(): adds to a list what was taken along by the renamed directories in it.  As
 * tree_found_read(). */
int tree_moved_find(struct tree_walk *walk, struct tree_walk *base, struct found_list *list);

#endif
