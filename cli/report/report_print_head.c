/* A report at a glance: see report_print_head.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/text.h"
#include "cli/report/report_print_head.h"
#include "cli/session/journal_file.h"

enum {
	NS_PER_SECOND = 1000000000,
	RUNS_SHOWN = 3,
};

const char *report_duration(uint64_t ns, char *ret_text)
{
	uint64_t seconds = ns / NS_PER_SECOND;

	if (seconds == 0)
		(void)snprintf(ret_text, REPORT_DURATION_BYTES, "%u ms", (unsigned)(ns / 1000000));
	else if (seconds < 60)
		(void)snprintf(ret_text, REPORT_DURATION_BYTES, "%u s", (unsigned)seconds);
	else if (seconds < 3600)
		(void)snprintf(ret_text, REPORT_DURATION_BYTES, "%u min %u s",
			       (unsigned)(seconds / 60), (unsigned)(seconds % 60));
	else
		(void)snprintf(ret_text, REPORT_DURATION_BYTES, "%s h %u min",
			       sheet_number(seconds / 3600), (unsigned)(seconds % 3600 / 60));
	return ret_text;
}

const char *report_bytes(uint64_t bytes, bool at_least)
{
	static char text[TEXT_NUMBER_BYTES + 8];
	(void)snprintf(text, sizeof(text), "%s%s",
		       bytes || !at_least ? sheet_number(bytes) : "not known",
		       bytes && at_least ? "+" : "");
	return text;
}

/* Adds "COUNT WHAT", with a comma before all but the first. */
static void add(struct sheet *sheet, bool *first, uint64_t count, const char *what,
		const char *ending)
{
	if (!count)
		return;
	sheet_print(sheet, "%s%s %s%s%s", *first ? "" : ", ", sheet_number(count), what,
		    ending ? text_plural(count) : "", ending ? ending : "");
	*first = false;
}

static uint64_t guarded(const struct report *report, enum guard_verdict verdict)
{
	uint64_t sum = 0;
	for (unsigned reason = 0; reason < REPORT_REASONS; reason++)
		sum += report->writes.guarded[reason][verdict];
	return sum;
}

static void print_conflicts_fact(const struct report *report, struct sheet *sheet)
{
	const struct report_write_counts *writes = &report->writes;
	uint64_t elsewhere = writes->changed + writes->added + writes->deleted;
	uint64_t warned = guarded(report, GUARD_WARN), denied = guarded(report, GUARD_DENY);
	bool first = true, stands_out = warned || denied;

	sheet_fact(sheet, "conflicts");
	if (stands_out)
		sheet_warn(sheet);
	add(sheet, &first, denied, "write", " denied");
	add(sheet, &first, warned, "write", " warned of");
	if (stands_out)
		sheet_calm(sheet);
	add(sheet, &first, elsewhere, "external change", "");
	if (first)
		sheet_print(sheet, "none");
	sheet_finish(sheet);
}

static void print_rules_fact(const struct report *report, struct sheet *sheet)
{
	const uint64_t *ruled = report->ruled;
	bool first = true, stands_out = ruled[RULE_ACTION_DENY] || ruled[RULE_ACTION_FAIL];

	if (!report->rule_count)
		return;
	sheet_fact(sheet, "rules");
	if (stands_out)
		sheet_warn(sheet);
	add(sheet, &first, ruled[RULE_ACTION_DENY], "denied", NULL);
	add(sheet, &first, ruled[RULE_ACTION_FAIL], "to fail the run", NULL);
	if (stands_out)
		sheet_calm(sheet);
	add(sheet, &first, ruled[RULE_ACTION_WARN], "warned of", NULL);
	add(sheet, &first, ruled[RULE_ACTION_LOG], "only recorded", NULL);
	sheet_finish(sheet);
}

