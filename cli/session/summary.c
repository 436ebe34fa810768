/* Summaries: see summary.h. */
#include "cli/session/summary.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/tokens.h"
#include "cli/session/changes.h"
#include "cli/session/counts.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/file.h"
#include "tracker/guard/guard.h"
#include "tracker/path/path.h"
#include "tracker/process/process.h"
#include "tracker/process/scope.h"
#include "tracker/segment/tables.h"
#include "tracker/segment/workspace.h"

struct file_sum {
	const struct segment *segment;
	struct summary *summary;
	uint64_t since_realtime_ns;
	bool is_agents[SUMMARY_NAMES]; /* of the names that are kept */
};

/* Names a file, if the notice is in it still. */
static void add_notice_file(const struct segment *segment, const char *path,
			    struct summary *summary)
{
	struct version version;
	bool has_notice = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

	if (fd < 0)
		return;
	if (guard_scan(segment, fd, &version, &has_notice) == 0 && has_notice) {
		unsigned place = summary->notice_files++;
		if (place < SUMMARY_NAMES &&
		    path_escape(path_relative(segment, path), summary->notice_names[place],
				SUMMARY_NAME_BYTES) < 0)
			(void)snprintf(summary->notice_names[place], SUMMARY_NAME_BYTES,
				       "(a long name)");
	}
	(void)close(fd);
}

/* Keeps the name of a changed file: the agent's before those of tools, which move behind it as far as
 * there is room. */
static void add_changed_file(struct file_sum *sum, const char *path, bool is_agents)
{
	unsigned place = 0;

	while (place < SUMMARY_NAMES && sum->summary->changed_names[place][0] &&
	       !(is_agents && !sum->is_agents[place]))
		place++;
	if (place == SUMMARY_NAMES)
		return;
	unsigned behind = SUMMARY_NAMES - 1 - place;
	memmove(sum->summary->changed_names + place + 1, sum->summary->changed_names + place,
		behind * sizeof(sum->summary->changed_names[0]));
	memmove(sum->is_agents + place + 1, sum->is_agents + place,
		behind * sizeof(sum->is_agents[0]));
	sum->is_agents[place] = is_agents;
	if (path_escape(path_relative(sum->segment, path), sum->summary->changed_names[place],
			SUMMARY_NAME_BYTES) < 0)
		(void)snprintf(sum->summary->changed_names[place], SUMMARY_NAME_BYTES,
			       "(a long name)");
}

static int add_file(const char *path, const struct file_slot *file, void *data)
{
	struct file_sum *sum = data;

	sum->summary->files++;
	struct change change = change_of(file, CHANGE_EVER);
	if (!change.counts || file->last_edit_realtime_ns < sum->since_realtime_ns)
		return 0;
	sum->summary->removed += change.fate == FATE_IS_REMOVED;
	add_changed_file(sum, path, change.source == SOURCE_AGENT);
	if (file->flags & FILE_HELD_NOTICE)
		add_notice_file(sum->segment, path, sum->summary);
	sum->summary->edited_by_agent += change.source == SOURCE_AGENT;
	sum->summary->edited_by_tool += change.source == SOURCE_TOOL;
	return 0;
}

/* A program that may be an agent which was not named. */
static void add_unknown(struct summary *summary, const char *name)
{
	for (unsigned i = 0; i < summary->unknown_count; i++)
		if (strcmp(summary->unknown[i], name) == 0)
			return;
	if (summary->unknown_count < SUMMARY_UNKNOWN_MAX)
		(void)snprintf(summary->unknown[summary->unknown_count++],
			       sizeof(summary->unknown[0]), "%s", name);
}

static void add_processes(const struct segment *segment, uint64_t since_ns, struct summary *summary)
{
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		struct process_slot process;
		if (!process_read(segment, i, &process) || process.state == PROCESS_FREE ||
		    process.time_ns < since_ns)
			continue;
		if (process.context.role == ROLE_AGENT ||
		    (process.context.flags & CONTEXT_EXTERNAL_AGENT))
			summary->agent_known = true;
		if (process.context.role == ROLE_TOOL && (process.context.flags & CONTEXT_UNKNOWN))
			add_unknown(summary, process.name);
	}
}

