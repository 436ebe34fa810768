/*
 * Counts: how much a session did, for everybody who tells a number of it: the summary, status, top,
 * report, fail_on.
 */
#ifndef SEEN_CLI_COUNTS_H
#define SEEN_CLI_COUNTS_H

#include <stdint.h>

#include "tracker/segment/segment.h"

/* Sums of counters that have one name wherever they are shown. */
enum count {
	COUNT_REPEATS,   /* of files, and of readers' commands */
	COUNT_NOTICES,   /* likewise */
	COUNT_WARNED,    /* writes that the guard warned of */
	COUNT_DENIED,    /* writes that it denied */
	COUNT_STALE,     /* of both, those over a change that the agent had not seen */
	COUNT_CONFLICTS, /* of both, and refused notices */
	COUNT_RULE_HITS,
};

/* counts_compute(): a session's counters, with what its living programs did until now, which is not
 * among the segment's yet.
 *
 * since_counters: what to take off, COUNTER_COUNT of them; NULL: nothing.  since_ns: living
 * programs that were started before it (CLOCK_BOOTTIME) are left out.  ret_counters:
 * COUNTER_COUNT. */
void counts_compute(const struct segment *segment, const uint64_t *since_counters,
		    uint64_t since_ns, uint64_t *ret_counters);

/* counts_sum(): a sum of counters that counts_compute() returned. */
uint64_t counts_sum(const uint64_t *counters, enum count count);

#endif
