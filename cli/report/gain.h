/*
 * What all sessions on disk saved: gathered for `seen gain`.
 *
 * A session counts by its segment's counters, which are those of `seen status`.  A segment lies in the
 * runtime directory, and mostly goes with a boot; then the events of the journal are counted, which
 * are those of `seen report`.  A session counts as a whole: for the agents that it had, for its workspace, for the
 * day on which it began.
 */
#ifndef SEEN_CLI_GAIN_H
#define SEEN_CLI_GAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/session/store.h"
#include "config/config.h"

/* What came in place of what, and the bytes by which that was shorter. */
struct gain_sums {
	uint64_t sessions;
	uint64_t notices;     /* files and lines of files */
	uint64_t diffs;       /* changed files */
	uint64_t commands;    /* of readers */
	uint64_t given_again; /* given in full because the model asked again */
	uint64_t bytes;
};

/* Whose sums a row has. */
enum gain_by {
	GAIN_BY_ALL,
	GAIN_BY_AGENT,
	GAIN_BY_PROJECT,
	GAIN_BY_DAY,
	GAIN_BY_PROGRAM, /* that asked; by the journal */
	GAIN_BY_COUNT
};

struct gain_row {
	char *name; /* bytes of others; "": not known */
	struct gain_sums sums;
};

struct gain {
	enum gain_by by;
	bool days_are_utc;          /* for programs; else those of clock.h */
	uint64_t since_realtime_ns; /* sessions that began earlier do not count; 0: all do */
	struct gain_row *rows;      /* days in their order, others by bytes, the most first */
	size_t row_count, row_capacity;
	struct gain_sums total;
	uint64_t first_realtime_ns; /* when the first session that counts began; 0: there is none */
	uint64_t of_journals;       /* sessions that count by their journal */
	uint64_t incomplete;        /* of these, with records that are damaged or were lost */
	uint64_t unread[STORE_UNREADABLE +
			1]; /* sessions of which nothing is known, by enum store_state */
};

/* gain_gather(): opens every session of a store.
 *
 * gain: `by`, `days_are_utc` and `since_realtime_ns` are set, all else is zero.  gain_free() it in any case.
 * Returns 0; -ENOMEM; or as config_pack(), with *ret_error. */
int gain_gather(const struct config *config, const struct store *store, struct gain *gain,
		struct config_error *ret_error);

/* gain_unread(): how many sessions are not counted because nothing is known of them. */
uint64_t gain_unread(const struct gain *gain);

/* gain_free(): accepts one that is all zero. */
void gain_free(struct gain *gain);

#endif
