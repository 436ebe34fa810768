/* A report for people, its tables: see report_print.h; what stands above them is
 * report_print_head.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/text.h"
#include "cli/journal/event_filter.h"
#include "cli/journal/event_print.h"
#include "cli/journal/event_words.h"
#include "cli/report/report_fate.h"
#include "cli/report/report_order.h"
#include "cli/report/report_print.h"
#include "cli/report/report_print_head.h"
#include "cli/undo/story_print.h"
#include "tracker/path/path.h"

#define COLUMNS(table) (table), sizeof(table) / sizeof((table)[0])

const char *report_path(const struct report *report, const char *path)
{
	return event_path_shown(report->workspace, path);
}

/* What a table does not show. */
static void note_rest(struct sheet *sheet, uint64_t count, size_t top, const char *what)
{
	if (count == top + 1)
		sheet_note(sheet, "and one more");
	else if (count > top)
		sheet_note(sheet, "and %s more %s", sheet_number(count - top), what);
}

/* ---- what it did ---- */

static int print_changes(const struct report *report, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = {
		{ "WHAT", -8 }, { "BYTES", 13 }, { "FILE", -32 }, { "BY", 0 }
	};
	const struct report_file **rows = calloc(top + 1, sizeof(const struct report_file *));
	int64_t count = rows ? report_changed_files(report, top, rows) : -ENOMEM;
	uint64_t git = report_changed_count(report, REPORT_GIT);
	uint64_t state = report_changed_count(report, REPORT_STATE);

	if (count > 0 || git || state)
		sheet_section(sheet, "What it did to files");
	if (count > 0)
		sheet_table(sheet, COLUMNS(TABLE));
	for (int64_t i = 0; i < count && i < (int64_t)top; i++) {
		const struct report_file *file = rows[i];
		bool removed = fate_of(file->fate) == FATE_IS_REMOVED;
		sheet_cell(sheet, fate_name(fate_of(file->fate)));
		sheet_cell(sheet, removed || !file->work.opens_write
					  ? "" /* a name alone was changed */
					  : report_bytes(file->work.bytes_written,
							 file->work.written_more));
		sheet_cell_name(sheet, report_path(report, file->path));
		if (file->by < report->command_count)
			sheet_cell_name(sheet, report->commands[file->by].text);
		else
			sheet_cell(sheet, file->by_agent ? "the agent itself" : "");
		sheet_finish(sheet);
	}
	if (count > 0)
		note_rest(sheet, (uint64_t)count, top, "files");
	if (git)
		sheet_note(sheet, "%s file%s of .git", sheet_number(git), text_plural(git));
	if (state)
		sheet_note(sheet, "%s file%s of the agent's own state", sheet_number(state),
			   text_plural(state));
	free(rows);
	return count < 0 ? (int)count : 0;
}

static void print_commands(const struct report *report, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = { { "TIME", -8 }, { "COMMAND", 0 } };
	char time[CLOCK_WORD_BYTES];

	if (report_has_story(report)) {
		sheet_section(sheet, "What it ran, step by step");
		story_print_table(&report->story, top, sheet);
		return;
	}
	if (!report->command_count)
		return;
	sheet_section(sheet, "What it ran");
	sheet_table(sheet, COLUMNS(TABLE));
	for (size_t i = 0; i < report->command_count && i < top; i++) {
		sheet_cell(sheet, clock_hours(report->commands[i].time_ns, time));
		sheet_cell_name(sheet, report->commands[i].text);
		sheet_finish(sheet);
	}
	note_rest(sheet, report->command_count + report->commands_left_out, top, "commands");
}

/* ---- conflicts ---- */

static void cell_version(struct sheet *sheet, const struct report_conflict *conflict)
{
	char digits[VERSION_DIGITS + 1];

	version_digits(&conflict->before, digits);
	sheet_cell(sheet, conflict->kept && !version_is_none(&conflict->before) ? digits : "");
}

