/*
 * What a session, or one run of it, amounted to.
 */
#ifndef SEEN_CLI_SUMMARY_H
#define SEEN_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/session/coverage.h"
#include "cli/session/outputs.h"
#include "tracker/segment/segment.h"

enum { SUMMARY_UNKNOWN_MAX = 4 };
enum { SUMMARY_NAMES = 3, SUMMARY_NAME_BYTES = 256 };

struct summary {
	uint64_t counters[COUNTER_COUNT];
	unsigned files;           /* on record */
	unsigned edited_by_agent; /* files made, changed or removed since; not what came and went */
	unsigned edited_by_tool;  /* by its tools alone */
	unsigned removed;         /* of both */
	uint64_t contents_bytes;  /* in the content store, about; of the session in any case */
	struct coverage coverage;
	struct outputs outputs; /* of the session in any case */
	bool agent_known;       /* an agent was among the processes, or the agent is outside */
	char unknown[SUMMARY_UNKNOWN_MAX]
		    [40]; /* names of programs that may be an agent which was not named */
	unsigned unknown_count;
	/* of changed files, the agent's first, safe to print; "" behind the last */
	char changed_names[SUMMARY_NAMES][SUMMARY_NAME_BYTES];
	unsigned notice_files; /* that hold a notice which the session stored in them */
	char notice_names[SUMMARY_NAMES]
			 [SUMMARY_NAME_BYTES]; /* of the first of them, safe to print */
};

/* summary_compute(): adds up a session.  journal: its own, may be unmapped.  since_*: what to take
 * off, for one run of several: its counters at the start (may be NULL) and when it began. */
void summary_compute(const struct segment *segment, const struct journal *journal,
		     const uint64_t *since_counters, uint64_t since_realtime_ns, uint64_t since_ns,
		     struct summary *ret_summary);

enum { SUMMARY_WRITES_BYTES = 512 };

/* summary_writes(): what the guard, the watcher and the content store did, as a line: "2 warned of,
 * 1 denied".
 *
 * ret_text: SUMMARY_WRITES_BYTES.  Returns ret_text, empty where there is nothing to say. */
const char *summary_writes(const struct summary *summary, char *ret_text);

/* summary_files(): what became of files, as a line: "2 files changed by the agent, 1 by its tools;
 * 1 of them removed".  As summary_writes(). */
const char *summary_files(const struct summary *summary, char *ret_text);

/* summary_rules(): accesses that rules denied or warned of, as a line: "2 denied, 1 warned of".
 * As summary_writes(). */
const char *summary_rules(const struct summary *summary, char *ret_text);

/* summary_lost(): what was forgotten because a table was full.  As summary_writes(). */
const char *summary_lost(const struct summary *summary, char *ret_text);

/* summary_unknown_agents(): why nothing could be answered, where programs were started that may be
 * an agent which was not named.  As summary_writes(). */
const char *summary_unknown_agents(const struct summary *summary, char *ret_text);

/* summary_print(): all that was counted, on standard error. */
void summary_print(const struct summary *summary, const char *session_name);

#endif
