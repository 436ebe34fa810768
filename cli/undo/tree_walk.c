/* The walk through undo records: see tree_walk.h. */
#include "cli/undo/tree_walk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/undo/tree_between.h"
#include "cli/undo/tree_inode.h"

enum { INODES_MIN = 1024 };

struct tree_walk *tree_walk_new(void)
{
	struct tree_walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->memory = tree_memory_new();
	walk->inodes = calloc(INODES_MIN, sizeof(struct tree_inode *));
	walk->inode_mask = INODES_MIN - 1;
	if (!walk->memory || !walk->inodes || tree_names_init(&walk->names, walk->memory) < 0) {
		tree_walk_free(walk);
		return NULL;
	}
	return walk;
}

void tree_walk_free(struct tree_walk *walk)
{
	if (!walk)
		return;
	tree_names_destroy(&walk->names);
	places_close(&walk->places);
	free(walk->inodes);
	tree_memory_free(walk->memory);
	free(walk);
}

/* The session left it so: unless a later record says otherwise.  Of programs that wrote and renamed it at once, one
 * has inspected it before its record came; ctime tells who saw it last. */
static void note_left(struct tree_inode *inode, const struct pack_state *state, bool is_exact)
{
	if (inode->changed || !state->ino ||
	    (inode->left && inode->left->ctime_ns >= state->ctime_ns))
		return;
	inode->left = state;
	inode->is_exact = is_exact && !inode->is_linked;
}

/* The content that a file was left with is that of a state with the same size and time. */
static void note_left_content(struct tree_inode *inode, const struct tree_record *record)
{
	const struct pack_state *left = inode->left, *state = &record->before;

	if (left && !inode->left_content && record->held == PACK_INLINE &&
	    left->size_bytes == state->size_bytes && left->mtime_ns == state->mtime_ns)
		inode->left_content = record;
}

static void note_changed(struct tree_inode *inode)
{
	inode->changed = inode->changed || !inode->left;
}

/* ---- nodes ---- */

/* Is there something by this name at the walk's point? */
static bool is_present(const struct tree_node *node)
{
	char path[PATH_MAX];

	return node->state == TREE_OBJECT ||
	       (node->state == TREE_INHERITS && tree_node_current(node, path, sizeof(path)));
}

static void touch(struct tree_walk *walk, struct tree_node *node, const struct tree_record *record)
{
	node->touched = true;
	node->records++;
	node->boundary = record->boundary;
	node->first_time_ns = record->time_ns;
	if (!node->last_time_ns) {
		node->last_time_ns = record->time_ns;
		node->process = record->process;
	}
	node->crosses = node->crosses || node->external;
	node->conflict = node->conflict || tree_inode_is_changed(walk, record);
	for (const struct tree_node *at = walk->has_other ? node : NULL; at; at = at->parent)
		node->conflict = node->conflict || at->other;
}

static struct tree_object *object_new(struct tree_walk *walk, struct tree_inode *inode)
{
	struct tree_object *object = tree_memory_get(walk->memory, sizeof(*object));

	if (object) {
		object->inode = inode;
		inode->object = object;
	}
	return object;
}

/* What there is now at its name was not there. */
static int make_absent(struct tree_walk *walk, struct tree_node *node)
{
	char path[PATH_MAX];

	if (node->state != TREE_ABSENT && tree_node_current(node, path, sizeof(path))) {
		struct tree_gone *gone = tree_memory_get(walk->memory, sizeof(*gone));
		if (!gone)
			return -ENOMEM;
		*gone = (struct tree_gone){
			.next = walk->gone,
			.current_path = tree_memory_text(walk->memory, path, strlen(path)),
			.inode = node->inode,
			.first_time_ns = node->first_time_ns,
			.last_time_ns = node->last_time_ns,
			.process = node->process,
			.records = node->records,
			.conflict = node->conflict,
			.moved = node->moved,
		};
		if (!gone->current_path)
			return -ENOMEM;
		walk->gone = gone;
	}
	node->state = TREE_ABSENT;
	node->current = TREE_CURRENT_NONE;
	node->object = NULL;
	node->inode = NULL;
	node->bytes = true;
	return 0;
}

