/* The inodes of a walk: see tree_inode.h. */
#include "cli/undo/tree_inode.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static uint64_t inode_hash(uint64_t dev, uint64_t ino)
{
	return (ino * UINT64_C(0x9e3779b97f4a7c15) ^ dev) >> 16;
}

static void grow(struct tree_walk *walk)
{
	size_t size = 2 * (walk->inode_mask + 1);
	struct tree_inode **table = calloc(size, sizeof(struct tree_inode *));

	if (!table)
		return; /* it gets slower */
	for (size_t i = 0; i <= walk->inode_mask; i++) {
		struct tree_inode *list = NULL, *inode, *next;
		/* The youngest stays before others of its number: the list is turned round twice. */
		for (inode = walk->inodes[i]; inode; inode = next) {
			next = inode->next;
			inode->next = list;
			list = inode;
		}
		for (inode = list; inode; inode = next) {
			next = inode->next;
			struct tree_inode **at =
				&table[inode_hash(inode->dev, inode->ino) & (size - 1)];
			inode->next = *at;
			*at = inode;
		}
	}
	free(walk->inodes);
	walk->inodes = table;
	walk->inode_mask = size - 1;
}

struct tree_inode *tree_inode_new(struct tree_walk *walk, const struct pack_state *state)
{
	struct tree_inode *inode = tree_memory_get(walk->memory, sizeof(*inode));

	if (!inode)
		return NULL;
	inode->dev = state->dev;
	inode->ino = state->ino;
	inode->creation_ns = state->creation_ns;
	if (!state->ino)
		return inode; /* not known: nothing else is the same */
	struct tree_inode **at =
		&walk->inodes[inode_hash(state->dev, state->ino) & walk->inode_mask];
	inode->next = *at;
	*at = inode;
	if (++walk->inode_count > walk->inode_mask)
		grow(walk);
	return inode;
}

struct tree_inode *tree_inode_find(const struct tree_walk *walk, const struct pack_state *state)
{
	struct tree_inode *inode =
		state->ino ? walk->inodes[inode_hash(state->dev, state->ino) & walk->inode_mask]
			   : NULL;

	while (inode && (inode->ino != state->ino || inode->dev != state->dev ||
			 (inode->creation_ns && state->creation_ns &&
			  inode->creation_ns != state->creation_ns)))
		inode = inode->next;
	return inode;
}

struct tree_inode *tree_inode_get(struct tree_walk *walk, const struct pack_state *state)
{
	struct tree_inode *inode = tree_inode_find(walk, state);

	return inode ? inode : tree_inode_new(walk, state);
}

/* What is removed by one of its names is as it was by the others. */
static bool is_change(const struct tree_record *record)
{
	return !record->failed && !(record->flags & PACK_GOING) &&
	       (record->kind == PACK_CONTENT || record->kind == PACK_METADATA);
}

int tree_inode_note_change(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_inode *inode = is_change(record) ? tree_inode_get(walk, &record->before) : NULL;

	walk->has_other = walk->has_other || inode;
	for (struct tree_inode *at = inode; at && !at->other; at = at->later)
		at->other = true;
	return inode || !is_change(record) ? 0 : -ENOMEM;
}

int tree_inode_note_anew(struct tree_walk *walk, const struct tree_record *record)
{
	bool is_taken = record->operation && !record->failed &&
			(record->kind == PACK_REMOVED || record->kind == PACK_REPLACED);
	struct tree_node *node = is_taken ? tree_names_find(&walk->names, record->path) : NULL;

	if (!node || !node->anew)
		return 0;
	struct tree_inode *inode = tree_inode_get(walk, &record->before);
	if (!inode)
		return -ENOMEM;
	inode->other = inode->other || node->anew->other;
	inode->later = node->anew;
	node->anew = NULL;
	return 0;
}

bool tree_inode_is_changed(const struct tree_walk *walk, const struct tree_record *record)
{
	/* One name may have become several since: where nothing but its number tells that it is the same file, it may be
	 * another one. */
	bool has_names = record->before.nlink > 1 || record->before.creation_ns;

	if (!walk->has_other || !has_names || S_ISDIR(record->before.mode) || !is_change(record))
		return false;
	const struct tree_inode *inode = tree_inode_find(walk, &record->before);
	return inode && inode->other;
}