static void cell_what(struct sheet *sheet, const struct report_conflict *conflict)
{
	char text[64];

	if (conflict->kind == REPORT_GUARDED)
		(void)snprintf(text, sizeof(text), "%s: %s", event_verdict_name(conflict->verdict),
			       event_guard_reason_name(conflict->reason));
	else
		(void)snprintf(text, sizeof(text), "%s %s",
			       event_change_name(conflict->change)
				       ? event_change_name(conflict->change)
				       : "changed",
			       conflict->source == SOURCE_USER ? "outside" : "by whom?");
	sheet_cell(sheet, text);
}

static void print_conflicts(const struct report *report, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = {
		{ "TIME", -8 }, { "WHAT", -18 }, { "KEPT", -12 }, { "BY", -12 }, { "PATH", 0 }
	};
	const struct report_write_counts *writes = &report->writes;
	char time[CLOCK_WORD_BYTES];
	uint64_t kept = 0;

	if (!report->conflict_count)
		return;
	sheet_section(sheet, "Conflicts");
	sheet_table(sheet, COLUMNS(TABLE));
	for (size_t i = 0; i < report->conflict_count && i < top; i++) {
		const struct report_conflict *conflict = &report->conflicts[i];
		sheet_cell(sheet, clock_hours(conflict->time_ns, time));
		cell_what(sheet, conflict);
		cell_version(sheet, conflict);
		if (conflict->executable)
			sheet_cell_name(sheet, path_base(conflict->executable));
		else
			sheet_cell(sheet, "");
		sheet_cell_name(sheet, report_path(report, conflict->path));
		sheet_finish(sheet);
	}
	note_rest(sheet, report->conflict_count + report->conflicts_left_out, top, "conflicts");
	for (unsigned reason = 0; reason < REPORT_KEPT_REASONS; reason++)
		kept += writes->kept[reason];
	if (kept)
		sheet_note(sheet,
			   "%s version%s kept (%s bytes): `seen versions` lists them, `seen "
			   "restore PATH KEPT` brings one back",
			   sheet_number(kept), text_plural(kept), sheet_number(writes->kept_bytes));
}

/* ---- rules ---- */

static void print_rules(const struct report *report, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = {
		{ "HITS", 7 }, { "ACTION", -6 }, { "OF", -16 }, { "RULE", -20 }, { "FIRST", 0 }
	};

	if (!report->rule_count)
		return;
	sheet_section(sheet, "Rules");
	sheet_table(sheet, COLUMNS(TABLE));
	for (size_t i = 0; i < report->rule_count && i < top; i++) {
		const struct report_rule *rule = &report->rules[i];
		char accesses[128] = "";
		size_t used = 0;
		for (uint32_t op = 1; op < RULE_ANY; op <<= 1)
			if (rule->accesses & op)
				used += (size_t)snprintf(accesses + used, sizeof(accesses) - used,
							 "%s%s", used ? "," : "", rule_op_name(op));
		sheet_cell_count(sheet, rule->count);
		sheet_cell(sheet, rule_action_name(rule->action));
		sheet_cell(sheet, accesses);
		sheet_cell_name(sheet, rule->name);
		sheet_cell_name(sheet,
				rule->examples[0] ? report_path(report, rule->examples[0]) : "?");
		sheet_finish(sheet);
	}
	note_rest(sheet, report->rule_count, top, "rules");
	sheet_note(sheet, "`seen log --op ruled` lists each.");
}

/* ---- files ---- */

static void cells_read(struct sheet *sheet, const struct report_file *file)
{
	sheet_cell(sheet, report_bytes(file->work.bytes_read, file->work.read_more));
	sheet_cell_count(sheet, file->work.opens_read);
	sheet_cell_count(sheet, file->repeats);
}

static void cells_written(struct sheet *sheet, const struct report_file *file)
{
	sheet_cell(sheet, report_bytes(file->work.bytes_written, file->work.written_more));
	sheet_cell_count(sheet, file->work.opens_write);
	sheet_cell_count(sheet, file->edits);
}

static void cells_repeated(struct sheet *sheet, const struct report_file *file)
{
	sheet_cell_count(sheet, file->repeats);
	sheet_cell_count(sheet, file->work.notices);
	sheet_cell_count(sheet, file->work.bytes_saved);
}