void summary_compute(const struct segment *segment, const struct journal *journal,
		     const uint64_t *since_counters, uint64_t since_realtime_ns, uint64_t since_ns,
		     struct summary *ret_summary)
{
	struct summary summary = { 0 };
	struct file_sum sum = { segment, &summary, since_realtime_ns, { false } };

	counts_compute(segment, since_counters, since_ns, summary.counters);
	(void)tracker_each_file(segment, add_file, &sum);
	summary.contents_bytes = __atomic_load_n(&segment->header->contents_bytes,
						 __ATOMIC_RELAXED);
	add_processes(segment, since_ns, &summary);
	coverage_compute(segment, journal, summary.counters, since_ns, &summary.coverage);
	outputs_count(segment, 0, &summary.outputs);
	*ret_summary = summary;
}

/* Adds ", COUNT WHAT", unless it is none.  ending: what follows a noun, which gets its plural;
 * NULL: `what` is no noun. */
static void add_count(char *text, uint64_t count, const char *what, const char *ending)
{
	char number[TEXT_NUMBER_BYTES];
	size_t used = strlen(text);

	if (count)
		(void)snprintf(text + used, SUMMARY_WRITES_BYTES - used, "%s%s %s%s%s",
			       used ? ", " : "", text_number(count, number), what,
			       ending ? text_plural(count) : "", ending ? ending : "");
}

const char *summary_writes(const struct summary *summary, char *ret_text)
{
	const uint64_t *counters = summary->counters;
	char number[TEXT_NUMBER_BYTES];

	ret_text[0] = '\0';
	add_count(ret_text, counts_sum(counters, COUNT_WARNED), "warned of", NULL);
	add_count(ret_text, counts_sum(counters, COUNT_DENIED), "denied", NULL);
	add_count(ret_text, counters[COUNTER_notices_refused], "notice", " refused");
	add_count(ret_text, counters[COUNTER_unguarded], "not checked", NULL);
	add_count(ret_text, counters[COUNTER_edits_outside], "external change", "");
	add_count(ret_text, counters[COUNTER_contents_kept], "version", " kept");
	if (counters[COUNTER_contents_kept]) {
		size_t used = strlen(ret_text);
		(void)snprintf(ret_text + used, SUMMARY_WRITES_BYTES - used, " (%s bytes)",
			       text_number(summary->contents_bytes, number));
	}
	add_count(ret_text, counters[COUNTER_lost_contents], "version", " that could not be kept");
	return ret_text;
}

const char *summary_files(const struct summary *summary, char *ret_text)
{
	int used = snprintf(ret_text, SUMMARY_WRITES_BYTES,
			    "%u file%s changed by the agent, %u by its tools",
			    summary->edited_by_agent, text_plural(summary->edited_by_agent),
			    summary->edited_by_tool);
	if (summary->removed)
		(void)snprintf(ret_text + used, SUMMARY_WRITES_BYTES - (size_t)used,
			       "; %u of them removed", summary->removed);
	return ret_text;
}

const char *summary_rules(const struct summary *summary, char *ret_text)
{
	const uint64_t *counters = summary->counters;

	ret_text[0] = '\0';
	add_count(ret_text, counters[COUNTER_rules_denied], "denied", NULL);
	add_count(ret_text, counters[COUNTER_rules_failed], "that fail the run", NULL);
	add_count(ret_text, counters[COUNTER_rules_warned], "warned of", NULL);
	add_count(ret_text, counters[COUNTER_rules_logged], "logged", NULL);
	return ret_text;
}