/* What it is now stays known when it gets another name. */
static int pin_current(struct tree_walk *walk, struct tree_node *node)
{
	char path[PATH_MAX];

	if (node->current != TREE_CURRENT_BELOW)
		return 0;
	if (!tree_node_current(node, path, sizeof(path))) {
		node->current = TREE_CURRENT_NONE;
		return 0;
	}
	node->current = TREE_CURRENT_AT;
	node->current_path = tree_memory_text(walk->memory, path, strlen(path));
	return node->current_path ? 0 : -ENOMEM;
}

/* ---- kinds ---- */

/* The object of a record's state. */
static struct tree_object *object_of(struct tree_walk *walk, struct tree_node *node,
				     const struct pack_state *state)
{
	struct tree_inode *inode = tree_inode_get(walk, state);

	if (!inode)
		return NULL;
	struct tree_object *object = inode->object ? inode->object : object_new(walk, inode);
	if (!object)
		return NULL;
	if (!node->inode && node->state == TREE_INHERITS)
		node->inode = inode;
	node->object = object;
	return object;
}

static bool is_held(const struct tree_record *record)
{
	return record->held == PACK_INLINE || record->held == PACK_LINK ||
	       record->held == PACK_REFLINK || record->held == PACK_COPY;
}

/* The state that a record tells, with the bytes that it holds; or with those that a later one holds,
 * where they were not changed in between. */
static void set_bytes(struct tree_object *object, const struct tree_record *record)
{
	bool same = object->record && object->bytes == TREE_BYTES_RECORD &&
		    object->state.size_bytes == record->before.size_bytes &&
		    object->state.mtime_ns == record->before.mtime_ns;

	/* a hard link that was made first may have been written to by the time of the later record */
	bool is_later_better = same && record->held == PACK_LINK && is_held(object->record);

	object->state = record->before;
	object->bytes = TREE_BYTES_RECORD;
	object->inode->unseen = NULL;
	if (!same || (is_held(record) && !is_later_better))
		object->record = record;
}

static int back_removed(struct tree_walk *walk, struct tree_node *node,
			const struct tree_record *record)
{
	const struct pack_state *state = &record->before;
	const struct tree_inode *was = node->object  ? node->object->inode
				       : node->inode ? node->inode
						     : NULL;
	bool same = node->state != TREE_ABSENT && was && was->ino == state->ino &&
		    was->dev == state->dev;
	/* A hard link keeps the number: what came later was written to this file by an open descriptor. */
	bool last_name = (state->mode & S_IFMT) == S_IFDIR ||
			 (state->nlink <= 1 && record->held != PACK_LINK);
	/* Or by its creation it is one that was still open, and that a later record is about. */
	const struct tree_inode *known = state->creation_ns ? tree_inode_find(walk, state) : NULL;
	bool is_known = known && known->creation_ns == state->creation_ns;
	struct tree_object *object = NULL;

	if (!same && last_name && !is_known) {
		struct tree_inode *inode = tree_inode_new(walk, state);
		object = inode ? object_new(walk, inode) : NULL;
		node->object = object;
	} else {
		object = object_of(walk, node, state);
	}
	if (!object)
		return -ENOMEM;
	if (!same) /* else the call was not made: the thing is there yet */
		node->current = TREE_CURRENT_NONE;
	set_bytes(object, record);
	node->state = TREE_OBJECT;
	node->bytes = true;
	return 0;
}

static int back_content(struct tree_walk *walk, struct tree_node *node,
			const struct tree_record *record)
{
	struct tree_object *object = object_of(walk, node, &record->before);

	if (!object)
		return -ENOMEM;
	if (!record->failed)
		note_changed(object->inode);
	set_bytes(object, record);
	node->state = TREE_OBJECT;
	node->bytes = true;
	return 0;
}

