/*
 * Instruction files that applied to what a session touched, and that were not given: neither printed to the agent
 * nor read by it itself: from its journal, and what is on disk now.
 */
#ifndef SEEN_CLI_UNHEEDED_H
#define SEEN_CLI_UNHEEDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "tracker/segment/segment.h"

/* An instruction file. */
struct unheeded_row {
	char *path;    /* absolute; owned */
	char *example; /* the file that was touched first; owned */
	uint64_t touches; /* of files that it applies to, by agents, shells, viewers and readers; by tools only changes */
};

struct unheeded {
	struct unheeded_row *rows; /* by path */
	size_t count;
	uint64_t applied; /* instruction files in all that applied to what was touched */
	bool is_cut;      /* there was more than UNHEEDED_PATHS_MAX */
};

struct unheeded_search;

enum {
	UNHEEDED_PATHS_MAX = 65536
}; /* folders, and instruction files, that are looked at: the first ones */

/* unheeded_new(): begins to look for them.  segment: of the session, borrowed until unheeded_answer().  NULL: out of memory. */
struct unheeded_search *unheeded_new(const struct segment *segment);

/* unheeded_take(): an event of the session's journal. */
void unheeded_take(struct unheeded_search *search, const struct event *event);

/* unheeded_answer(): what was found, held against the disk.  Frees the search, which may be NULL.
 *
 * ret_unheeded: unheeded_free() it in any case.  Returns 0 or -ENOMEM. */
int unheeded_answer(struct unheeded_search *search, struct unheeded *ret_unheeded);

void unheeded_free(struct unheeded *unheeded);

#endif
