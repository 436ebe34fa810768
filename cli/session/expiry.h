/*
 * Which sessions have had their time: those last used longer ago than [session] keep_days, and then
 * the oldest until the rest takes no more than [session] max_bytes.
 *
 * Sessions with something to undo that were used in the last week come after all others.
 */
#ifndef SEEN_CLI_EXPIRY_H
#define SEEN_CLI_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/session/store.h"

enum expiry_reason { EXPIRY_AGE, EXPIRY_SIZE };

struct expiry {
	uint64_t now_realtime_ns;
	uint64_t keep_days; /* 0: no limit */
	uint64_t max_bytes; /* likewise */
	/* Removes one; returns whether it is gone. */
	bool (*remove)(const struct store_session *session, enum expiry_reason reason, void *data);
	void *data;
};

/* expiry_bytes(): what all sessions of this user take. */
uint64_t expiry_bytes(const struct store *store);

/* expiry_apply(): has those removed that have had their time.  Sessions of other users are passed
 * over.  Returns the bytes that are left. */
uint64_t expiry_apply(const struct store *store, const struct expiry *expiry);

#endif