static void cells_elsewhere(struct sheet *sheet, const struct report_file *file)
{
	sheet_cell_count(sheet, file->work.opens_write);
	sheet_cell_count(sheet, file->work.changes);
	sheet_cell(sheet, report_bytes(file->work.bytes_written, file->work.written_more));
}

static const struct ranking {
	const char *title;
	enum report_order order;
	struct sheet_column columns[4];
	void (*cells)(struct sheet *sheet, const struct report_file *file);
} RANKINGS[] = {
	{ "Written outside the workspace",
	  REPORT_ELSEWHERE_BY_WRITTEN,
	  { { "OPENS", 7 }, { "CHANGES", 7 }, { "BYTES", 13 }, { "PATH", 0 } },
	  cells_elsewhere },
	{ "Files by bytes written",
	  REPORT_BY_WRITTEN,
	  { { "BYTES", 13 }, { "OPENS", 7 }, { "EDITS", 7 }, { "PATH", 0 } },
	  cells_written },
	{ "Files by repeats",
	  REPORT_BY_REPEATS,
	  { { "REPEATS", 13 }, { "NOTICES", 7 }, { "SAVED", 9 }, { "PATH", 0 } },
	  cells_repeated },
	{ "Files by bytes read",
	  REPORT_BY_READ,
	  { { "BYTES", 13 }, { "OPENS", 7 }, { "REPEATS", 7 }, { "PATH", 0 } },
	  cells_read },
	{ "Read outside the workspace",
	  REPORT_ELSEWHERE_BY_READ,
	  { { "BYTES", 13 }, { "OPENS", 7 }, { "REPEATS", 7 }, { "PATH", 0 } },
	  cells_read },
};

/* Is there nothing to print for a file in a table of numbers?  What came and went, and what was
 * removed without having been written, or is reported with others. */
static bool is_left_out(const struct report_file *file, enum report_order order)
{
	const struct report_work *work = &file->work;

	if (order == REPORT_ELSEWHERE_BY_WRITTEN || order == REPORT_ELSEWHERE_BY_READ)
		return file->fold == REPORT_STATE;
	return order == REPORT_BY_WRITTEN && !work->bytes_written && !work->opens_write &&
	       (work->changes || file->fate & FATE_GONE);
}

static int print_ranking(const struct report *report, const struct ranking *ranking, size_t top,
			 struct sheet *sheet)
{
	/* Of those that are left out, too: they are passed over. */
	size_t most = report->file_count;
	const struct report_file **rows = calloc(most + 1, sizeof(const struct report_file *));
	int64_t count = rows ? report_files_by(report, ranking->order, most, rows) : -ENOMEM;
	int64_t kept = 0;

	for (int64_t i = 0; i < count; i++)
		if (!is_left_out(rows[i], ranking->order))
			rows[kept++] = rows[i];
	if (count > 0)
		count = kept;
	if (count > 0) {
		sheet_section(sheet, ranking->title);
		sheet_table(sheet, COLUMNS(ranking->columns));
	}
	for (int64_t i = 0; i < count && i < (int64_t)top; i++) {
		ranking->cells(sheet, rows[i]);
		sheet_cell_name(sheet, report_path(report, rows[i]->path));
		sheet_finish(sheet);
	}
	if (count > 0)
		note_rest(sheet, (uint64_t)count, top, "files");
	free(rows);
	return count < 0 ? (int)count : 0;
}

/* ---- who ---- */

static void cells_work(struct sheet *sheet, const struct report_work *work)
{
	sheet_cell_count(sheet, work->opens_read);
	sheet_cell(sheet, report_bytes(work->bytes_read, work->read_more));
	sheet_cell_count(sheet, work->opens_write);
	sheet_cell(sheet, report_bytes(work->bytes_written, work->written_more));
	sheet_cell_count(sheet, work->changes);
}

