/* Summaries: see summary.h. */
#include "cli/lib/summary.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/text.h"
#include "tracker/path.h"
#include "tracker/process.h"
#include "tracker/scope.h"
#include "tracker/tables.h"
#include "tracker/tracker.h"

struct file_sum {
	struct summary *summary;
	uint64_t since_realtime_ns;
};

static int add_file(const char *path, const struct file_slot *file, void *data)
{
	struct file_sum *sum = data;

	sum->summary->files++;
	/* A temporary file that came and went is no change; one that had been read and is gone is. */
	if (file->last_edit_realtime_ns < sum->since_realtime_ns ||
	    (!file->full_reads && access(path, F_OK) < 0))
		return 0;
	if (file->flags & FILE_EDITED_BY_AGENT)
		sum->summary->edited_by_agent++;
	else if (file->flags & FILE_EDITED_BY_TOOL)
		sum->summary->edited_by_tool++;
	return 0;
}

static void add_name(struct summary *summary, const char *name)
{
	char shown[200];
	size_t length = strlen(summary->unobserved_names);

	if (path_escape(name, shown, sizeof(shown)) < 0 || strstr(summary->unobserved_names, shown))
		return;
	(void)snprintf(summary->unobserved_names + length,
		       sizeof(summary->unobserved_names) - length, "%s%s", length ? ", " : "",
		       shown);
}

static void add_processes(const struct segment *segment, uint64_t since_ns, struct summary *summary)
{
	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		struct process_slot process;
		if (!process_read(segment, i, &process) || process.state == PROCESS_FREE ||
		    process.time_ns < since_ns)
			continue;
		process.name[sizeof(process.name) - 1] = '\0';
		if (process.context.role == ROLE_AGENT || (process.context.flags & CONTEXT_OUTSIDE))
			summary->agent_known = true;
		summary->partial += (process.context.flags & CONTEXT_PARTIAL) != 0;
		/* what programs that live did is not among the session's counters yet */
		summary->counters[COUNTER_opens] += process.counts[PROCESS_OPENS];
		summary->counters[COUNTER_opens_write] += process.counts[PROCESS_OPENS_WRITE];
		summary->counters[COUNTER_listings] += process.counts[PROCESS_LISTINGS];
		summary->counters[COUNTER_changes] += process.counts[PROCESS_CHANGES];
		if (process.state != PROCESS_ANNOUNCED)
			continue;
		summary->unobserved++;
		add_name(summary, process.name);
	}
}

void summary_take(const struct segment *segment, const uint64_t *since_counters,
		  uint64_t since_realtime_ns, uint64_t since_ns, struct summary *ret_summary)
{
	struct summary summary = { 0 };
	struct file_sum sum = { &summary, since_realtime_ns };

	for (int i = 0; i < COUNTER_COUNT; i++)
		summary.counters[i] = segment_counter(segment, (enum counter)i) -
				      (since_counters ? since_counters[i] : 0);
	(void)tracker_each_file(segment, add_file, &sum);
	add_processes(segment, since_ns, &summary);
	*ret_summary = summary;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

void summary_print(const struct summary *summary, const char *session_name)
{
	char requests[TEXT_NUMBER_BYTES], repeats[TEXT_NUMBER_BYTES], notices[TEXT_NUMBER_BYTES];
	char bytes[TEXT_NUMBER_BYTES], tokens[TEXT_NUMBER_BYTES];
	const uint64_t *counters = summary->counters;
	uint64_t saved = counters[COUNTER_bytes_saved];

	(void)fprintf(
		stderr,
		"seen: %s request%s, %s repeat%s, %s notice%s; %s bytes not given again (about %s "
		"tokens)\n",
		text_number(counters[COUNTER_requests], requests),
		plural(counters[COUNTER_requests]), text_number(counters[COUNTER_repeats], repeats),
		plural(counters[COUNTER_repeats]), text_number(counters[COUNTER_notices], notices),
		plural(counters[COUNTER_notices]), text_number(saved, bytes),
		text_number(text_tokens(saved), tokens));
	(void)fprintf(stderr,
		      "seen: %u file%s changed by the agent, %u by its tools; %u process%s could "
		      "not be observed%s%s%s\n",
		      summary->edited_by_agent, plural(summary->edited_by_agent),
		      summary->edited_by_tool, summary->unobserved,
		      summary->unobserved == 1 ? "" : "es", summary->unobserved ? " (" : "",
		      summary->unobserved_names, summary->unobserved ? ")" : "");
	if (!summary->agent_known)
		(void)fprintf(stderr, "seen: no known agent was started, so nothing was answered: "
				      "name it with --agent NAME\n");
	(void)fprintf(stderr, "seen: session %s\n", session_name);
}
