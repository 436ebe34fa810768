/*
 * What a session changed between two points: for each path the state before and the state after.
 *
 * The model walks the undo records (tracker/content/pack.h) from the youngest to the oldest, and
 * takes each one back in a tree of names that begins as what is on disk now.  A rename takes a
 * whole subtree with it; names of one inode share its state.
 *
 * A change is about one name.  What was renamed from A to B is two changes: A, with `moved_to` B,
 * and B, with `moved_from` A.  Of a renamed directory it is these two, and the ones of the names
 * below that were changed by themselves; all else below it moved along unmentioned.
 * What has its old name in another directory, since its own has another name, is one change with both: its path.
 */
#ifndef SEEN_CLI_TREE_CHANGE_H
#define SEEN_CLI_TREE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/undo/tree_entry.h"
#include "cli/undo/tree_record.h"

/* What is on disk against what the session left there. */
enum tree_left {
	TREE_AS_LEFT,
	TREE_LEFT_OPEN, /* how the session left it is not known: its writer was killed, or still writes */
	TREE_CHANGED_SINCE, /* an external program changed, made or removed it since */
	/* Of all that is known of it the owner alone: another numbering (user_namespaces(7)), or changed since. */
	TREE_OWNER_DIFFERS,
};

struct tree_change {
	const char *path; /* absolute */
	const char *
		moved_from; /* what is there after had this name before; NULL: it had not another */
	const char *moved_to; /* what was there before has this name after; NULL: not another */
	struct tree_entry before, after;
	/* The range selects records: later ones that it does not select changed it, too. */
	bool conflict;
	enum tree_left left; /* is what is on disk what the session left? */
	/* AS_LEFT by size and times alone, ctime not among them, or is_left_but_times: the record that has the content
	 * that it was left with; NULL: nothing to compare */
	const struct tree_record *left_content;
	bool is_left_by_ctime; /* AS_LEFT by ctime, too */
	bool is_left_unseen; /* CHANGED_SINCE, because it is not on record how the session left it */
	/* CHANGED_SINCE, of a regular file that has the inode, size, mode and owner that it was left with. */
	bool is_left_but_times;
	/* Only its metadata changed, and of that these: bits of 1 << enum pack_metadata. */
	unsigned metadata;
	bool same_content; /* the bytes are certainly the same; not set for what moved and was not opened */
	uint64_t first_time_ns, last_time_ns; /* of the records that changed it; realtime */
	uint32_t process; /* of the last of them: journal number of START or FORK */
	uint32_t records;
};

enum tree_selection {
	TREE_SELECTED,
	TREE_OTHER,   /* left as it is; a conflict with earlier ones that are selected */
	TREE_NEUTRAL, /* left as it is; no conflict: another one takes it back */
};

/* Which records are meant. */
struct tree_range {
	uint64_t from_place;     /* this one and later, of the session's processes */
	uint32_t from_operation; /* this undo or redo and what came behind it; 0: not by that */
	uint64_t from_time_ns;
	uint64_t to_place;   /* only earlier ones; 0: no end, the state after is what is on disk */
	uint64_t to_time_ns; /* likewise; 0: no end */
	/* Of these, the selected ones; NULL: all.  Only for ranges without an end. */
	enum tree_selection (*select)(const struct tree_record *record, void *data);
	/* Until when does what a record's process does go on, at least?  NULL: not asked. */
	uint64_t (*lives_until)(const struct tree_record *record, void *data);
	void *data;
	bool list_moved; /* all that a renamed directory took along is listed, too */
	/* What an undo needs is listed, too: refs of git that were neither there before nor are there after
	 * (git_packed.h); and what has its name in another directory now, since its own was renamed away. */
	bool for_undo;
};

struct tree_changes {
	struct tree_change *changes; /* in the order of `path`, by bytes */
	size_t count;
	uint64_t records;              /* walked */
	struct tree_walk *walk, *base; /* they own the texts */
	bool borrows_base;
};

/* tree_changes_read(): what changed in a range.
 *
 * ret_changes: tree_changes_free() it, before the records are closed.  Returns 0 or -ENOMEM. */
int tree_changes_read(const struct tree_records *records, const struct tree_range *range,
		      struct tree_changes *ret_changes);

/* tree_change_is_nothing(): was there nothing by that name before, and is there nothing after? */
bool tree_change_is_nothing(const struct tree_change *change);

/* tree_range_selects(): is this record, one of `records`, of the range, and selected? */
bool tree_range_selects(const struct tree_records *records, const struct tree_range *range,
			const struct tree_record *record);

/* What came behind a range, taken back once for many ranges: these are asked for from the one that
 * ends last to the one that ends first. */
struct tree_later {
	struct tree_walk *walk; /* NULL: nothing was taken back yet */
	size_t at;              /* index of the oldest record that was taken back */
};

/* tree_later_init(): tree_later_free() it behind the changes that were read by it. */
void tree_later_init(const struct tree_records *records, struct tree_later *ret_later);
void tree_later_free(struct tree_later *later);

/* tree_changes_between(): what all records from index `first` on changed, up to index `end`, which
 * is not among them.
 *
 * later: its `at` is at least `end`; it is moved there.  The changes borrow it: they hold until it
 * is moved again.
 * Returns 0; -EINVAL: `later` is past `end`; -ENOMEM. */
int tree_changes_between(const struct tree_records *records, size_t first, size_t end,
			 struct tree_later *later, struct tree_changes *ret_changes);

/* tree_changes_disk(): what is on disk by a name that no record is about; nothing, where it was made behind time_ns.
 * ret_left: AS_LEFT where it was there at time_ns, the session changed it by another name, and it is as the session
 * left it; OWNER_DIFFERS where it is so but for the owner; else CHANGED_SINCE.
 * ret_conflict: a later record that is not selected changed it so.  The range has no end.
 * Returns 0 or -ENOMEM. */
int tree_changes_disk(const struct tree_changes *changes, const char *path, int64_t time_ns,
		      struct tree_entry *ret_entry, enum tree_left *ret_left, bool *ret_conflict);
void tree_changes_free(struct tree_changes *changes);

#endif
