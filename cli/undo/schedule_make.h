/* A plan (schedule.h) made from changes, and what a person is shown of it. */
#ifndef SEEN_CLI_SCHEDULE_MAKE_H
#define SEEN_CLI_SCHEDULE_MAKE_H

#include "cli/undo/schedule.h"
#include "cli/undo/tree_change.h"

/* Why a path is left as it is. */
enum schedule_reason {
	SCHEDULE_EXTERNAL,   /* an external program changed it since */
	SCHEDULE_UNSEEN,     /* it is not on record how the session left it */
	SCHEDULE_OWNER,      /* its owner is not the one on record (TREE_OWNER_DIFFERS) */
	SCHEDULE_CONFLICT,   /* a later step changed it */
	SCHEDULE_LOST,       /* its content, or whether it was there, is not known: `lost` */
	SCHEDULE_DAMAGED,    /* what was kept of it cannot be read, is damaged, or gone */
	SCHEDULE_OCCUPIED,   /* what was renamed cannot go back: something else is there */
	SCHEDULE_NO_OBJECT,  /* a ref that stands for itself: its object is gone */
	SCHEDULE_NO_OBJECTS, /* an object is gone that git's state names */
	SCHEDULE_NO_SHARED,  /* the shared part of a split index is gone */
	SCHEDULE_UNIT,       /* another part of the repository's state is left */
	SCHEDULE_WITHIN,     /* a directory that would go: something in it is left */
};

struct schedule_left {
	const char *path; /* borrowed from the changes */
	enum schedule_reason reason;
	enum tree_lost lost;
};

/* What a person is shown of a plan. */
enum schedule_verb {
	SCHEDULE_VERB_RESTORE,
	SCHEDULE_VERB_REMOVE,
	SCHEDULE_VERB_RENAME,
	SCHEDULE_VERB_META,
	SCHEDULE_VERB_MERGE,
	SCHEDULE_VERB_APPEND, /* to a reflog */
};

struct schedule_line {
	enum schedule_verb verb;
	const char *path; /* as it will be; REMOVE: as it is.  Borrowed from the changes */
	const char *from; /* RENAME */
	bool directory;
	bool is_left;     /* it was to be done, and was not (undo_report.h) */
	bool is_object;   /* one of git's comes back: a redo does not take it away again */
	size_t conflicts; /* MERGE: that are marked in it */
};

struct schedule_report {
	struct schedule_line *lines;
	size_t line_count;
	struct schedule_left *left;
	size_t left_count;
	uint64_t same; /* paths that are as they were already */
};

struct schedule_options {
	const char *workspace; /* absolute: staging lies in it */
	char *const *paths;    /* absolute, ended by NULL: only what is there or below; NULL: all */
	bool force, times;
	/* What was changed by others, too, is merged; the range of the changes; NULL: it is left. */
	const struct tree_range *merge;
	const char *merge_label;       /* stands behind the marks of what comes back */
	const struct git_locks *locks; /* of the undo itself: no change; may be NULL */
	const char *log_message;       /* of what is appended to reflogs */
	uint32_t number;               /* of the operation */
};

/* schedule_make(): the plan that makes changes undone.
 *
 * ret_plan, ret_report: schedule_free(), schedule_report_free() them, in any case.  Returns 0, -ENOMEM, or
 * -EFBIG: too many. */
int schedule_make(const struct tree_records *records, const struct tree_changes *changes,
		  const struct schedule_options *options, struct schedule *ret_plan,
		  struct schedule_report *ret_report);
void schedule_report_free(struct schedule_report *report);

#endif
