/*
 * Tables whose slots belong to a pair of a scope and something else (a file, a command, an
 * instruction file): found by open addressing; where there is no room, the slot that is unused for
 * longest makes place.
 *
 * Lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_PAIR_H
#define SEEN_TRACKER_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/segment/segment.h"
#include "tracker/segment/slot.h"

/* How the slots of such a table begin. */
struct pair_slot {
	struct slot_head head;
	uint64_t scope_id; /* 0: empty */
	uint64_t key;      /* of what the scope is paired with */
};

/* A table of pairs. */
struct pair_table {
	enum segment_table table;
	size_t slot_bytes;
	/* bytes from a slot's beginning to the uint64_t that tells when it was last used */
	size_t time_offset;
	unsigned attempts;     /* how often a busy slot is asked for */
	bool counts_displaced; /* a slot that has to make place is a loss: */
	enum counter displaced;
};

/* pair_read(): copies the slot of a pair.  ret_slot: slot_bytes.  False: there is none, or it is
 * damaged or being written. */
bool pair_read(const struct segment *segment, const struct pair_table *table, uint64_t scope_id,
	       uint64_t key, void *ret_slot);

/* pair_hold(): takes the slot of a pair to write to it, with make one that is empty or the oldest
 * of those that were inspected.
 *
 * ret_copy: slot_bytes; of a slot that is new to the pair, all but the pair is zero.  Returns the
 * slot: slot_commit() or slot_abandon() must follow; NULL: there is none, or it is busy. */
void *pair_hold(const struct segment *segment, const struct pair_table *table, uint64_t scope_id,
		uint64_t key, bool make, void *ret_copy);

#endif
