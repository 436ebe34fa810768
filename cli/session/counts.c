/* Counts: see counts.h. */
#include "cli/session/counts.h"

#include "tracker/process/process.h"
#include "tracker/segment/tables.h"

enum { PARTS_MAX = 5 };

static const struct {
	unsigned char count;
	enum counter counters[PARTS_MAX];
} SUMS[] = {
	[COUNT_REPEATS] = { 2, { COUNTER_repeats, COUNTER_requests_repeated } },
	[COUNT_NOTICES] = { 2, { COUNTER_notices, COUNTER_requests_answered } },
	[COUNT_WARNED] = { 2, { COUNTER_stale_warned, COUNTER_unread_warned } },
	[COUNT_DENIED] = { 2, { COUNTER_stale_denied, COUNTER_unread_denied } },
	[COUNT_STALE] = { 2, { COUNTER_stale_warned, COUNTER_stale_denied } },
	[COUNT_CONFLICTS] = { 5,
			      { COUNTER_stale_warned, COUNTER_stale_denied, COUNTER_unread_warned,
				COUNTER_unread_denied, COUNTER_notices_refused } },
	[COUNT_RULE_HITS] = { 4,
			      { COUNTER_rules_logged, COUNTER_rules_warned, COUNTER_rules_failed,
				COUNTER_rules_denied } },
};

void counts_compute(const struct segment *segment, const uint64_t *since_counters,
		    uint64_t since_ns, uint64_t *ret_counters)
{
	static const enum counter TOTALS[PROCESS_COUNTS] = {
		[PROCESS_OPENS] = COUNTER_opens,
		[PROCESS_OPENS_WRITE] = COUNTER_opens_write,
		[PROCESS_LISTINGS] = COUNTER_listings,
		[PROCESS_CHANGES] = COUNTER_changes
	};

	for (int i = 0; i < COUNTER_COUNT; i++) {
		uint64_t since = since_counters ? since_counters[i] : 0;
		uint64_t now = segment_counter(segment, (enum counter)i);
		/* Counters only grow: what is below what it was is damage, and no huge number. */
		ret_counters[i] = now > since ? now - since : 0;
	}
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		struct process_slot process;
		if (!process_read(segment, i, &process) || process.state == PROCESS_FREE ||
		    process.state == PROCESS_EXITED || process.time_ns < since_ns)
			continue;
		for (int j = 0; j < PROCESS_COUNTS; j++)
			ret_counters[TOTALS[j]] += process.counts[j];
	}
}

uint64_t counts_sum(const uint64_t *counters, enum count count)
{
	uint64_t sum = 0;

	for (int i = 0; i < SUMS[count].count; i++)
		sum += counters[SUMS[count].counters[i]];
	return sum;
}