static void print_saved(const struct report *report, struct sheet *sheet)
{
	const struct report_saved *saved = &report->saved;
	bool first = true;

	sheet_fact(sheet, "saved");
	if (saved->bytes)
		sheet_print(sheet, "%s bytes, about %s tokens", sheet_number(saved->bytes),
			    sheet_number(saved->tokens));
	else
		sheet_print(sheet, "nothing");
	if (saved->notices || saved->diffs || saved->commands) {
		sheet_print(sheet, ": ");
		add(sheet, &first, saved->notices, "notice", "");
		add(sheet, &first, saved->diffs, "diff", "");
		add(sheet, &first, saved->commands, "command", "");
	}
	if (saved->given_again)
		sheet_print(sheet, "; %s asked for again", sheet_number(saved->given_again));
	sheet_finish(sheet);
	if (report->has_segment && report->counters[COUNTER_bytes_saved] != saved->bytes) {
		sheet_fact(sheet, "");
		sheet_print(sheet, "the session itself counted %s bytes",
			    sheet_number(report->counters[COUNTER_bytes_saved]));
		sheet_finish(sheet);
	}
}

static uint64_t files_with(const struct report *report, bool written)
{
	uint64_t count = 0;
	for (size_t i = 0; i < report->file_count; i++) {
		const struct report_work *work = &report->files[i].work;
		if (written && report->files[i].fold == REPORT_STATE)
			continue;
		count += written ? work->opens_write || work->bytes_written || work->changes
				 : work->opens_read || work->bytes_read;
	}
	return count;
}

static const char *bytes_in_words(uint64_t bytes, bool at_least)
{
	static char text[TEXT_NUMBER_BYTES + 16];

	if (!bytes && at_least)
		return "bytes not known";
	(void)snprintf(text, sizeof(text), "%s bytes", report_bytes(bytes, at_least));
	return text;
}

static void print_files_facts(const struct report *report, struct sheet *sheet)
{
	const struct report_work *work = &report->work;
	const struct report_work *elsewhere = &report->elsewhere;
	const struct report_work *state = &report->agent_state;
	const char *more = report->files_left_out ? "at least " : "";
	uint64_t repeats = 0;

	for (size_t i = 0; i < report->file_count; i++)
		repeats += report->files[i].repeats;
	sheet_fact(sheet, "read");
	uint64_t files = files_with(report, false);
	sheet_print(sheet, "%s%s file%s, %s", more, sheet_number(files), text_plural(files),
		    bytes_in_words(work->bytes_read, work->read_more));
	if (repeats)
		sheet_print(sheet, "; opened again as they were: %s%s time%s", more,
			    sheet_number(repeats), text_plural(repeats));
	sheet_finish(sheet);
	sheet_fact(sheet, "written");
	files = files_with(report, true);
	sheet_print(sheet, "%s%s file%s, %s", more, sheet_number(files), text_plural(files),
		    bytes_in_words(work->bytes_written - state->bytes_written, work->written_more));
	if (elsewhere->opens_write || elsewhere->changes)
		sheet_print(sheet, "; outside the workspace %s open%s, %s change%s",
			    sheet_number(elsewhere->opens_write),
			    text_plural(elsewhere->opens_write), sheet_number(elsewhere->changes),
			    text_plural(elsewhere->changes));
	if (state->opens_write || state->changes)
		sheet_print(sheet, "; of the agent's own state %s open%s, %s change%s",
			    sheet_number(state->opens_write), text_plural(state->opens_write),
			    sheet_number(state->changes), text_plural(state->changes));
	sheet_finish(sheet);
}

