/* Files whose state at a point is not known: see tree_unseen.h. */
#include "cli/undo/tree_unseen.h"

#include <errno.h>
#include <sys/stat.h>

#include "cli/undo/tree_inode.h"

/* The kernel's times of files lag behind the clock by a tick. */
#define GRANULE_NS INT64_C(10000000)

void tree_unseen_note(const struct tree_walk *walk, const struct tree_record *record)
{
	bool wrote = S_ISREG(record->before.mode) && !record->operation &&
		     !(record->flags & PACK_UNWRITTEN);
	struct tree_inode *inode = wrote ? tree_inode_find(walk, &record->before) : NULL;

	if (inode && !inode->unseen)
		inode->unseen = record;
}

int tree_unseen_mapped(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_inode *inode = tree_inode_get(walk, &record->before);
	struct tree_node *node = inode ? tree_names_get(&walk->names, record->path) : NULL;

	if (!node)
		return -ENOMEM;
	/* the name may be another file's by then */
	const struct tree_inode *known = node->object ? node->object->inode : node->inode;
	if (node->state == TREE_ABSENT || (known && known != inode))
		return 0;
	if (!node->object)
		node->inode = inode;
	inode->unseen = record;
	return 0;
}

/* A store to memory that is written to disk later need not set the modification time. */
static bool is_later(const struct tree_record *record, uint64_t point_ns)
{
	return record->flags & PACK_MAPPED ||
	       record->before.mtime_ns + GRANULE_NS > (int64_t)point_ns;
}

static int mark(struct tree_walk *walk, struct tree_node *node, struct tree_inode *inode)
{
	const struct tree_record *record = inode->unseen;

	if (!inode->object) {
		inode->object = tree_memory_get(walk->memory, sizeof(*inode->object));
		if (!inode->object)
			return -ENOMEM;
		inode->object->inode = inode;
		inode->object->state = record->before;
	}
	inode->object->bytes = TREE_BYTES_RECORD;
	inode->object->record = record;
	node->object = inode->object;
	node->state = TREE_OBJECT;
	node->bytes = true;
	if (!node->touched) {
		node->touched = true;
		node->records++;
		node->first_time_ns = node->last_time_ns = record->time_ns;
		node->process = record->process;
	}
	return 0;
}

int tree_unseen_mark(struct tree_walk *walk, uint64_t point_ns)
{
	int error = 0;

	for (struct tree_node *node = walk->names.root; node && error == 0;
	     node = tree_names_next(node)) {
		struct tree_inode *inode = node->state == TREE_ABSENT ? NULL
					   : node->object             ? node->object->inode
								      : node->inode;
		if (inode && inode->unseen && is_later(inode->unseen, point_ns))
			error = mark(walk, node, inode);
	}
	return error;
}
