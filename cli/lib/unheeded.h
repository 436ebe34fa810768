/*
 * Instruction files that applied to what a session touched, and that nobody was given: from its journal, and what is on disk now.
 */
#ifndef SEEN_CLI_UNHEEDED_H
#define SEEN_CLI_UNHEEDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/segment.h"

/* An instruction file. */
struct unheeded_row {
	char *path;    /* absolute; owned */
	char *example; /* the file that was touched first; owned */
	uint64_t touches; /* of files that it applies to, by agents, shells, viewers and readers; by tools only changes */
	bool read_by_agent; /* the agent's own process opened it: its model may know it */
};

struct unheeded {
	struct unheeded_row *rows; /* by path */
	size_t count;
	uint64_t applied; /* instruction files in all that applied to what was touched */
};

/* unheeded_find(): looks for them.
 *
 * segment: of the session; journal: path of its journal.  ret_unheeded: unheeded_free() it in any case.
 * Returns 0; -ENOMEM; errors of events_open(). */
int unheeded_find(const struct segment *segment, const char *journal,
		  struct unheeded *ret_unheeded);

void unheeded_free(struct unheeded *unheeded);

#endif
