/* What a person should know of a run: see findings.h. */
#include "cli/run/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/run/unsaid.h"
#include "cli/session/counts.h"
#include "tracker/path/path.h"

__attribute__((format(printf, 2, 3))) static void add(struct findings *findings, const char *format,
						      ...)
{
	va_list arguments;

	if (findings->count++ >= FINDINGS_SHOWN)
		return;
	va_start(arguments, format);
	(void)vsnprintf(findings->texts[findings->count - 1], FINDING_BYTES, format, arguments);
	va_end(arguments);
}

/* Writes over what the agent had not seen: the first by its file and what brings it back. */
static void add_conflicts(const struct session *session, const struct summary *sum, uint64_t since,
			  struct findings *findings)
{
	uint64_t count = counts_sum(sum->counters, COUNT_WARNED) +
			 counts_sum(sum->counters, COUNT_DENIED);
	char line[FINDING_BYTES], number[TEXT_NUMBER_BYTES];

	if (!count)
		return;
	if (!unsaid_first(&session->segment, session_journal(session), since, line, sizeof(line)))
		(void)snprintf(line, sizeof(line),
			       "a file was overwritten that the agent had not "
			       "seen as it was");
	if (count > 1)
		add(findings, "%.800s; %s more write%s like it (`seen log --op guarded`)", line,
		    text_number(count - 1, number), text_plural(count - 1));
	else
		add(findings, "%s", line);
}

static void add_notices(const struct summary *sum, struct findings *findings)
{
	uint64_t refused = sum->counters[COUNTER_notices_refused];
	char number[TEXT_NUMBER_BYTES];

	if (sum->notice_files)
		add(findings, "a notice was stored as content in %s%s", sum->notice_names[0],
		    sum->notice_files > 1 ? " and others" : "");
	if (refused)
		add(findings, "%s write%s of a notice to a file refused",
		    text_number(refused, number), text_plural(refused));
}

static void add_lost(const struct summary *sum, struct findings *findings)
{
	const uint64_t *counters = sum->counters;
	char number[TEXT_NUMBER_BYTES], text[SUMMARY_WRITES_BYTES];
	uint64_t lost = counters[COUNTER_lost_undo];

	if (lost)
		add(findings,
		    "the content before %s change%s could not be kept and cannot be undone "
		    "(`seen story`)",
		    text_number(lost, number), text_plural(lost));
	if (counters[COUNTER_undo_dropped])
		add(findings,
		    "the oldest steps cannot be undone any more: [undo] max_bytes is reached");
	if (counters[COUNTER_lost_contents])
		add(findings, "%s version%s could not be kept",
		    text_number(counters[COUNTER_lost_contents], number),
		    text_plural(counters[COUNTER_lost_contents]));
	if (summary_lost(sum, text)[0])
		add(findings, "no room in the session's tables: %s forgotten", text);
}

static void add_coverage(const struct coverage *coverage, struct findings *findings)
{
	char text[COVERAGE_TEXT_BYTES], number[TEXT_NUMBER_BYTES];
	int count = coverage->program_count;

	if (count)
		add(findings, "%s %s%s",
		    coverage->programs[0].partly ? "observed in part:" : "not observed:",
		    coverage_text(&coverage->programs[0], text),
		    count > 1 ? ", and other programs (`seen status`)" : "");
	else if (coverage->unobserved)
		add(findings, "%s process%s not observed",
		    text_number(coverage->unobserved, number),
		    coverage->unobserved == 1 ? "" : "es");
	if (coverage->lost_records)
		add(findings, "%s record%s lost%s%s", text_number(coverage->lost_records, number),
		    text_plural(coverage->lost_records), coverage->full_errno ? ": " : "",
		    coverage->full_errno ? strerror(coverage->full_errno) : "");
	if (coverage->calls_unjudged)
		add(findings, "%s call%s not checked",
		    text_number(coverage->calls_unjudged, number),
		    text_plural(coverage->calls_unjudged));
}

void findings_gather(const struct session *session, const struct summary *sum, uint64_t since,
		     const struct outlive *outlived, const char *elder,
		     struct findings *ret_findings)
{
	char text[SUMMARY_WRITES_BYTES];

	*ret_findings = (struct findings){ .count = 0 };
	add_conflicts(session, sum, since, ret_findings);
	add_notices(sum, ret_findings);
	if (summary_rules(sum, text)[0])
		add(ret_findings, "rules: %s (`seen log --op ruled`)", text);
	add_lost(sum, ret_findings);
	add_coverage(&sum->coverage, ret_findings);
	if (elder[0])
		add(ret_findings, "%s", elder);
	if (outlived->is_stranded)
		add(ret_findings,
		    "supervisor and guardian were killed: calls fail with ENOSYS in %s",
		    outlived->stranded);
	if (outlived->count)
		add(ret_findings, "%u process%s on after the end: %s", outlived->count,
		    outlived->count == 1 ? " goes" : "es go", outlived->names);
	if (summary_unknown_agents(sum, text)[0])
		add(ret_findings, "%s", text);
}
