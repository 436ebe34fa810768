/*
 * Who wrote each line of a file: lines are followed from version to version of its history
 * (file_history.h), also through renames.
 *
 * Only what is certain is reported.  Where the content between two writers is not known, the lines that
 * either may have written are of no known writer.  So are those of a file without a history that is not
 * older than the session: it may be that nothing is kept where it lies.
 */
#ifndef SEEN_CLI_BLAME_H
#define SEEN_CLI_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/step.h"
#include "cli/undo/tree_record.h"

enum blame_kind {
	BLAME_BEFORE, /* it was there before the session changed the file */
	BLAME_STEP,   /* written in a step */
	BLAME_UNDO,   /* came by `seen undo` or `seen redo`, of a content that was no earlier one */
	BLAME_EXTERNAL, /* written by an external program */
	BLAME_UNKNOWN,
	BLAME_KIND_COUNT,
};

struct blame_origin {
	enum blame_kind kind;
	const struct step *step; /* STEP; borrowed */
	uint32_t process, pid;   /* STEP: number of its START or FORK record, and its pid */
	uint32_t operation;      /* UNDO: its number */
	uint64_t time_ns;        /* STEP, UNDO: of the change, realtime; 0 */
	bool may_be_later;       /* BEFORE: but perhaps not before the session began */
};

struct blame_line {
	uint32_t origin; /* index */
	uint32_t number; /* in the version in which the line came, from 1 */
};

struct blame {
	char *text; /* of the file; owned */
	size_t size_bytes;
	struct blame_line *lines;
	size_t count;
	struct blame_origin *origins;
	size_t origin_count;
};

/* blame_read(): of a file as it is on disk.
 *
 * path: absolute.  steps: borrowed by the origins.  ret_blame: blame_free() it in any case.
 * Returns 0; -EISDIR; -EINVAL: it is no text; -EFBIG; -ENOMEM; errors of lstat(2) and open(2). */
int blame_read(const struct tree_records *records, const struct steps *steps, const char *path,
	       struct blame *ret_blame);
void blame_free(struct blame *blame);

/* blame_kind_name(): "before_session", "step", "undo", "external", "unknown"; static. */
const char *blame_kind_name(enum blame_kind kind);

#endif