static void print_roles(const struct report *report, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = { { "OPENS", 8 },   { "BYTES READ", 13 },
						     { "WRITES", 8 },  { "BYTES WRITTEN", 13 },
						     { "CHANGES", 8 }, { "BY", 0 } };

	sheet_section(sheet, "Reads against writes");
	sheet_table(sheet, COLUMNS(TABLE));
	for (uint32_t role = 0; role < REPORT_ROLES; role++) {
		const struct report_work *work = &report->by_role[role];
		if (!work->opens_read && !work->opens_write && !work->changes &&
		    !work->bytes_read && !work->bytes_written)
			continue;
		cells_work(sheet, work);
		sheet_cell(sheet, role < ROLE_COUNT ? role_name(role) : "not known");
		sheet_finish(sheet);
	}
	cells_work(sheet, &report->work);
	sheet_cell(sheet, "all");
	sheet_finish(sheet);
}

static int print_programs(const struct report *report, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = { { "PROCESSES", 9 },   { "OPENS", 8 },
						     { "BYTES READ", 13 }, { "BYTES WRITTEN", 13 },
						     { "FAILED", 8 },      { "PROGRAM", 0 } };
	const struct report_program **rows = calloc(top + 1, sizeof(const struct report_program *));
	int64_t count = rows ? report_programs_by_work(report, top, rows) : -ENOMEM;

	if (count > 0) {
		sheet_section(sheet, "Programs");
		sheet_table(sheet, COLUMNS(TABLE));
	}
	for (int64_t i = 0; i < count && i < (int64_t)top; i++) {
		const struct report_work *work = &rows[i]->work;
		sheet_cell_count(sheet, rows[i]->processes);
		sheet_cell_count(sheet, work->opens_read + work->opens_write);
		sheet_cell(sheet, report_bytes(work->bytes_read, work->read_more));
		sheet_cell(sheet, report_bytes(work->bytes_written, work->written_more));
		sheet_cell_count(sheet, work->failed);
		sheet_cell_name(sheet, rows[i]->path);
		sheet_finish(sheet);
	}
	if (count > 0)
		note_rest(sheet, (uint64_t)count, top, "programs");
	free(rows);
	return count < 0 ? (int)count : 0;
}

static int print_processes(const struct report *report, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = {
		{ "PID", 7 },   { "START", -8 },   { "LASTED", -11 }, { "ROLE", -6 },
		{ "READ", 11 }, { "WRITTEN", 11 }, { "PROGRAM", 0 },
	};
	const struct report_process **rows = calloc(top + 1, sizeof(const struct report_process *));
	int64_t count = rows ? report_processes_by_work(report, top, rows) : -ENOMEM;
	uint64_t copies = report->by_op[JOURNAL_FORK];
	char text[REPORT_DURATION_BYTES];

	if (count > 0) {
		sheet_section(sheet, "Processes");
		sheet_table(sheet, COLUMNS(TABLE));
	}
	for (int64_t i = 0; i < count && i < (int64_t)top; i++) {
		const struct report_process *process = rows[i];
		const struct report_work *work = &process->work;
		bool is_reported = process->end_ns >= process->start_ns && process->end_ns;
		(void)snprintf(text, sizeof(text), "%u", process->pid);
		sheet_cell(sheet, text);
		sheet_cell(sheet, clock_hours(process->start_ns, text));
		sheet_cell(sheet,
			   is_reported ? report_duration(process->end_ns - process->start_ns, text)
				       : "-");
		sheet_cell(sheet, process->role >= 0 ? role_name((uint32_t)process->role) : "-");
		sheet_cell(sheet, report_bytes(work->bytes_read, work->read_more));
		sheet_cell(sheet, report_bytes(work->bytes_written, work->written_more));
		if (process->executable)
			sheet_cell_name(sheet, path_base(process->executable));
		else
			sheet_cell(sheet, "-");
		sheet_finish(sheet);
	}
	if (count > 0)
		note_rest(sheet, (uint64_t)count + report->processes_left_out, top, "processes");
	if (copies)
		sheet_note(sheet,
			   "Programs that were started: %s, as coverage counts them; copies of "
			   "them (fork): %s.",
			   sheet_number(report->by_op[JOURNAL_START]), sheet_number(copies));
	free(rows);
	return count < 0 ? (int)count : 0;
}

/* ---- what was not seen, what was not given ---- */

