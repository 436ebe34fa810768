/* Items of the plan of an undo: see schedule_adjust.h. */
#include "cli/undo/schedule_adjust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/schedule_find.h"

enum { PERMISSIONS = 07777, SPECIAL = 06000 };

static struct pack_state state_of(const struct tree_entry *entry)
{
	return entry->exists ? (struct pack_state){
		.dev = entry->dev,
		.ino = entry->ino,
		.size_bytes = entry->size_bytes,
		.mtime_ns = entry->mtime_ns,
		.ctime_ns = entry->ctime_ns,
		.creation_ns = entry->creation_ns,
		.rdev = entry->rdev,
		.mode = entry->mode,
		.uid = entry->uid,
		.gid = entry->gid,
		.nlink = entry->nlink,
	} : (struct pack_state){ .mode = 0 };
}

/* Never comes back: the program may be another one now. */
static uint32_t mode_of(const struct tree_entry *wanted)
{
	return S_ISREG(wanted->mode) ? wanted->mode & ~(uint32_t)SPECIAL : wanted->mode;
}

int making_add(struct making *making, enum schedule_kind kind, const char *path, const char *other,
	       const struct tree_entry *wanted, const struct tree_entry *found)
{
	struct schedule_item *item = schedule_add(making->plan, kind, path, other,
						  wanted ? wanted->record : NULL);

	if (!item)
		return -ENOMEM;
	if (wanted) {
		item->wanted = state_of(wanted);
		item->wanted.mode = mode_of(wanted);
		item->flags = (making->options->times ? SCHEDULE_MTIME : 0) |
			      (wanted->is_freed ? SCHEDULE_FREED : 0);
	}
	if (found)
		item->found = state_of(found);
	return 0;
}

int making_add_name(struct making *making, const char *path, const struct tree_entry *wanted,
		    size_t item)
{
	struct schedule_names *names = &making->names;

	if ((names->count & (names->count - 1)) == 0) {
		size_t capacity = names->count ? 2 * names->count : 1;
		struct schedule_name *grown = reallocarray(names->names, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		names->names = grown;
	}
	names->names[names->count++] = (struct schedule_name){ path, wanted, item };
	return 0;
}

static int add_attributes(struct making *making, const char *path, const struct tree_entry *wanted)
{
	int error = 0;

	for (const struct tree_attribute *at = wanted->attributes; at && error == 0;
	     at = at->next) {
		const struct tree_attribute *older = wanted->attributes;
		while (older != at && strcmp(older->record->other, at->record->other) != 0)
			older = older->next;
		if (older != at)
			continue;
		struct schedule_item *item = schedule_add(making->plan, SCHEDULE_ATTRIBUTE, path,
							  at->record->other, at->record);
		if (!item)
			error = -ENOMEM;
		else if (at->record->flags & PACK_NO_VALUE)
			item->flags = SCHEDULE_NO_VALUE;
	}
	return error;
}

/* Mode, owner, and the time of what keeps its bytes. */
static int add_meta(struct making *making, const char *path, const struct tree_entry *wanted,
		    const struct tree_entry *found)
{
	bool directory = S_ISDIR(wanted->mode);
	bool same_inode = tree_entry_is_same_inode(wanted, found);
	bool time = wanted->mtime_ns != found->mtime_ns &&
		    (making->options->times || (same_inode && !directory));

	if (!time && ((mode_of(wanted) ^ found->mode) & PERMISSIONS) == 0 &&
	    wanted->uid == found->uid && wanted->gid == found->gid)
		return 0;
	int error = making_add(making, SCHEDULE_META, path, NULL, wanted, found);
	if (error == 0 && time)
		making->plan->items[making->plan->count - 1].flags |= SCHEDULE_MTIME;
	return error;
}

/* Does what is there have the content that is wanted, and may its metadata be changed? */
static bool keeps_bytes(const struct making *making, const struct tree_entry *wanted,
			const struct tree_entry *found, const char *disk_path)
{
	bool same_inode = tree_entry_is_same_inode(wanted, found);
	/* Another file that has other names is not to be changed. */
	bool is_apart = same_inode || (wanted->nlink <= 1 && found->nlink <= 1);

	if (S_ISDIR(wanted->mode))
		return true;
	if ((wanted->mode ^ found->mode) & S_IFMT)
		return false;
	return wanted->content == TREE_DISK || (wanted->content == TREE_KEPT && is_apart &&
						making_is_alike(making, wanted, found, disk_path));
}

int making_adjust(struct making *making, const char *path, const struct tree_entry *wanted,
		  const struct tree_entry *found, const char *disk_path)
{
	bool same_inode = tree_entry_is_same_inode(wanted, found);
	int error = add_attributes(making, path, wanted);

	if (error < 0)
		return error;
	if (keeps_bytes(making, wanted, found, disk_path)) {
		if (same_inode && wanted->nlink > 1 && !S_ISDIR(wanted->mode))
			error = making_add_name(making, path, wanted, SCHEDULE_NAME_HOLDS);
		return error ? error : add_meta(making, path, wanted, found);
	}
	bool in_place = same_inode && found->nlink > 1 && S_ISREG(wanted->mode);
	error = making_add(making, in_place ? SCHEDULE_WRITE : SCHEDULE_SWAP, path, NULL, wanted,
			   found);
	if (error == 0 && wanted->nlink > 1 && S_ISREG(wanted->mode))
		error = making_add_name(making, path, wanted,
					in_place ? SCHEDULE_NAME_HOLDS : making->plan->count - 1);
	return error;
}

int making_new(struct making *making, const char *path, const struct tree_entry *wanted)
{
	int error = add_attributes(making, path, wanted);

	if (S_ISDIR(wanted->mode)) {
		error = error ? error
			      : making_add(making, SCHEDULE_MKDIR, path, NULL, wanted, NULL);
		/* Its permissions come last: it may be read-only. */
		return error ? error : making_add(making, SCHEDULE_META, path, NULL, wanted, NULL);
	}
	error = error ? error : making_add(making, SCHEDULE_PUT, path, NULL, wanted, NULL);
	if (error == 0 && wanted->nlink > 1)
		error = making_add_name(making, path, wanted, making->plan->count - 1);
	return error;
}
