/*
 * Deliveries: what each scope was given, in which version, and whether that still counts.
 * Lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_DELIVERY_H
#define SEEN_TRACKER_DELIVERY_H

#include <stdbool.h>

#include "tracker/segment.h"
#include "tracker/tables.h"

/* The moment, in a scope's own measures, at which something is asked or given. */
struct moment {
	uint64_t scope_id;
	uint64_t session_epoch;
	uint64_t scope_epoch;
	uint64_t request; /* number of the request in the scope */
	uint64_t capture_id;
	uint64_t command_id;  /* the one that asks; it still runs */
	uint64_t bytes_given; /* to the scope so far */
	uint64_t time_ns;
};

/* moment_now(): reads a scope's measures.  scope_epoch 0: the scope is not known, nothing counts. */
struct moment moment_now(const struct segment *segment, uint64_t scope_id, uint64_t request,
			 uint64_t capture_id, uint64_t command_id);

/* delivery_find(): what the scope was last given of a file, whether it still counts or not.
 * Returns 0, or -ENOENT. */
int delivery_find(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		  struct delivery_slot *ret_delivery);

/* delivery_is_current(): given in the moment's epoch, still inside the window ([window]), by a command
 * that kept to `limit_bytes` in all.  Both ends of each window belong to it: the request number
 * `[window] requests` after the delivery is the last one inside. */
bool delivery_is_current(const struct segment *segment, const struct delivery_slot *delivery,
			 const struct moment *moment, uint64_t limit_bytes);

/* delivery_record(): the scope was given the whole file.
 *
 * moment: when it was read (its epochs) and by which request.  The version replaces an older one; how the
 * model insisted is kept only for an equal version.  Returns 0, or -ENOSPC (counted as lost). */
int delivery_record(const struct segment *segment, uint64_t file_key, const struct version *version,
		    const struct moment *moment);

/* delivery_note_answer(): a notice was given for the delivery at a request, or (yield_until not 0) the
 * request was yielded to. */
void delivery_note_answer(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
			  uint64_t notice_request, uint64_t yield_until);

/* delivery_forget(): what was given of a file no longer counts, in one scope or, for scope_id 0, in all.
 * Returns the number of deliveries that were forgotten. */
unsigned delivery_forget(const struct segment *segment, uint64_t scope_id, uint64_t file_key);

#endif
