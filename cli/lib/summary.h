/*
 * What a session, or one run of it, amounted to.
 */
#ifndef SEEN_CLI_SUMMARY_H
#define SEEN_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment.h"

enum { SUMMARY_NAMES_BYTES = 200 };

struct summary {
	uint64_t counters[COUNTER_COUNT];
	unsigned files;           /* on record */
	unsigned edited_by_agent; /* files that exist or had been read, written to since */
	unsigned edited_by_tool;
	unsigned partial; /* processes that read or write by io_uring or aio, which is not seen */
	unsigned unobserved; /* processes that were started and not heard of */
	char unobserved_names[SUMMARY_NAMES_BYTES]; /* the first few, ", " between; escaped */
	bool agent_known; /* an agent was among the processes, or the agent is outside */
};

/* summary_take(): adds up a session.  since_*: what to take off, for one run of several: its counters at the
 * start (may be NULL) and when it began. */
void summary_take(const struct segment *segment, const uint64_t *since_counters,
		  uint64_t since_realtime_ns, uint64_t since_ns, struct summary *ret_summary);

/* summary_print(): the few lines on standard error at the end of a run. */
void summary_print(const struct summary *summary, const char *session_name);

#endif
