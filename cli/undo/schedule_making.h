/* A plan in the making: what its files share (schedule_make.c, schedule_judge.c, schedule_links.c). */
#ifndef SEEN_CLI_SCHEDULE_MAKING_H
#define SEEN_CLI_SCHEDULE_MAKING_H

#include "cli/undo/schedule_make.h"

/* A file that is to be one of several names of an inode. */
struct schedule_name {
	const char *path;                /* where it will be */
	const struct tree_entry *wanted; /* nlink > 1 */
	size_t item; /* that makes it; SCHEDULE_NAME_HOLDS: it is this inode already */
};

#define SCHEDULE_NAME_HOLDS SIZE_MAX

struct schedule_names {
	struct schedule_name *names;
	size_t count;
};

struct making {
	const struct tree_records *records;
	const struct tree_changes *changes;
	const struct schedule_options *options;
	struct schedule *plan;
	struct schedule_report *report;
	struct schedule_names names;
	bool has_moved; /* a change has a `moved_from` */
	struct making_shared {
		const struct tree_change *change;
		unsigned char *fate;
	} * shared; /* schedule_shared.h: in the order of the inodes */
	size_t shared_count;
	unsigned char *fates; /* of each change: enum making_fate */
	struct making_merge {
		size_t number; /* of the merged content, + 1 */
		size_t conflicts;
		enum schedule_verb verb;
		uint32_t mode; /* that the file gets; 0: it keeps its own */
	} * merges;            /* of each change */
	struct git_units *git; /* git_unit.h */
	const char *above;     /* the directory that make_above() was about last; NULL: none */
	size_t made_count;     /* of directories that no change is about */
};

enum making_fate {
	FATE_OPEN,
	FATE_ALREADY, /* it is as it was */
	FATE_APART,   /* not among the paths that are meant */
	FATE_MERGE,   /* it gets a content that was made for it: a merged one, or a longer reflog */
	FATE_LEFT,    /* FATE_LEFT + enum schedule_reason */
};

#endif