static void print_coverage_facts(const struct report *report, struct sheet *sheet)
{
	const struct report_coverage *coverage = &report->coverage;
	bool first = false;

	sheet_fact(sheet, "coverage");
	if (coverage->runs)
		sheet_print(sheet, "%s process%s observed, %s not, %s in part",
			    sheet_number(coverage->observed), coverage->observed == 1 ? "" : "es",
			    sheet_number(coverage->unobserved), sheet_number(coverage->partial));
	else
		sheet_print(sheet, "not told: no run has ended");
	sheet_finish(sheet);
	if (!coverage->lost && !coverage->undone && !coverage->damaged && !report->unknown)
		return;
	first = true;
	sheet_fact(sheet, "missing");
	sheet_warn(sheet);
	add(sheet, &first, coverage->lost, "record", " that could not be written");
	add(sheet, &first, coverage->undone, "record", " not finished");
	add(sheet, &first, coverage->damaged, "record", " damaged");
	add(sheet, &first, report->unknown, "record", " of a later version");
	sheet_calm(sheet);
	sheet_finish(sheet);
}

static void print_seal(const struct report *report, struct sheet *sheet)
{
	const struct verified *verified = &report->verified;
	char digest[SEAL_TEXT_BYTES];

	sheet_fact(sheet, "seal");
	if (report->verify_error) {
		sheet_print(sheet, "could not be checked: %s",
			    journal_file_explain(report->verify_error));
	} else if (verified->verdict == VERIFIED_TAMPERED) {
		sheet_warn(sheet);
		sheet_print(sheet, "NOT what was sealed");
		sheet_calm(sheet);
		sheet_print(sheet, ": `seen verify` says where");
	} else if (verified->verdict == VERIFIED_NO_SEAL) {
		sheet_print(sheet, "none");
	} else {
		sheet_print(sheet, "intact, digest %.16s...", seal_last(&verified->seal, digest));
		if (verified->report.not_sealed)
			sheet_print(sheet, "; %s record%s behind it",
				    sheet_number(verified->report.not_sealed),
				    text_plural(verified->report.not_sealed));
	}
	sheet_finish(sheet);
}

static void print_runs(const struct report *report, size_t top, struct sheet *sheet)
{
	char time[CLOCK_WORD_BYTES], text[REPORT_DURATION_BYTES];

	for (size_t i = 0; i < report->run_count && i < top; i++) {
		const struct report_run *run = &report->runs[i];
		sheet_fact(sheet, i ? "" : report->run_count > 1 ? "runs" : "run");
		sheet_print(sheet, "%s ", clock_hours(run->start_ns, time));
		if (run->end_ns >= run->start_ns && run->end_ns)
			sheet_print(sheet, "%s  ",
				    report_duration(run->end_ns - run->start_ns, text));
		else
			sheet_print(sheet, "(no end recorded)  ");
		sheet_name(sheet, run->command);
		sheet_finish(sheet);
	}
	uint64_t rest = report->run_count + report->runs_left_out;
	if (rest > top) {
		sheet_fact(sheet, "");
		sheet_print(sheet, "and %s more", sheet_number(rest - top));
		sheet_finish(sheet);
	}
}

void report_print_head(const struct report *report, size_t top, struct sheet *sheet)
{
	char start[TEXT_TIME_BYTES], text[REPORT_DURATION_BYTES];

	if (sheet->form == SHEET_MARKDOWN)
		sheet_print(sheet, "## What an agent did with files\n\n");
	sheet_fact(sheet, "session");
	sheet_name(sheet, report->session);
	sheet_finish(sheet);
	if (report->workspace) {
		sheet_fact(sheet, "workspace");
		sheet_name(sheet, report->workspace);
		sheet_finish(sheet);
	}
	sheet_fact(sheet, "time");
	if (report->start_ns)
		sheet_print(sheet, "%s, %s", clock_stamp(report->start_ns, start),
			    report_duration(report->end_ns - report->start_ns, text));
	else
		sheet_print(sheet, "nothing was recorded");
	sheet_finish(sheet);
	print_runs(report, top < RUNS_SHOWN ? top : RUNS_SHOWN, sheet);
	print_conflicts_fact(report, sheet);
	print_rules_fact(report, sheet);
	print_saved(report, sheet);
	print_files_facts(report, sheet);
	print_coverage_facts(report, sheet);
	print_seal(report, sheet);
}