static int set_attribute(struct tree_walk *walk, struct tree_object *object,
			 const struct tree_record *record)
{
	struct tree_attribute *attribute = tree_memory_get(walk->memory, sizeof(*attribute));

	if (!attribute)
		return -ENOMEM;
	/* The older one comes first in the list, and counts. */
	*attribute = (struct tree_attribute){ .next = object->attributes, .record = record };
	object->attributes = attribute;
	return 0;
}

static int back_metadata(struct tree_walk *walk, struct tree_node *node,
			 const struct tree_record *record)
{
	bool was_absent = node->state == TREE_ABSENT;
	bool is_removed = node->state == TREE_OBJECT && node->current == TREE_CURRENT_NONE;

	if ((record->flags & PACK_GOING) && !is_removed)
		return 0; /* it was not removed */
	struct tree_object *object = object_of(walk, node, &record->before);

	if (!object)
		return -ENOMEM;
	if (node->state != TREE_OBJECT && was_absent) {
		object->bytes = TREE_BYTES_RECORD;
		object->record = record;
	}
	if (record->flags & PACK_GOING)
		return set_attribute(walk, object, record);
	object->inode->unseen = NULL; /* what this record's AFTER has is its own time */
	note_changed(object->inode);
	object->state = record->before;
	node->state = TREE_OBJECT;
	node->metadata |= 1U << record->what;
	if (record->what == PACK_ATTRIBUTE || record->what == PACK_NO_ATTRIBUTE)
		return set_attribute(walk, object, record);
	return 0;
}

/* Which file has the name that was made.  NULL: no memory. */
static struct tree_inode *note_linked(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_node *made = tree_names_get(&walk->names, record->other);
	struct tree_inode *inode = made ? tree_inode_get(walk, &record->before) : NULL;

	if (!inode)
		return NULL;
	if (record->operation) { /* an undo may have linked what an external program had edited by then */
		inode->is_linked = true;
		made->anew = inode;
	} else {
		note_left(inode, &record->before, false);
	}
	if (!made->inode && made->state == TREE_INHERITS)
		made->inode = inode;
	return inode;
}

static int back_linked(struct tree_walk *walk, struct tree_node *node,
		       const struct tree_record *record)
{
	struct tree_inode *inode = note_linked(walk, record);
	struct tree_node *made = inode ? tree_names_find(&walk->names, record->other) : NULL;

	if (!made)
		return -ENOMEM;
	touch(walk, made, record);
	int error = make_absent(walk, made);
	if (inode->object)
		inode->object->state.nlink = record->before.nlink;
	bool written = inode->object && (inode->object->bytes == TREE_BYTES_CURRENT ||
					 is_held(inode->object->record));
	if (error == 0 && written && node->state == TREE_INHERITS) {
		/* What was written by the other name is written here. */
		touch(walk, node, record);
		node->conflict = node->conflict || inode->other;
		node->state = TREE_OBJECT;
		node->object = inode->object;
		node->inode = node->inode ? node->inode : inode;
		node->bytes = node->bytes || inode->object->bytes == TREE_BYTES_RECORD;
	}
	return error;
}

/* Is the one path below the other? */
static bool is_below(const char *path, const char *above)
{
	size_t length = strlen(above);

	return strncmp(path, above, length) == 0 && (path[length] == '/' || !path[length]);
}

/* The name that something was renamed to was free before, as far as this record goes. */
static int leave_free(struct tree_walk *walk, const struct tree_node *was, bool was_taken,
		      const struct tree_record *record)
{
	struct tree_node *node = tree_names_get(&walk->names, record->other);

	if (!node)
		return -ENOMEM;
	/* What external programs changed behind this point is a matter of the name, and so is what later steps did. */
	node->external = was->external;
	node->taken = was_taken;
	node->state = TREE_ABSENT;
	node->current = TREE_CURRENT_NONE;
	node->bytes = true;
	touch(walk, node, record);
	return 0;
}

