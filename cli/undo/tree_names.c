/* A tree of names at a point of the past: see tree_names.h. */
#include "cli/undo/tree_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TABLE_SIZE_MIN = 1024 };

int tree_names_init(struct tree_names *names, struct tree_memory *memory)
{
	*names = (struct tree_names){
		.memory = memory,
		.root = tree_memory_get(memory, sizeof(struct tree_node)),
		.table = calloc(TABLE_SIZE_MIN, sizeof(struct tree_node *)),
		.mask = TABLE_SIZE_MIN - 1,
	};
	if (!names->root || !names->table)
		return -ENOMEM;
	names->root->name = "";
	return 0;
}

void tree_names_destroy(struct tree_names *names)
{
	free(names->table);
	names->table = NULL;
}

static uint64_t hash_of(const struct tree_node *parent, const char *name, size_t length)
{
	return XXH3_64bits_withSeed(name, length, (uint64_t)(uintptr_t)parent);
}

static struct tree_node *child_of(const struct tree_names *names, const struct tree_node *parent,
				  const char *name, size_t length)
{
	uint64_t hash = hash_of(parent, name, length);
	struct tree_node *node = names->table[hash & names->mask];

	while (node && (node->hash != hash || node->parent != parent ||
			strncmp(node->name, name, length) != 0 || node->name[length]))
		node = node->chain;
	return node;
}

static void grow(struct tree_names *names)
{
	size_t size = 2 * (names->mask + 1);
	struct tree_node **table = calloc(size, sizeof(struct tree_node *));

	if (!table)
		return; /* it gets slower */
	for (size_t i = 0; i <= names->mask; i++) {
		for (struct tree_node *node = names->table[i], *chain; node; node = chain) {
			chain = node->chain;
			node->chain = table[node->hash & (size - 1)];
			table[node->hash & (size - 1)] = node;
		}
	}
	free(names->table);
	names->table = table;
	names->mask = size - 1;
}

/* Puts a node with a name below a parent. */
static void insert(struct tree_names *names, struct tree_node *node, struct tree_node *parent)
{
	node->hash = hash_of(parent, node->name, strlen(node->name));
	node->parent = parent;
	node->previous = NULL;
	node->next = parent->child;
	if (node->next)
		node->next->previous = node;
	parent->child = node;
	struct tree_node **at = &names->table[node->hash & names->mask];
	node->chain = *at;
	*at = node;
	if (++names->count > names->mask)
		grow(names);
}

/* The next name of a path, and where it goes on. */
static size_t component(const char **at)
{
	while (**at == '/')
		(*at)++;
	return strcspn(*at, "/");
}

struct tree_node *tree_names_nearest(const struct tree_names *names, const char *path,
				     const char **ret_rest)
{
	struct tree_node *node = names->root;

	for (size_t length; (length = component(&path)) > 0; path += length) {
		struct tree_node *child = child_of(names, node, path, length);
		if (!child)
			break;
		node = child;
	}
	*ret_rest = path;
	return node;
}

struct tree_node *tree_names_find(const struct tree_names *names, const char *path)
{
	const char *rest;
	struct tree_node *node = tree_names_nearest(names, path, &rest);

	return *rest ? NULL : node;
}

static struct tree_node *get(struct tree_names *names, const char *path, size_t end)
{
	const char *rest;
	struct tree_node *node = tree_names_nearest(names, path, &rest);

	for (size_t length; (length = component(&rest)) > 0; rest += length) {
		if ((size_t)(rest - path) >= end)
			break;
		struct tree_node *child = tree_memory_get(names->memory, sizeof(*child));
		char *name = child ? tree_memory_text(names->memory, rest, length) : NULL;
		if (!name)
			return NULL;
		child->name = name;
		insert(names, child, node);
		node = child;
	}
	return node;
}

struct tree_node *tree_names_get(struct tree_names *names, const char *path)
{
	return get(names, path, strlen(path));
}

void tree_names_detach(struct tree_names *names, struct tree_node *node)
{
	struct tree_node **at = &names->table[node->hash & names->mask];

	while (*at != node)
		at = &(*at)->chain;
	*at = node->chain;
	names->count--;
	if (node->previous)
		node->previous->next = node->next;
	else
		node->parent->child = node->next;
	if (node->next)
		node->next->previous = node->previous;
	node->parent = node->next = node->previous = NULL;
}

int tree_names_attach(struct tree_names *names, struct tree_node *node, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct tree_node *parent = get(names, path, (size_t)(slash - path));
	char *name = tree_memory_text(names->memory, slash + 1, strlen(slash + 1));

	if (!parent || !name)
		return -ENOMEM;
	node->name = name;
	insert(names, node, parent);
	return 0;
}

/* Writes a path from its end on. */
struct writer {
	char *start, *at;
};

static bool write_name(struct writer *writer, const char *name, bool slash)
{
	size_t length = strlen(name);

	if ((size_t)(writer->at - writer->start) < length + slash)
		return false;
	writer->at -= length;
	memcpy(writer->at, name, length);
	if (slash)
		*--writer->at = '/';
	return true;
}

static bool finish(const struct writer *writer, char *path, size_t capacity)
{
	size_t size = (size_t)(path + capacity - writer->at);

	memmove(path, writer->at, size);
	if (size == 1 && capacity > 1)
		memcpy(path, "/", 2);
	return true;
}

bool tree_node_path(const struct tree_node *node, char *ret_path, size_t capacity)
{
	struct writer writer = { ret_path, ret_path + capacity - 1 };

	*writer.at = '\0';
	for (; node->parent; node = node->parent)
		if (!write_name(&writer, node->name, true))
			return false;
	return finish(&writer, ret_path, capacity);
}

bool tree_node_current(const struct tree_node *node, char *ret_path, size_t capacity)
{
	struct writer writer = { ret_path, ret_path + capacity - 1 };

	*writer.at = '\0';
	for (; node->parent && node->current == TREE_CURRENT_BELOW; node = node->parent)
		if (!write_name(&writer, node->name, true))
			return false;
	if (node->current == TREE_CURRENT_NONE ||
	    (node->current == TREE_CURRENT_AT && !write_name(&writer, node->current_path, false)))
		return false;
	return finish(&writer, ret_path, capacity);
}

bool tree_names_current(const struct tree_names *names, const char *path, char *ret_path,
			size_t capacity)
{
	const char *rest;
	const struct tree_node *node = tree_names_nearest(names, path, &rest);

	if (node->state == TREE_ABSENT || !tree_node_current(node, ret_path, capacity))
		return false;
	size_t length = strlen(ret_path), size = strlen(rest) + 1;
	if (!*rest)
		return true;
	if (length > 0 && ret_path[length - 1] == '/')
		length--;
	if (length + 1 + size > capacity)
		return false;
	ret_path[length] = '/';
	memcpy(ret_path + length + 1, rest, size);
	return true;
}

struct tree_node *tree_names_next(const struct tree_node *node)
{
	if (node->child)
		return node->child;
	while (node && !node->next)
		node = node->parent;
	return node ? node->next : NULL;
}
