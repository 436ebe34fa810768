/*
 * Instruction files that applied to what a session touched, and that were not given: neither
 * printed to the agent nor read by it itself: from its journal, and what is on disk now.
 */
#ifndef SEEN_CLI_MISSED_H
#define SEEN_CLI_MISSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "tracker/segment/segment.h"

/* An instruction file. */
struct missed_row {
	char *path;    /* absolute; owned */
	char *example; /* the file that was touched first; owned */
	/* of files that it applies to, by agents, shells, viewers and readers; by tools only
	 * changes */
	uint64_t touches;
};

struct missed {
	struct missed_row *rows; /* by path */
	size_t count;
	uint64_t applied; /* instruction files in all that applied to what was touched */
	bool is_cut;      /* there was more than MISSED_PATHS_MAX */
};

struct missed_search;

enum {
	MISSED_PATHS_MAX = 65536
}; /* directories, and instruction files, that are inspected: the first ones */

/* missed_new(): begins to look for them.  segment: of the session, borrowed until missed_answer().
 * NULL: out of memory. */
struct missed_search *missed_new(const struct segment *segment);

/* missed_add(): an event of the session's journal. */
void missed_add(struct missed_search *search, const struct event *event);

/* missed_answer(): what was found, held against the disk.  Frees the search, which may be NULL.
 *
 * ret_missed: missed_free() it in any case.  Returns 0 or -ENOMEM. */
int missed_answer(struct missed_search *search, struct missed *ret_missed);

void missed_free(struct missed *missed);

#endif
