/* What external programs changed between two records: see tree_between.h. */
#include "cli/undo/tree_between.h"

#include <errno.h>
#include <sys/stat.h>

#include "cli/undo/tree_inode.h"

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

/* Content is kept once at each boundary: a writer that closed the file later, and had not to keep it, may have
 * written in between. */
static bool is_written_on(const struct tree_walk *walk, const struct tree_record *record)
{
	const struct tree_inode *inode = tree_inode_find(walk, &record->before);

	const struct tree_record *closed = inode ? inode->closed : NULL;

	/* one that had it open when a boundary was passed had it open before */
	return closed && (closed->kind == PACK_CONTENT || closed->boundary == record->boundary);
}

/* As far as stamps tell. */
static bool has_same_bytes(const struct pack_state *one, const struct pack_state *other)
{
	return one->size_bytes == other->size_bytes && one->mtime_ns == other->mtime_ns;
}

/* A file was another one when it was next found than a record left it.  That was no external program where an older
 * record tells that it was left as it was found: the later one was inspected first.  What was renamed, or had its
 * metadata set, may have been written to since: by a writer that the session had open, where the next older record of
 * the file is not that it was closed. */
static void judge_edited(const struct tree_walk *walk, const struct tree_record *record)
{
	const struct tree_node *made = record->kind == PACK_CREATED
					       ? tree_names_find(&walk->names, record->path)
					       : NULL;
	struct tree_inode *inode = made ? made->inode : tree_inode_find(walk, &record->before);

	if (!inode || !inode->edited || record->flags & PACK_UNWRITTEN)
		return;
	bool is_later = record->kind == PACK_AFTER &&
			record->before.ctime_ns > inode->edited_at->ctime_ns;
	bool as_found = is_later && has_same_bytes(&record->before, inode->edited_found);
	bool is_open = record->kind == PACK_CONTENT || record->kind == PACK_CREATED ||
		       record->flags & (PACK_SHARED | PACK_MAPPED);
	if (as_found || (is_open && inode->edited_written_on))
		inode->edited->external = inode->edited->crosses = false;
	if (as_found || !is_later)
		inode->edited = NULL;
}

/* What is at a name is external, as far as is known. */
static void mark_external(struct tree_node *node, struct tree_inode *inode,
			  const struct tree_record *left, const struct pack_state *found)
{
	if (inode && !node->external) {
		inode->edited = node;
		inode->edited_at = &left->before;
		inode->edited_found = found;
		inode->edited_written_on = left->kind == PACK_RENAMED ||
					   left->flags & PACK_UNWRITTEN;
	}
	node->external = true;
}

/* What the next later record found at the name that a record left something at; NULL: not known.  Asked once. */
static const struct pack_state *read_found(const struct tree_walk *walk, struct tree_node *node)
{
	const struct pack_state *found = node->found_moves == walk->moves ? node->found : NULL;

	node->found = NULL;
	return found;
}

void tree_between_left(const struct tree_walk *walk, const struct tree_record *record,
		       const struct pack_state **ret_edited)
{
	/* What was renamed to a name is what is left there. */
	bool arrived = record->kind == PACK_RENAMED;
	const char *path = arrived ? record->other : record->path;

	*ret_edited = NULL;
	if (record->kind == PACK_AFTER || record->kind == PACK_CONTENT ||
	    record->kind == PACK_CREATED)
		judge_edited(walk, record);
	if ((record->kind != PACK_AFTER && !arrived) || path[0] != '/')
		return;
	struct tree_node *node = tree_names_find(&walk->names, path);
	const struct pack_state *left = &record->before;
	const struct pack_state *found = node ? read_found(walk, node) : NULL;
	if (!found || !is_comparable(record))
		return;
	/* Of programs that change it at once one has inspected it before the other, and its record came later. */
	if (found->ctime_ns < left->ctime_ns)
		return;
	bool same = has_same_bytes(found, left) && (arrived || found->ctime_ns == left->ctime_ns);
	if (found->ino != left->ino || found->dev != left->dev) {
		node->external = true;
	} else if (!same && !is_written_on(walk, record)) {
		if (arrived)
			*ret_edited = found;
		else
			mark_external(node, tree_inode_find(walk, left), record, found);
	}
}

/* What is at the name that it was renamed to is external, as far as is known (judge_edited()). */
static int mark_edited(struct tree_walk *walk, const struct tree_record *record,
		       const struct pack_state *found)
{
	struct tree_node *node = tree_names_get(&walk->names, record->other);
	struct tree_inode *inode = tree_inode_find(walk, &record->before);

	if (!node)
		return -ENOMEM;
	mark_external(node, inode, record, found);
	node->crosses = node->crosses || node->touched;
	return 0;
}

static void note_closed(const struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_inode *inode = tree_inode_find(walk, &record->before);

	if (!inode || record->flags & PACK_UNWRITTEN)
		return;
	if (record->kind == PACK_AFTER || record->kind == PACK_OPEN)
		inode->closed = record;
	else if (record->kind == PACK_CONTENT)
		inode->closed = record->flags & PACK_SHARED ? record : NULL;
}

int tree_between_found(struct tree_walk *walk, const struct tree_record *record,
		       const struct pack_state *edited)
{
	bool has_other = tree_between_two(record) && record->other[0] == '/';

	note_closed(walk, record);
	if (edited && mark_edited(walk, record, edited) < 0)
		return -ENOMEM;
	if (record->kind == PACK_AFTER)
		return 0;
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
