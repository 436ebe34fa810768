/*
 * Notes in the session's table which of its live programs call the kernel past libc (Go, Bun), where
 * no supervisor inspects them: what such a program changes is not seen, so a change that no process
 * reports may be its own (guard_lives_unobserved()).
 */
#ifndef SEEN_CLI_PARTLY_H
#define SEEN_CLI_PARTLY_H

#include <stddef.h>
#include <stdint.h>

#include "cli/session/process_image.h"
#include "tracker/journal/journal.h"
#include "tracker/segment/segment.h"

/* Which programs were inspected.  Zeroes at first. */
struct partly {
	uint64_t *serials; /* by slot: of the program that was inspected last */
	size_t count;
	struct image_cache images;
};

/* partly_note(): inspects the programs that attached since the last call. */
void partly_note(struct partly *partly, const struct segment *segment,
		 const struct journal *journal);

/* partly_free(): frees what partly_note() allocated. */
void partly_free(struct partly *partly);

#endif