/* What has the old name behind a rename was made since.  Of one boundary it is the session's: of programs that make and
 * rename it at once one has found a file there, and its call made another one. */
static int detach_old(struct tree_walk *walk, const struct tree_record *record,
		      struct tree_node *renamed)
{
	struct tree_node *node = tree_names_find(&walk->names, record->path);
	bool is_made = node && record->boundary && node->boundary == record->boundary &&
		       is_present(node);
	int error = is_made ? make_absent(walk, node) : 0;

	renamed->taken = node && (node->other || node->taken);
	if (node)
		tree_names_detach(&walk->names, node);
	return error;
}

static int back_renamed(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_node *to = tree_names_get(&walk->names, record->other);

	if (!to)
		return -ENOMEM;
	if (is_below(record->path, record->other) || is_below(record->other, record->path) ||
	    !is_present(to))
		return 0; /* its process was killed before the call */
	if (!to->inode) {
		to->inode = tree_inode_get(walk, &record->before);
		if (!to->inode)
			return -ENOMEM;
		note_left(to->inode, &record->before, false);
	}
	bool was_taken = to->taken;
	int error = pin_current(walk, to);
	if (error == 0)
		error = detach_old(walk, record, to);
	if (error == 0) {
		tree_names_detach(&walk->names, to);
		error = tree_names_attach(&walk->names, to, record->path);
	}
	if (error == 0) {
		to->bytes = to->moved = true;
		touch(walk, to, record);
		error = leave_free(walk, to, was_taken, record);
	}
	return error;
}

static int back_exchanged(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_node *one = tree_names_get(&walk->names, record->path);
	struct tree_node *two = tree_names_get(&walk->names, record->other);

	if (!one || !two)
		return -ENOMEM;
	if (is_below(record->path, record->other) || is_below(record->other, record->path))
		return 0;
	int error = pin_current(walk, one);
	if (error == 0)
		error = pin_current(walk, two);
	if (error < 0)
		return error;
	/* What is by the other name now was by this one. */
	if (!two->inode && two->state == TREE_INHERITS) {
		two->inode = tree_inode_get(walk, &record->before);
		if (two->inode)
			note_left(two->inode, &record->before, false);
	}
	tree_names_detach(&walk->names, one);
	tree_names_detach(&walk->names, two);
	error = tree_names_attach(&walk->names, one, record->other);
	if (error == 0)
		error = tree_names_attach(&walk->names, two, record->path);
	one->bytes = two->bytes = true;
	one->moved = two->moved = true;
	touch(walk, one, record);
	touch(walk, two, record);
	return error;
}

static int note_after(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_inode *inode = tree_inode_get(walk, &record->before);
	struct tree_node *node = inode ? tree_names_get(&walk->names, record->path) : NULL;

	if (!node)
		return -ENOMEM;
	if (record->flags & (PACK_SHARED | PACK_MAPPED))
		note_changed(inode); /* what goes on writing to it is not seen */
	else
		note_left(inode, &record->before, true);
	note_left_content(inode, record);
	node->anew = record->operation ? inode : node->anew;
	node->boundary = record->boundary;
	/* Of two that had a file of this name open at once, one may have inspected another one earlier. */
	if (node->state == TREE_INHERITS &&
	    (!node->inode || (node->after_ns && node->after_ns < record->before.ctime_ns))) {
		node->inode = inode;
		node->after_ns = record->before.ctime_ns;
	}
	return 0;
}

/* A descriptor or mapping was left open: what it writes is taken for the session's. */
static int note_open(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_inode *inode = record->before.ino ? tree_inode_get(walk, &record->before)
						      : NULL;

	if (inode)
		note_changed(inode);
	return inode || !record->before.ino ? 0 : -ENOMEM;
}

