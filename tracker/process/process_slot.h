/*
 * Slots of the process table: how one is claimed, found again and given up to another program.  For
 * the files of this room; process.h is for the others.
 */
#ifndef SEEN_TRACKER_PROCESS_SLOT_H
#define SEEN_TRACKER_PROCESS_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/process/role.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* A slot in the process table as its holder knows it. */
struct process_ref {
	uint64_t index;
	uint64_t serial; /* 0: none */
};

/* What a process does not hand on. */
enum {
	CONTEXT_OWN_FLAGS = CONTEXT_PARTIAL | CONTEXT_SUPERVISED | CONTEXT_UNKNOWN |
			    CONTEXT_PAST_LIBC
};

/* process_slot_at(): the slot at an index; NULL: the table has no such slot. */
struct process_slot *process_slot_at(const struct segment *segment, uint64_t index);

/* process_slot_claim(): acquires a slot for another program: a free one, else one of a process that
 * nothing hangs on (a killed tool's, say, which could not give it back).  Its counts become the
 * session's.
 *
 * ret_copy: its content, to be changed and committed (slot_commit()).  Returns NULL when the table
 * is full; COUNTER_lost_processes was raised. */
struct process_slot *process_slot_claim(const struct segment *segment,
					struct process_slot *ret_copy, uint64_t *ret_index);

/* process_slot_acquire(): acquires the slot that a reference means, for a change: to be committed,
 * or abandoned.  NULL: it is another program's by now, it is being written, or the reference is one
 * to nothing. */
struct process_slot *process_slot_acquire(const struct segment *segment, struct process_ref process,
					  struct process_slot *ret_copy);

/* process_slot_add_counts(): the slot of a program that has ended is given to another: its counts
 * become the session's.  Not when it ends: that would be a page more that it touches, and one that
 * all write to (segment_counter()). */
void process_slot_add_counts(const struct segment *segment, struct process_slot *slot);

#endif
