/*
 * Bursts of in-process reads.
 *
 * Agents inspect a file's first bytes and read it again at once, and edit tools read it some times
 * more.  So reads of one file that follow each other within [notice] burst_ms are one request, a
 * burst.  The first whole read in it decides for all.
 */
#ifndef SEEN_FOLLOW_BURST_H
#define SEEN_FOLLOW_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/answer/request.h"
#include "tracker/content/version.h"

enum burst_state {
	BURST_OPEN,   /* nothing was read whole yet */
	BURST_REAL,   /* the real bytes, or about to be decided */
	BURST_NOTICE, /* a notice */
};

/* A read's place in its burst. */
struct burst_place {
	struct request request;
	enum burst_state state; /* before this read */
	/* it comes before a write: it gets the real bytes, and tells nothing of what the model
	 * has */
	bool edits;
};

/* burst_length_ns(): [notice] burst_ms. */
uint64_t burst_length_ns(void);

/* burst_join(): a read takes its place in the burst of the file of that key, or begins one.  as:
 * what requests of this process begin as; first: of its descriptor; from_start: of the file; whole:
 * it got all of it.  Returns false where there is no room: nothing is known then. */
bool burst_join(uint64_t key, const struct request *as, bool first, bool from_start, bool whole,
		struct burst_place *ret_place);

/* burst_complete(): the burst got a notice. */
void burst_complete(uint64_t key, const struct burst_place *place);

/* burst_is_first_whole(): is this the first read of its burst that has got the whole file, in this
 * version? */
bool burst_is_first_whole(uint64_t key, const struct burst_place *place,
			  const struct version *version);

/* burst_note_may_write(): the process learned that it may access the file; writes: for writing,
 * too. */
void burst_note_may_write(uint64_t key, bool writes);

#endif