static void print_coverage(const struct coverage *coverage)
{
	enum { SHOWN = 4 };
	char observed[TEXT_NUMBER_BYTES], unobserved[TEXT_NUMBER_BYTES], opens[TEXT_NUMBER_BYTES];
	char lost[TEXT_NUMBER_BYTES], number[TEXT_NUMBER_BYTES], text[COVERAGE_TEXT_BYTES];

	(void)fprintf(stderr, "seen: %s process%s observed",
		      text_number(coverage->observed, observed),
		      coverage->observed == 1 ? "" : "es");
	if (coverage->supervised)
		(void)fprintf(stderr, " (%s by the supervisor)",
			      text_number(coverage->supervised, number));
	(void)fprintf(
		stderr, ", %s not; %s opens seen, %s record%s lost",
		text_number(coverage->unobserved, unobserved), text_number(coverage->opens, opens),
		text_number(coverage->lost_records, lost), text_plural(coverage->lost_records));
	if (coverage->full_errno)
		(void)fprintf(stderr, " (the journal could not grow: %s)",
			      strerror(coverage->full_errno));
	if (coverage->calls_unjudged)
		(void)fprintf(stderr, ", %s call%s not checked",
			      text_number(coverage->calls_unjudged, number),
			      text_plural(coverage->calls_unjudged));
	(void)fputc('\n', stderr);
	for (int i = 0; i < coverage->program_count && i < SHOWN; i++)
		(void)fprintf(stderr, "seen: %s %s\n",
			      coverage->programs[i].partly ? "observed in part:" : "not observed:",
			      coverage_text(&coverage->programs[i], text));
	if (coverage->program_count > SHOWN)
		(void)fprintf(stderr, "seen: and %d more; `seen status` lists them\n",
			      coverage->program_count - SHOWN);
}

/* What cannot be undone. */
static void print_undo(const struct summary *summary)
{
	char number[TEXT_NUMBER_BYTES];
	uint64_t lost = summary->counters[COUNTER_lost_undo];

	if (summary->counters[COUNTER_undo_dropped])
		(void)fprintf(stderr,
			      "seen: undo: the oldest steps cannot be undone any more: what is "
			      "kept reached [undo] max_bytes\n");
	if (lost)
		(void)fprintf(stderr,
			      "seen: undo: the content before %s change%s could not be kept; "
			      "`seen story` says which and why\n",
			      text_number(lost, number), text_plural(lost));
}

static bool is_conflict(const uint64_t *counters)
{
	return counts_sum(counters, COUNT_CONFLICTS) || counters[COUNTER_edits_outside] ||
	       counters[COUNTER_lost_contents];
}

const char *summary_lost(const struct summary *summary, char *ret_text)
{
	const uint64_t *counters = summary->counters;

	ret_text[0] = '\0';
	add_count(ret_text, counters[COUNTER_lost_files], "file", "");
	add_count(ret_text, counters[COUNTER_lost_processes], "program", "");
	add_count(ret_text, counters[COUNTER_lost_baselines], "baseline", "");
	return ret_text;
}

const char *summary_unknown_agents(const struct summary *summary, char *ret_text)
{
	enum { FEW = 2 }; /* build programs, too, have a shell print a file for them */
	char name[sizeof(summary->unknown[0]) * 4];
	size_t used;

	ret_text[0] = '\0';
	if (summary->agent_known || summary->counters[COUNTER_viewers_without_agent] < FEW)
		return ret_text;
	(void)snprintf(ret_text, SUMMARY_WRITES_BYTES,
		       "no agent was found: name the program that asks the model by --agent NAME");
	for (unsigned i = 0; i < summary->unknown_count; i++)
		if (path_escape(summary->unknown[i], name, sizeof(name)) >= 0 &&
		    (used = strlen(ret_text)) < SUMMARY_WRITES_BYTES)
			(void)snprintf(ret_text + used, SUMMARY_WRITES_BYTES - used, "%s%s",
				       i ? ", " : "; started here: ", name);
	return ret_text;
}

