/*
 * What a patch is made of: the changes of a session (tree_change.h) as files with two sides, and a
 * list of what a patch cannot carry.
 */
#ifndef SEEN_CLI_DIFF_SET_H
#define SEEN_CLI_DIFF_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/undo/patch.h"
#include "cli/undo/tree_change.h"

/* One file; a side that does not exist is NULL. */
struct diff_file {
	const char *old_path, *new_path;    /* below the workspace; equal but for a rename */
	const struct tree_entry *old, *new; /* borrowed from the changes, or owned by the set */
	const struct tree_change *change;   /* that it comes from */
	bool is_last_first; /* must come before others: what it was stands in their way */
};

/* Why a change is not in the patch. */
enum diff_omission {
	DIFF_EMPTY_DIRECTORY_MADE,
	DIFF_EMPTY_DIRECTORY_REMOVED,
	DIFF_DIRECTORY_EMPTIED, /* a patch removes it */
	DIFF_MODE,
	DIFF_OWNER,
	DIFF_TIMES,
	DIFF_ATTRIBUTES,
	DIFF_HARD_LINK,
	DIFF_SPECIAL,  /* a device, a FIFO, a socket */
	DIFF_GIT,      /* git's own directory */
	DIFF_UNKNOWN,  /* content or state is not known: the patch is not whole */
	DIFF_EXCLUDED, /* what lies below it is not kept: what changed there is not known */
	DIFF_OMISSION_COUNT,
};

struct diff_omitted {
	enum diff_omission why;
	char *path; /* below the workspace; owned */
	char *text; /* details, for a person: "mode 0600"; owned */
};

struct diff_set {
	struct diff_file *files;
	size_t count;
	struct diff_omitted *omitted;
	size_t omitted_count;
};

/* Which changes are wanted. */
struct diff_filter {
	const char *workspace; /* absolute */
	char *const *paths;    /* absolute: these and what is below; ended by NULL; NULL: all */
	/* NULL: all */
	bool (*wants)(const struct tree_change *change, void *data);
	void *data;
	bool is_open; /* the state after is what is on disk */
	/* For a patch: what is git's own is listed as what it cannot carry, since git takes none in its
	 * directory. */
	bool omits_git;
};

/* diff_set_make(): ret_set: diff_set_free() it in any case.  Returns 0 or -ENOMEM. */
int diff_set_make(const struct tree_changes *changes, const struct tree_records *records,
		  const struct diff_filter *filter, struct diff_set *ret_set);
void diff_set_free(struct diff_set *set);

/* diff_set_omit(): adds to what is not in the patch.  format: of the text.  Returns 0 or
 * -ENOMEM. */
int diff_set_omit(struct diff_set *set, enum diff_omission why, const char *path,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* diff_omission_name(): "empty_directory_made" ...; static. */
const char *diff_omission_name(enum diff_omission why);

#endif
