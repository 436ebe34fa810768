/*
 * The story of a session: its steps, each with the files that it made, changed and removed.
 */
#ifndef SEEN_CLI_STORY_H
#define SEEN_CLI_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/diff_set.h"
#include "cli/undo/step.h"

enum story_change {
	STORY_MADE,
	STORY_CHANGED,
	STORY_REMOVED,
	STORY_RENAMED,
	STORY_CHANGE_COUNT,
};

/* A file, or an empty directory, of a step. */
struct story_file {
	enum story_change change;
	char *path, *old_path;   /* below the workspace; old_path: RENAMED, else NULL.  Owned */
	uint64_t added, removed; /* lines */
	bool has_lines;          /* they are known: of a text that was kept */
	bool is_binary;
	char *note; /* what was set beside the content: "mode 0600"; NULL: nothing.  Owned */
};

/* What cannot be undone. */
struct story_lost {
	char *path, *why; /* owned */
};

struct story_step {
	const struct step *step; /* borrowed */
	bool is_running;
	struct story_file *files; /* by their paths */
	size_t count;
	struct story_lost *lost;
	size_t lost_count;
	uint64_t changes[STORY_CHANGE_COUNT]; /* files of each kind */
	uint64_t added, removed;              /* lines */
};

struct story {
	struct story_step *steps; /* one for each of `steps`, in their order */
	size_t count;
	struct tree_records records;
	bool has_journal;      /* else there are no steps */
	uint64_t lost_records; /* the journal had no room for them: steps may be missing */
	uint64_t without_step; /* paths that were changed, and no step is known for it */
	uint64_t unrecorded;   /* undo_session_unrecorded() */
	uint64_t unread;       /* changes of which a content is kept, and could not be read */
	int unread_error;      /* why the first of these could not */
};

/* story_make(): reads the records of a session, and every content that changed.
 *
 * steps: borrowed until story_free().  undo: directory of undo records; workspace: absolute.
 * session: whether a step runs, and what is not on record, is asked of it; NULL: it is not asked.
 * only: number of a step, of which alone the files are listed; 0: all.
 * ret_story: story_free() it in any case.  Returns 0; -ENOMEM; the errors of tree_records_read(). */
int story_make(const struct steps *steps, const char *undo, const char *workspace,
	       const struct session *session, uint32_t only, struct story *ret_story);
void story_free(struct story *story);

/* story_gaps(): what is missing in it, for a person, "" where nothing is known to be.
 *
 * ret_text: STORY_GAPS_BYTES. */
enum { STORY_GAPS_BYTES = 512 };
const char *story_gaps(const struct story *story, char *ret_text);

/* story_change_name(): "made" ...; static. */
const char *story_change_name(enum story_change change);

#endif