/* Why nothing could be answered, where something might have been. */
static void print_unanswered(const struct summary *summary)
{
	char number[TEXT_NUMBER_BYTES], text[SUMMARY_WRITES_BYTES];
	const uint64_t *counters = summary->counters;
	uint64_t direct = counters[COUNTER_viewers_without_shell];
	uint64_t own = counters[COUNTER_own_repeats];

	if (summary_unknown_agents(summary, text)[0])
		(void)fprintf(stderr, "seen: %s\n", text);
	if (direct)
		(void)fprintf(stderr,
			      "seen: not answered: %s cat%s that the agent started itself; only "
			      "what a shell runs for it is\n",
			      text_number(direct, number), text_plural(direct));
	else if (own && !counters[COUNTER_requests])
		(void)fprintf(stderr,
			      "seen: not answered: %s file%s that the agent's own code read again; "
			      "only what a shell runs for it is\n",
			      text_number(own, number), text_plural(own));
}

void summary_print(const struct summary *summary, const char *session_name)
{
	char requests[TEXT_NUMBER_BYTES], repeats[TEXT_NUMBER_BYTES], notices[TEXT_NUMBER_BYTES];
	char bytes[TEXT_NUMBER_BYTES], tokens[TEXT_NUMBER_BYTES], writes[SUMMARY_WRITES_BYTES];
	const uint64_t *counters = summary->counters, saved = counters[COUNTER_bytes_saved];
	char diffs[TEXT_NUMBER_BYTES], more[TEXT_NUMBER_BYTES + 16] = "";
	uint64_t repeated = counts_sum(counters, COUNT_REPEATS);
	uint64_t answered = counts_sum(counters, COUNT_NOTICES);

	if (counters[COUNTER_diffs])
		(void)snprintf(more, sizeof(more), ", %s diff%s",
			       text_number(counters[COUNTER_diffs], diffs),
			       text_plural(counters[COUNTER_diffs]));
	(void)fprintf(
		stderr,
		"seen: %s request%s, %s repeat%s, %s notice%s%s; %s bytes not given again (about "
		"%s "
		"tokens)\n",
		text_number(counters[COUNTER_requests], requests),
		text_plural(counters[COUNTER_requests]), text_number(repeated, repeats),
		text_plural(repeated), text_number(answered, notices), text_plural(answered), more,
		text_number(saved, bytes), text_number(tokens_of_bytes(saved), tokens));
	(void)fprintf(stderr, "seen: %s\n", summary_files(summary, writes));
	/* That something was kept is worth a line where the user may want it back. */
	if (is_conflict(counters) && summary_writes(summary, writes)[0])
		(void)fprintf(stderr, "seen: writes: %s\n", writes);
	for (unsigned i = 0; i < summary->notice_files && i < SUMMARY_NAMES; i++)
		(void)fprintf(stderr, "%s%s", i ? ", " : "seen: a notice was stored as content in ",
			      summary->notice_names[i]);
	if (summary->notice_files > SUMMARY_NAMES)
		(void)fprintf(stderr, " and %u more", summary->notice_files - SUMMARY_NAMES);
	if (summary->notice_files)
		(void)fputc('\n', stderr);
	if (summary_rules(summary, writes)[0])
		(void)fprintf(stderr, "seen: rules: %s\n", writes);
	if (counters[COUNTER_receivers_unknown])
		(void)fprintf(stderr,
			      "seen: %s output%s given in full: it is not known who reads %s\n",
			      text_number(counters[COUNTER_receivers_unknown], requests),
			      text_plural(counters[COUNTER_receivers_unknown]),
			      counters[COUNTER_receivers_unknown] == 1 ? "it" : "them");
	print_undo(summary);
	print_coverage(&summary->coverage);
	if (summary_lost(summary, writes)[0])
		(void)fprintf(
			stderr,
			"seen: no room in the session's tables: %s forgotten; `seen status` says "
			"how full they are, [session] in seen.ini makes them larger\n",
			writes);
	const struct outputs *outputs = &summary->outputs;
	if (outputs->unproven)
		(void)fprintf(stderr,
			      "seen: %u of %u outputs with files in them were not found in the "
			      "agent's transcript\n",
			      outputs->unproven,
			      outputs->proven + outputs->unproven + outputs->contradicted +
				      outputs->off_branch);
	print_unanswered(summary);
	(void)fprintf(stderr, "seen: session %s\n", session_name);
}
