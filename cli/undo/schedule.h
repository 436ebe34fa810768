/*
 * The plan of an undo: what is to be done, item by item, in an order in which each can be done.
 *
 * First, from the deepest path up, what must go: files and directories that were made are removed,
 * and what was renamed is put into a staging directory.  Then, from the top down, what must be
 * there: what was staged, directories, files.  Then hard links, and what is written into
 * files in place.  Last, from the deepest up, what
 * directories have of modes and times.  Each name is one item of each part at most, so that a chain
 * or circle of renames needs no order of its own.
 */
#ifndef SEEN_CLI_SCHEDULE_H
#define SEEN_CLI_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/merge.h"
#include "cli/undo/operation.h"
#include "cli/undo/tree_change.h"

enum schedule_kind {
	SCHEDULE_REMOVE = 1, /* no directory */
	SCHEDULE_RMDIR,
	SCHEDULE_STAGE, /* rename path to other */
	SCHEDULE_PLACE, /* rename other to path, where nothing is */
	SCHEDULE_MKDIR,
	SCHEDULE_PUT,   /* make a file, symbolic link or node where nothing is */
	SCHEDULE_SWAP,  /* the same in the place of another one */
	SCHEDULE_WRITE, /* into the file that is there: it has other names, or is a mount point */
	SCHEDULE_LINK, /* a hard link to `other` where nothing is; SCHEDULE_RELINK: in the place of another */
	SCHEDULE_RELINK,
	SCHEDULE_ATTRIBUTE, /* an extended attribute; other: its name */
	SCHEDULE_META,      /* mode, owner, times */
};

enum schedule_state {
	SCHEDULE_TODO,
	SCHEDULE_DONE,
	SCHEDULE_SKIPPED, /* it changed meanwhile */
	SCHEDULE_FAILED,  /* error */
};

enum schedule_flags {
	SCHEDULE_MTIME = 1,    /* wanted.mtime_ns is set, too */
	SCHEDULE_NO_VALUE = 2, /* ATTRIBUTE: it is removed */
	/* SWAP, WRITE: the content is none that was kept, but a merged one (schedule_merged_name());
	 * content_place: its number + 1 */
	SCHEDULE_MERGED = 4,
	SCHEDULE_FREED = 8, /* what is wanted is gone: its inode's number is another file's */
};

struct schedule_item {
	uint8_t state; /* enum schedule_state; not under the plan's check */
	uint8_t kind;  /* enum schedule_kind */
	uint8_t flags; /* enum schedule_flags */
	uint8_t unused;
	uint32_t content_operation; /* PUT, SWAP, WRITE, ATTRIBUTE: the record that has the content */
	uint64_t content_place;
	uint64_t path, other;     /* offsets in the texts; other: 0: none */
	struct pack_state wanted; /* mode, owner, time; its inode, where it had one */
	struct pack_state
		found; /* what is there now; all zero: nothing; ctime_ns 0: a rename of the plan sets it */
};

struct schedule {
	struct operation_head head;
	struct schedule_item *items;
	size_t count; /* == head.item_count */
	char *texts;  /* head.text_bytes; begins with "" */
	size_t text_bytes, text_capacity;
	struct merge_text *merged; /* contents of items, until they are written with the plan */
	size_t merged_count;
	/* beside the items, not on disk: the record of each one's content; may be NULL */
	const struct tree_record **contents;
};

void schedule_free(struct schedule *plan); /* accepts one that is all zero */

/* schedule_text(): a text of a plan by its offset. */
static inline const char *schedule_text(const struct schedule *plan, uint64_t offset)
{
	return plan->texts + offset;
}

/* schedule_add_text(): its offset; 0: no memory.
 * schedule_add(): appends an item.  path, other: copied; other may be NULL.
 * Returns it, valid until the next one, or NULL: no memory. */
uint64_t schedule_add_text(struct schedule *plan, const char *text);
struct schedule_item *schedule_add(struct schedule *plan, enum schedule_kind kind, const char *path,
				   const char *other, const struct tree_record *content);

/* schedule_add_merged(): takes a content over; its number + 1; 0: no memory, and it is not taken.
 * schedule_merged_name(): of its file in the operation's directory.  ret_name: OPERATION_NAME_BYTES. */
size_t schedule_add_merged(struct schedule *plan, const struct merge_text *text);
void schedule_merged_name(size_t number, char *ret_name);

/* schedule_resolve(): finds the records that the contents of its items are in.  Returns 0 or -ENOMEM. */
int schedule_resolve(struct schedule *plan, const struct tree_records *records);

/* schedule_write(): writes a plan into its operation's directory, which it makes, and syncs it.
 * directory: descriptor of the session's undo records.  Returns 0 or a negative errno: then nothing
 * is there. */
int schedule_write(struct schedule *plan, int directory);

/* schedule_read(): reads it again.  records: to find contents in.  ret_plan: schedule_free() it, in any case.
 * Returns 0; -EBADMSG: damaged; a negative errno. */
int schedule_read(int directory, uint32_t number, const struct tree_records *records,
		  struct schedule *ret_plan);

#endif