/* A file that lost the name by which it was opened.  It has others, which share what it was. */
static int back_nameless(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_inode *inode = tree_inode_get(walk, &record->before);

	if (!inode)
		return -ENOMEM;
	if (record->kind == PACK_AFTER && !(record->flags & (PACK_SHARED | PACK_MAPPED)))
		note_left(inode, &record->before, true);
	else
		note_changed(inode);
	if (record->kind != PACK_CONTENT && record->kind != PACK_METADATA)
		return 0;
	struct tree_object *object = inode->object ? inode->object : object_new(walk, inode);
	if (!object)
		return -ENOMEM;
	if (record->kind == PACK_CONTENT)
		set_bytes(object, record);
	object->state = record->before;
	return 0;
}

/* ---- the walk ---- */

static int back_one(struct tree_walk *walk, const struct tree_record *record)
{
	struct tree_node *node = tree_names_get(&walk->names, record->path);

	if (!node)
		return -ENOMEM;
	if (record->kind == PACK_LINKED)
		return back_linked(walk, node, record);
	if (record->failed && record->operation) { /* an undo took nothing away, or put it back */
		node->moved = true;
		return 0;
	}
	touch(walk, node, record);
	if (record->failed && record->held == PACK_LINK) { /* made and dropped: that set ctime */
		node->moved = true;
		return 0;
	}
	if (record->failed) /* what was kept for it is the only copy until the next boundary */
		return back_content(walk, node, record);
	switch (record->kind) {
	case PACK_REMOVED:
	case PACK_REPLACED:
		return back_removed(walk, node, record);
	case PACK_CREATED:
		return make_absent(walk, node);
	case PACK_CONTENT:
		return back_content(walk, node, record);
	case PACK_METADATA:
		return back_metadata(walk, node, record);
	default:
		return 0;
	}
}

static int back(struct tree_walk *walk, const struct tree_record *record)
{
	walk->records++;
	if (record->kind == PACK_OPEN)
		return note_open(walk, record);
	if (record->flags & PACK_NO_NAME)
		return back_nameless(walk, record);
	if (!tree_between_names(record) || (tree_between_two(record) && record->other[0] != '/'))
		return 0;
	if (record->kind == PACK_AFTER)
		return note_after(walk, record);
	if (record->kind == PACK_RENAMED)
		return back_renamed(walk, record);
	if (record->kind == PACK_EXCHANGED)
		return back_exchanged(walk, record);
	return back_one(walk, record);
}

static int pass(struct tree_walk *walk, const struct tree_record *record, bool conflicts)
{
	walk->records++;
	if (conflicts && tree_inode_note_change(walk, record) < 0)
		return -ENOMEM;
	if (record->kind == PACK_OPEN)
		return note_open(walk, record);
	if ((record->flags & PACK_NO_NAME) && record->kind == PACK_AFTER)
		return back_nameless(walk, record);
	if (!tree_between_names(record))
		return 0;
	if (record->kind == PACK_AFTER)
		return note_after(walk, record);
	if (record->kind == PACK_LINKED && record->operation && !record->failed &&
	    !note_linked(walk, record))
		return -ENOMEM;
	if (tree_inode_note_anew(walk, record) < 0)
		return -ENOMEM;
	if (!conflicts || record->failed)
		return 0;
	walk->has_other = true;
	struct tree_node *node = tree_names_get(&walk->names, record->path);
	struct tree_node *other = tree_between_two(record) && record->other[0] == '/'
					  ? tree_names_get(&walk->names, record->other)
					  : node;
	if (!node || !other)
		return -ENOMEM;
	node->other = other->other = true;
	return 0;
}

int tree_walk_back(struct tree_walk *walk, const struct tree_record *record)
{
	const struct pack_state *edited;

	tree_between_left(walk, record, &edited);
	int error = back(walk, record);
	return error ? error : tree_between_found(walk, record, edited);
}

int tree_walk_pass(struct tree_walk *walk, const struct tree_record *record, bool conflicts)
{
	const struct pack_state *edited;

	tree_between_left(walk, record, &edited);
	int error = pass(walk, record, conflicts);
	return error ? error : tree_between_found(walk, record, edited);
}