static void print_unobserved(const struct report *report, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = {
		{ "PROCESSES", 9 }, { "SEEN", -7 }, { "PROGRAM", -16 }, { "WHY", 0 }
	};

	if (!report->unobserved_count)
		return;
	sheet_section(sheet, "Not observed");
	sheet_table(sheet, COLUMNS(TABLE));
	for (size_t i = 0; i < report->unobserved_count && i < top; i++) {
		const struct report_unobserved *row = &report->unobserved[i];
		sheet_cell_count(sheet, row->count);
		sheet_cell(sheet, row->partly ? "in part" : "no");
		sheet_cell_name(sheet, row->program);
		sheet_cell_name(sheet, row->reason);
		sheet_finish(sheet);
	}
	note_rest(sheet, report->unobserved_count + report->unobserved_left_out, top, "programs");
}

static void print_instructions(const struct report *report, size_t top, struct sheet *sheet)
{
	static const struct sheet_column TABLE[] = { { "TOUCHES", 7 },
						     { "INSTRUCTIONS", -32 },
						     { "TOUCHED FIRST", 0 } };
	const struct missed *missed = &report->missed;

	if (!report->has_segment || !missed->applied)
		return;
	sheet_section(sheet, "Instruction files");
	if (missed->count)
		sheet_table(sheet, COLUMNS(TABLE));
	for (size_t i = 0; i < missed->count && i < top; i++) {
		const struct missed_row *row = &missed->rows[i];
		sheet_cell_count(sheet, row->touches);
		sheet_cell_name(sheet, report_path(report, row->path));
		sheet_cell_name(sheet, report_path(report, row->example));
		sheet_finish(sheet);
	}
	note_rest(sheet, missed->count, top, "instruction files");
	sheet_note(sheet,
		   "%s of %s%s instruction files that apply to what was touched %s never given%s",
		   sheet_number(missed->count), missed->is_cut ? "at least " : "",
		   sheet_number(missed->applied), missed->count == 1 ? "was" : "were",
		   missed->count && report->unobserved_count ? ", as far as was observed" : "");
}

/* What the numbers above do not hold. */
static void print_limits(const struct report *report, struct sheet *sheet)
{
	if (!report->has_segment || report->files_left_out || report->unresolved ||
	    report->uncertain || report->programs_left_out || report->work.read_more ||
	    report->work.written_more)
		sheet_section(sheet, "Left out");
	if (!report->has_segment)
		sheet_note(sheet, "From a journal alone: instruction files and the session's own "
				  "counters are not in here.");
	if (report->files_left_out)
		sheet_note(sheet, "%s accesses to files beyond the first %s are in the sums alone.",
			   sheet_number(report->files_left_out), sheet_number(report->file_count));
	if (report->programs_left_out)
		sheet_note(sheet, "%s processes run programs beyond the first %s.",
			   sheet_number(report->programs_left_out),
			   sheet_number(report->program_count));
	if (report->unresolved)
		sheet_note(sheet, "%s accesses were to files whose directory is not known.",
			   sheet_number(report->unresolved));
	if (report->work.read_more || report->work.written_more)
		sheet_note(
			sheet,
			"Bytes with a + are what is known to have passed at least: of streams libc "
			"tells no more.");
	if (report->uncertain)
		sheet_note(sheet, "The first call of %s descriptors may be counted twice.",
			   sheet_number(report->uncertain));
}

int report_print(const struct report *report, size_t top, struct sheet *sheet)
{
	int error = 0;

	report_print_head(report, top, sheet);
	error = print_changes(report, top, sheet);
	print_commands(report, top, sheet);
	print_conflicts(report, top, sheet);
	print_rules(report, top, sheet);
	for (size_t i = 0; error == 0 && i < sizeof(RANKINGS) / sizeof(RANKINGS[0]); i++)
		error = print_ranking(report, &RANKINGS[i], top, sheet);
	if (error == 0 && report->events)
		print_roles(report, sheet);
	if (error == 0)
		error = print_programs(report, top, sheet);
	if (error == 0)
		error = print_processes(report, top, sheet);
	print_unobserved(report, top, sheet);
	print_instructions(report, top, sheet);
	print_limits(report, sheet);
	return error;
}
