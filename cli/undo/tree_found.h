/* The names that a walk (tree_walk.h) found to be changed: for tree_change.c. */
#ifndef SEEN_CLI_TREE_FOUND_H
#define SEEN_CLI_TREE_FOUND_H

#include "cli/undo/tree_walk.h"

/* Something that a walk found of a name. */
struct found {
	const char *path;
	const struct tree_node *node; /* this name's at the walk's point */
	const struct tree_node *from; /* what has this name at its beginning had another one then */
	const char *from_path;
	const struct tree_gone *gone; /* what has this name at its beginning was not there */
	/* A directory above was renamed, and took along what has this name: its name at the walk's
	 * point, or at its beginning. */
	const char *along_from, *along_to;
};

struct found_list {
	struct found *items;
	size_t count;
};

/* tree_found_read(): all of them; a name may have several.  for_undo: also what has the same name at both points,
 * in another directory.  ret_list: empty; free() its items.
 * Returns 0 or -ENOMEM.  tree_found_sort(): puts them in the order of their paths. */
int tree_found_read(struct tree_walk *walk, bool for_undo, struct found_list *ret_list);
void tree_found_sort(struct found_list *list);

/* tree_found_at(): the first of a path in a sorted list; NULL: none.  Others of it follow. */
const struct found *tree_found_at(const struct found_list *list, const char *path);

/* tree_found_is_elsewhere(): is what has a node's name at the walk's beginning, too, in another directory then?  That
 * of the walk's point was renamed away, or is gone and another one was renamed to its name.  list: sorted. */
bool tree_found_is_elsewhere(const struct found_list *list, const struct tree_node *node);

/* tree_found_add(): Returns 0 or -ENOMEM. */
int tree_found_add(struct found_list *list, const struct found *item);

#endif
