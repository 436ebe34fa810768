/* Contents held as hard links: see tree_linked.h. */
#include "cli/undo/tree_linked.h"

#include <errno.h>
#include <stdlib.h>

/* Links to one inode. */
struct linked {
	uint64_t dev, ino;
	size_t first, end; /* of the list: those whose bytes are the inode's */
	bool retimed;      /* its time was set: the next record tells it */
};

struct following {
	struct tree_record **links; /* by inode, then in their order */
	struct linked *inodes;
	size_t link_count, inode_count;
};

static int by_inode(const void *a, const void *b)
{
	const struct tree_record *left = *(struct tree_record *const *)a;
	const struct tree_record *right = *(struct tree_record *const *)b;

	if (left->before.dev != right->before.dev)
		return left->before.dev < right->before.dev ? -1 : 1;
	if (left->before.ino != right->before.ino)
		return left->before.ino < right->before.ino ? -1 : 1;
	return (left > right) - (left < right);
}

static int of_inode(const void *state, const void *linked)
{
	const struct pack_state *key = state;
	const struct linked *item = linked;

	if (key->dev != item->dev)
		return key->dev < item->dev ? -1 : 1;
	return (key->ino > item->ino) - (key->ino < item->ino);
}

static int collect(struct tree_records *records, struct following *following)
{
	for (size_t i = 0; i < records->count; i++)
		following->link_count += records->records[i].held == PACK_LINK;
	if (!following->link_count)
		return 0;
	following->links = calloc(following->link_count, sizeof(*following->links));
	following->inodes = calloc(following->link_count, sizeof(*following->inodes));
	if (!following->links || !following->inodes)
		return -ENOMEM;
	size_t count = 0;
	for (size_t i = 0; i < records->count; i++)
		if (records->records[i].held == PACK_LINK)
			following->links[count++] = &records->records[i];
	qsort(following->links, count, sizeof(*following->links), by_inode);
	for (size_t i = 0; i < count; i++) {
		const struct pack_state *state = &following->links[i]->before;
		struct linked *last = &following->inodes[following->inode_count];
		if (following->inode_count && last[-1].dev == state->dev &&
		    last[-1].ino == state->ino)
			continue;
		*last = (struct linked){
			.dev = state->dev, .ino = state->ino, .first = i, .end = i
		};
		following->inode_count++;
	}
	return 0;
}

/* Where a later record has the bytes that a file was linked with. */
static void note_content(struct tree_record *link, const struct tree_record *record)
{
	bool is_held = record->held == PACK_INLINE || record->held == PACK_REFLINK ||
		       record->held == PACK_COPY;

	if (record->kind == PACK_CONTENT && is_held &&
	    record->before.size_bytes == link->before.size_bytes &&
	    record->before.mtime_ns == link->linked_mtime_ns)
		link->linked_content = record;
}

static void follow(struct following *following, struct tree_record *record)
{
	struct linked *linked = bsearch(&record->before, following->inodes, following->inode_count,
					sizeof(*linked), of_inode);

	if (!linked || record->failed)
		return;
	for (size_t i = linked->first; linked->retimed && i < linked->end; i++)
		following->links[i]->linked_mtime_ns = record->before.mtime_ns;
	linked->retimed = record->kind == PACK_METADATA && record->what == PACK_TIMES;
	if (record->kind == PACK_CONTENT || record->kind == PACK_OPEN) {
		for (size_t i = linked->first; i < linked->end; i++)
			note_content(following->links[i], record);
		linked->first = linked->end; /* their bytes are not the inode's any more */
	}
	if (linked->end < following->link_count && following->links[linked->end] == record)
		linked->end++;
}

int tree_linked_follow(struct tree_records *records)
{
	struct following following = { .links = NULL };
	int error = collect(records, &following);

	for (size_t i = 0; i < records->count && following.inode_count && error == 0; i++)
		follow(&following, &records->records[i]);
	free(following.links);
	free(following.inodes);
	return error;
}
