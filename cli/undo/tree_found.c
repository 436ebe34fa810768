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

/* Has it at both points the same name, and nothing of its own changed? */
static bool is_back(const struct tree_node *node, bool has_current, bool moved)
{
	return node->state == TREE_INHERITS && has_current && !moved;
}

/* backs: is it one of those, or any other? */
static int find_node(struct tree_walk *walk, const struct tree_node *node, bool backs,
		     struct found_list *list)
{
	char path[PATH_MAX], current[PATH_MAX];

	if (!node->touched || !tree_node_path(node, path, sizeof(path)))
		return 0;
	bool has_current = node->state != TREE_ABSENT &&
			   tree_node_current(node, current, sizeof(current));
	bool moved = has_current && strcmp(path, current) != 0;
	if (is_back(node, has_current, moved) != backs)
		return 0;
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

/* What came back to its name counts where that is in another directory. */
static int find_back(struct tree_walk *walk, struct found_list *list)
{
	struct found_list backs = { .count = 0 };
	int error = 0;

	for (struct tree_node *node = walk->names.root; node && error == 0;
	     node = tree_names_next(node))
		error = find_node(walk, node, true, &backs);
	if (backs.count)
		tree_found_sort(list);
	const size_t count = list->count;
	for (size_t i = 0; i < backs.count && error == 0; i++) {
		const struct found_list sorted = { list->items, count };
		if (tree_found_is_elsewhere(&sorted, backs.items[i].node))
			error = tree_found_add(list, &backs.items[i]);
	}
	free(backs.items);
	return error;
}

int tree_found_read(struct tree_walk *walk, bool for_undo, struct found_list *ret_list)
{
	int error = 0;

	for (struct tree_node *node = walk->names.root; node && error == 0;
	     node = tree_names_next(node))
		error = find_node(walk, node, false, ret_list);
	for (struct tree_gone *gone = walk->gone; gone && error == 0; gone = gone->next)
		error = tree_found_add(ret_list,
				       &(struct found){ .path = gone->current_path, .gone = gone });
	return error == 0 && for_undo ? find_back(walk, ret_list) : error;
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

/* Was what has a name at the walk's beginning renamed to it? */
static bool was_renamed_to(const struct found_list *list, const char *path)
{
	const struct found *found = tree_found_at(list, path);
	const struct found *end = list->items + list->count;

	while (found && found < end && !found->from && strcmp(found->path, path) == 0)
		found++;
	return found && found < end && strcmp(found->path, path) == 0;
}

bool tree_found_is_elsewhere(const struct found_list *list, const struct tree_node *node)
{
	char path[PATH_MAX], current[PATH_MAX];

	if (!node->parent || !tree_node_path(node->parent, path, sizeof(path)))
		return false;
	if (tree_node_current(node->parent, current, sizeof(current)))
		return strcmp(path, current) != 0;
	for (char *slash = path + strlen(path); slash && slash != path;
	     slash = strrchr(path, '/')) {
		*slash = '\0';
		if (was_renamed_to(list, path))
			return true;
	}
	return false;
}
