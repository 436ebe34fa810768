/* What a renamed directory took along: see tree_moved.h. */
#include "cli/undo/tree_moved.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/tree_state.h"

struct moved {
	struct tree_walk *walk, *base;
	struct found_list *list;
};

static int list_directory(struct moved *moved, const char *from, const char *to);

static int add_pair(struct moved *moved, const char *from, const char *to)
{
	const char *was = tree_memory_text(moved->walk->memory, from, strlen(from));
	const char *is = tree_memory_text(moved->walk->memory, to, strlen(to));
	int error = was && is ? tree_found_add(moved->list,
					       &(struct found){ .path = is, .along_from = was })
			      : -ENOMEM;

	return error ? error
		     : tree_found_add(moved->list, &(struct found){ .path = was, .along_to = is });
}

static int list_name(struct moved *moved, const char *from, const char *to, const char *name)
{
	char from_path[PATH_MAX], to_path[PATH_MAX], current[PATH_MAX];
	struct tree_entry entry = { .exists = false };

	if (snprintf(from_path, sizeof(from_path), "%s/%s", from, name) >= (int)sizeof(from_path) ||
	    snprintf(to_path, sizeof(to_path), "%s/%s", to, name) >= (int)sizeof(to_path) ||
	    !tree_names_current(&moved->walk->names, from_path, current, sizeof(current)) ||
	    strcmp(current, to_path) != 0)
		return 0;
	const struct tree_node *node = tree_names_find(&moved->walk->names, from_path);
	if (node && node->touched)
		return 0; /* it is listed by itself */
	int error = add_pair(moved, from_path, to_path);
	if (error == 0)
		error = tree_state_of_base(moved->walk, moved->base, to_path, &entry);
	return error == 0 && entry.exists && S_ISDIR(entry.mode)
		       ? list_directory(moved, from_path, to_path)
		       : error;
}

/* What is in a directory on disk.  but: the nodes below this one are listed by their own. */
static int list_disk(struct moved *moved, const char *disk, const struct tree_node *but,
		     const char *from, const char *to)
{
	DIR *stream = opendir(disk);
	int error = 0;

	for (struct dirent *entry; stream && error == 0 && (entry = readdir(stream));) {
		const char *name = entry->d_name;
		const struct tree_node *node = but ? but->child : NULL;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		while (node && strcmp(node->name, name) != 0)
			node = node->next;
		if (!node)
			error = list_name(moved, from, to, name);
	}
	if (stream)
		(void)closedir(stream);
	return error;
}

/* All that was in the directory `to` at the end of the range. */
static int list_directory(struct moved *moved, const char *from, const char *to)
{
	struct tree_walk *base = moved->base;
	const struct tree_node *node;
	struct tree_entry entry;
	int error = tree_state_of_base(moved->walk, base, to, &entry);
	char disk[PATH_MAX];

	if (error < 0 || !entry.exists || !S_ISDIR(entry.mode))
		return error;
	if (!base)
		return list_disk(moved, to, NULL, from, to);
	node = tree_names_find(&base->names, to);
	for (const struct tree_node *child = node ? node->child : NULL; child && error == 0;
	     child = child->next)
		if (child->state == TREE_OBJECT ||
		    (child->state == TREE_INHERITS && tree_node_current(child, disk, sizeof(disk))))
			error = list_name(moved, from, to, child->name);
	if (error == 0 && tree_names_current(&base->names, to, disk, sizeof(disk)))
		error = list_disk(moved, disk, node, from, to);
	return error;
}

int tree_moved_find(struct tree_walk *walk, struct tree_walk *base, struct found_list *list)
{
	struct moved moved = { walk, base, list };
	size_t count = list->count;
	int error = 0;

	for (size_t i = 0; i < count && error == 0; i++)
		if (list->items[i].from)
			error = list_directory(&moved, list->items[i].from_path,
					       list->items[i].path);
	return error;
}
