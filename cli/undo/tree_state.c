/* What was by a name at the point that a walk has reached: see tree_state.h. */
#include "cli/undo/tree_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/tree_inode.h"

static enum tree_lost lost_of(const struct tree_record *record)
{
	static const enum tree_lost LOST[PACK_REASON_COUNT] = {
		[PACK_NO_REASON] = TREE_MISSING,     [PACK_REBUILDABLE] = TREE_REBUILDABLE,
		[PACK_TOO_LARGE] = TREE_TOO_LARGE,   [PACK_NO_ROOM] = TREE_NO_ROOM,
		[PACK_UNREADABLE] = TREE_UNREADABLE, [PACK_OTHER_DEVICE] = TREE_OTHER_DEVICE,
		[PACK_NO_FILE] = TREE_NO_FILE,       [PACK_UNKNOWN] = TREE_FAILED,
	};

	return record->kind == PACK_AFTER           ? TREE_OPEN
	       : record->held == PACK_EARLIER       ? TREE_BETWEEN
	       : record->reason < PACK_REASON_COUNT ? LOST[record->reason]
						    : TREE_FAILED;
}

static bool has_bytes(uint32_t mode)
{
	return (mode & S_IFMT) == S_IFREG || (mode & S_IFMT) == S_IFLNK;
}

static void set_state(struct tree_entry *entry, const struct pack_state *state)
{
	entry->exists = true;
	entry->known = true;
	entry->mode = state->mode;
	entry->uid = state->uid;
	entry->gid = state->gid;
	entry->nlink = state->nlink;
	entry->dev = state->dev;
	entry->ino = state->ino;
	entry->rdev = state->rdev;
	entry->size_bytes = state->size_bytes;
	entry->mtime_ns = state->mtime_ns;
	entry->ctime_ns = state->ctime_ns;
	entry->creation_ns = state->creation_ns;
}

/* What has a name below a symbolic link is another thing, which has a name of its own. */
static int entry_of_disk(struct tree_walk *walk, const char *path, struct tree_entry *ret_entry)
{
	struct pack_state state = { .mode = 0 };
	int error = walk->places.root > 0 ? 0 : places_open(&walk->places);

	if (error < 0)
		return error;
	error = place_state(&walk->places, path, &state);
	*ret_entry = (struct tree_entry){ .known = true };
	if (error < 0) {
		ret_entry->known = error == -ENOENT || error == -ENOTDIR || error == -ELOOP;
		ret_entry->lost = ret_entry->known ? TREE_NOT_LOST : TREE_UNREADABLE;
		return 0;
	}
	set_state(ret_entry, &state);
	if (!has_bytes(state.mode))
		return 0;
	ret_entry->content = TREE_DISK;
	ret_entry->disk_path = tree_memory_text(walk->memory, path, strlen(path));
	return ret_entry->disk_path ? 0 : -ENOMEM;
}

int tree_state_of_base(struct tree_walk *walk, struct tree_walk *base, const char *path,
		       struct tree_entry *ret_entry)
{
	return base ? tree_state_at(base, NULL, path, ret_entry)
		    : entry_of_disk(walk, path, ret_entry);
}

static void set_content(struct tree_entry *entry, const struct tree_record *record)
{
	/* an AFTER record stands for what is not known (tree_unseen.h) */
	bool held = record->kind != PACK_AFTER &&
		    (record->held == PACK_INLINE || record->held == PACK_LINK ||
		     record->held == PACK_REFLINK || record->held == PACK_COPY);

	entry->disk_path = NULL;
	entry->record = NULL;
	entry->content = TREE_NO_CONTENT;
	if (!has_bytes(entry->mode))
		return;
	entry->content = held ? TREE_KEPT : TREE_LOST;
	entry->lost = held ? TREE_NOT_LOST : lost_of(record);
	entry->record = held ? record : NULL;
	if (held)
		entry->version = record->version;
}

/* Of a file with several names the walk may know by another one what became of it.  It was there all
 * the time, so that its number was no other file's. */
static void follow_inode(const struct tree_walk *walk, struct tree_entry *entry)
{
	const struct pack_state state = { .dev = entry->dev, .ino = entry->ino };
	const struct tree_inode *inode = entry->exists && S_ISREG(entry->mode)
						 ? tree_inode_find(walk, &state)
						 : NULL;

	if (!inode || !inode->object)
		return;
	set_state(entry, &inode->object->state);
	if (inode->object->bytes == TREE_BYTES_RECORD)
		set_content(entry, inode->object->record);
}

int tree_state_of_node(struct tree_walk *walk, struct tree_walk *base, const struct tree_node *node,
		       struct tree_entry *ret_entry)
{
	char path[PATH_MAX];
	const struct tree_object *object = node->object;
	bool has_current = node->state != TREE_ABSENT &&
			   tree_node_current(node, path, sizeof(path));
	bool needs_base = node->state == TREE_INHERITS ||
			  (node->state == TREE_OBJECT && object->bytes == TREE_BYTES_CURRENT);
	int error = 0;

	*ret_entry = (struct tree_entry){ .known = true };
	if (needs_base && has_current)
		error = tree_state_of_base(walk, base, path, ret_entry);
	if (error == 0 && node->state == TREE_INHERITS)
		follow_inode(walk, ret_entry);
	if (error < 0 || node->state != TREE_OBJECT)
		return error;
	bool was_there = ret_entry->exists;
	set_state(ret_entry, &object->state);
	ret_entry->is_freed = !has_current && object->state.nlink <= 1;
	ret_entry->attributes = object->attributes;
	if (object->bytes == TREE_BYTES_RECORD) {
		set_content(ret_entry, object->record);
	} else if (!was_there && has_bytes(object->state.mode)) {
		ret_entry->content = TREE_LOST;
		ret_entry->lost = TREE_GONE;
	}
	return 0;
}

int tree_state_at(struct tree_walk *walk, struct tree_walk *base, const char *path,
		  struct tree_entry *ret_entry)
{
	char current[PATH_MAX];
	const char *rest;
	const struct tree_node *node = tree_names_nearest(&walk->names, path, &rest);

	if (!*rest)
		return tree_state_of_node(walk, base, node, ret_entry);
	*ret_entry = (struct tree_entry){ .known = true };
	if (!tree_names_current(&walk->names, path, current, sizeof(current)))
		return 0;
	int error = tree_state_of_base(walk, base, current, ret_entry);
	if (error == 0)
		follow_inode(walk, ret_entry);
	return error;
}
