/* The names that a walk found to be changed: see tree_found.h. */
#include "cli/undo/tree_found.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int tree_found_add(struct found_list *list, const struct found *item)
{
	if ((list->count & (list->count - 1)) == 0) {
		size_t capacity = list->count ? 2 * list->count : 1;
		struct found *grown = reallocarray(list->items, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->items = grown;
	}
	list->items[list->count++] = *item;
	return 0;
}

static int find_node(struct tree_walk *walk, const struct tree_node *node, struct found_list *list)
{
	char path[PATH_MAX], current[PATH_MAX];

	if (!node->touched || !tree_node_path(node, path, sizeof(path)))
		return 0;
	bool has_current = node->state != TREE_ABSENT &&
			   tree_node_current(node, current, sizeof(current));
	bool moved = has_current && strcmp(path, current) != 0;
	if (node->state == TREE_INHERITS && has_current && !moved)
		return 0; /* it came back by itself */
	const char *name = tree_memory_text(walk->memory, path, strlen(path));
	int error = name ? tree_found_add(list, &(struct found){ .path = name, .node = node })
			 : -ENOMEM;
	if (error < 0 || !moved)
		return error;
	const char *now = tree_memory_text(walk->memory, current, strlen(current));
	return now ? tree_found_add(list,
				    &(struct found){ .path = now, .from = node, .from_path = name })
		   : -ENOMEM;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

int tree_found_read(struct tree_walk *walk, struct found_list *ret_list)
{
	int error = 0;

	for (struct tree_node *node = walk->names.root; node && error == 0;
	     node = tree_names_next(node))
		error = find_node(walk, node, ret_list);
	for (struct tree_gone *gone = walk->gone; gone && error == 0; gone = gone->next)
		error = tree_found_add(ret_list,
				       &(struct found){ .path = gone->current_path, .gone = gone });
	return error;
}

void tree_found_sort(struct found_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_path);
}

const struct found *tree_found_at(const struct found_list *list, const char *path)
{
	const struct found key = { .path = path };
	const struct found *found = list->count ? bsearch(&key, list->items, list->count,
							  sizeof(key), by_path)
						: NULL;

	while (found && found > list->items && strcmp(found[-1].path, path) == 0)
		found--;
	return found;
}
