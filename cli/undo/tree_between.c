/* What external programs changed between two records: see tree_between.h. */
#include "cli/undo/tree_between.h"

#include <errno.h>
#include <sys/stat.h>

bool tree_between_names(const struct tree_record *record)
{
	return record->path[0] == '/' && !(record->flags & (PACK_NO_NAME | PACK_CUT)) &&
	       record->kind != PACK_OPEN && record->kind != PACK_EXCLUDED &&
	       record->kind != PACK_BOUNDARY;
}

bool tree_between_two(const struct tree_record *record)
{
	return record->kind == PACK_RENAMED || record->kind == PACK_EXCHANGED ||
	       record->kind == PACK_LINKED;
}

/* A file that has one name, and is not what a writer that is not seen may change at any time. */
static bool is_comparable(const struct tree_record *record)
{
	return S_ISREG(record->before.mode) && record->before.nlink <= 1 &&
	       !(record->flags & (PACK_SHARED | PACK_MAPPED));
}

void tree_between_left(const struct tree_walk *walk, const struct tree_record *record)
{
	/* What was renamed to a name is what is left there. */
	bool arrived = record->kind == PACK_RENAMED;
	struct tree_node *node = tree_names_find(&walk->names,
						 arrived ? record->other : record->path);
	const struct pack_state *left = &record->before;
	const struct pack_state *found = node && node->found_moves == walk->moves ? node->found
										  : NULL;

	if (!node || (arrived && record->other[0] != '/'))
		return;
	node->found = NULL;
	/* Of a file that was renamed a writer may hold it open yet: only another file tells. */
	if (found && is_comparable(record) && !record->operation &&
	    (found->ino != left->ino || found->dev != left->dev ||
	     (!arrived && (found->size_bytes != left->size_bytes ||
			   found->mtime_ns != left->mtime_ns || found->ctime_ns != left->ctime_ns))))
		node->external = true;
}

int tree_between_found(struct tree_walk *walk, const struct tree_record *record)
{
	bool has_other = tree_between_two(record) && record->other[0] == '/';

	if (record->kind == PACK_OPEN || record->kind == PACK_EXCHANGED ||
	    (record->kind == PACK_RENAMED && S_ISDIR(record->before.mode))) {
		walk->moves++;
		return 0;
	}
	if (!tree_between_names(record))
		return 0;
	struct tree_node *node = tree_names_get(&walk->names, record->path);
	struct tree_node *other = has_other ? tree_names_get(&walk->names, record->other) : node;
	if (!node || !other)
		return -ENOMEM;
	other->found = NULL;
	node->found = record->kind != PACK_CREATED && is_comparable(record) ? &record->before
									    : NULL;
	node->found_moves = walk->moves;
	return 0;
}
