/* A report for programs, seen/report/1: see report_print.h.  config/data/schema/report.schema.json
 * says what each member is. */
#include "cli/report/report_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/journal/event_filter.h"
#include "cli/journal/event_print.h"
#include "cli/journal/event_words.h"
#include "cli/report/report_fate.h"
#include "cli/report/report_order.h"
#include "cli/report/report_print.h"
#include "cli/undo/story_print.h"
#include "tracker/content/contents.h"
#include "tracker/process/source.h"

static void set(json_t *object, const char *name, json_t *value)
{
	if (!value)
		value = text_json_lacks();
	(void)json_object_set_new_nocheck(object, name, value);
}

static void set_count(json_t *object, const char *name, uint64_t number)
{
	set(object, name, json_integer(number <= INT64_MAX ? (json_int_t)number : INT64_MAX));
}

static void set_text(json_t *object, const char *name, const char *bytes)
{
	set(object, name, bytes ? text_json(bytes) : json_null());
}

static void set_path(json_t *object, const char *name, const struct report *report,
		     const char *path)
{
	set_text(object, name, report_path(report, path));
}

static void set_time(json_t *object, const char *name, uint64_t realtime_ns)
{
	set(object, name, text_json_time(realtime_ns));
}

static json_t *of_work(const struct report_work *work)
{
	json_t *object = json_object();

	set_count(object, "opens_read", work->opens_read);
	set_count(object, "opens_write", work->opens_write);
	set_count(object, "bytes_read", work->bytes_read);
	set_count(object, "bytes_written", work->bytes_written);
	set(object, "read_more", json_boolean(work->read_more));
	set(object, "written_more", json_boolean(work->written_more));
	set_count(object, "listings", work->listings);
	set_count(object, "changes", work->changes);
	set_count(object, "maps", work->maps);
	set_count(object, "notices", work->notices);
	set_count(object, "bytes_saved", work->bytes_saved);
	set_count(object, "failed", work->failed);
	return object;
}

/* ---- what there was ---- */

static json_t *of_runs(const struct report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->run_count; i++) {
		const struct report_run *run = &report->runs[i];
		json_t *object = json_object();
		set_time(object, "start", run->start_ns);
		set_time(object, "end", run->end_ns);
		set_text(object, "command", run->command);
		(void)json_array_append_new(array, object);
	}
	return array;
}

static json_t *of_events(const struct report *report)
{
	json_t *object = json_object(), *by_op = json_object();

	for (unsigned op = 0; op < EVENT_OP_COUNT; op++) {
		if (!report->by_op[op])
			continue;
		json_t *row = json_object();
		set_count(row, "count", report->by_op[op]);
		set_count(row, "failed", report->failed_by_op[op]);
		set(by_op, event_op_name(op), row);
	}
	set_count(object, "count", report->events);
	set_count(object, "denied", report->denied);
	set_count(object, "attempted", report->attempted);
	set_count(object, "unresolved", report->unresolved);
	set_count(object, "uncertain", report->uncertain);
	set_count(object, "unknown", report->unknown);
	set(object, "by_op", by_op);
	return object;
}

static json_t *of_roles(const struct report *report)
{
	json_t *object = json_object();

	for (uint32_t role = 0; role < REPORT_ROLES; role++)
		set(object, role < ROLE_COUNT ? role_name(role) : "unknown",
		    of_work(&report->by_role[role]));
	return object;
}

/* ---- tables ---- */

static json_t *of_file(const struct report *report, const struct report_file *file)
{
	json_t *object = json_object();

	set_path(object, "path", report, file->path);
	set(object, "in_workspace", json_boolean(file->in_workspace));
	set(object, "work", of_work(&file->work));
	set_count(object, "repeats", file->repeats);
	set_count(object, "given", file->given);
	set_count(object, "bytes_given", file->bytes_given);
	set_count(object, "yielded", file->given_again);
	set_count(object, "edits", file->edits);
	set_count(object, "changed", file->changed);
	set_time(object, "first", file->first_ns);
	set_time(object, "last", file->last_ns);
	return object;
}

/* NULL: out of memory. */
static json_t *of_files_by(const struct report *report, enum report_order order, size_t top)
{
	const struct report_file **rows = calloc(top + 1, sizeof(const struct report_file *));
	int64_t count = rows ? report_files_by(report, order, top, rows) : -ENOMEM;
	json_t *array = count < 0 ? NULL : json_array();

	for (int64_t i = 0; i < count && i < (int64_t)top; i++)
		(void)json_array_append_new(array, of_file(report, rows[i]));
	free(rows);
	return array;
}

static json_t *of_files(const struct report *report, size_t top)
{
	json_t *object = json_object();

	set_count(object, "count", report->file_count);
	set_count(object, "left_out", report->files_left_out);
	set(object, "by_read", of_files_by(report, REPORT_BY_READ, top));
	set(object, "by_written", of_files_by(report, REPORT_BY_WRITTEN, top));
	set(object, "by_repeats", of_files_by(report, REPORT_BY_REPEATS, top));
	set(object, "outside_by_read", of_files_by(report, REPORT_ELSEWHERE_BY_READ, top));
	set(object, "outside_by_written", of_files_by(report, REPORT_ELSEWHERE_BY_WRITTEN, top));
	return object;
}

static json_t *of_process(const struct report_process *process)
{
	json_t *object = json_object();

	set_count(object, "process", process->number);
	set_count(object, "pid", process->pid);
	set_count(object, "parent_pid", process->parent_pid);
	set(object, "role",
	    process->role >= 0 ? json_string(role_name((uint32_t)process->role)) : json_null());
	set_text(object, "executable", process->executable);
	set(object, "forked", json_boolean(process->forked));
	set(object, "unattached", json_boolean(process->unattached));
	set_time(object, "start", process->start_ns);
	set_time(object, "end", process->end_ns);
	set(object, "status", json_null());
	if (process->has_status)
		set_count(object, "status", process->status);
	set(object, "work", of_work(&process->work));
	return object;
}

static json_t *of_processes(const struct report *report, size_t top)
{
	const struct report_process **rows = calloc(top + 1, sizeof(const struct report_process *));
	int64_t count = rows ? report_processes_by_work(report, top, rows) : -ENOMEM;
	json_t *object = json_object(), *array = count < 0 ? NULL : json_array();

	for (int64_t i = 0; i < count && i < (int64_t)top; i++)
		(void)json_array_append_new(array, of_process(rows[i]));
	free(rows);
	set_count(object, "count", report->process_count);
	set_count(object, "left_out", report->processes_left_out);
	set(object, "rows", array);
	return object;
}

static json_t *of_programs(const struct report *report, size_t top)
{
	const struct report_program **rows = calloc(top + 1, sizeof(const struct report_program *));
	int64_t count = rows ? report_programs_by_work(report, top, rows) : -ENOMEM;
	json_t *object = json_object(), *array = count < 0 ? NULL : json_array();

	for (int64_t i = 0; i < count && i < (int64_t)top; i++) {
		json_t *row = json_object();
		set_text(row, "executable", rows[i]->path);
		set_count(row, "processes", rows[i]->processes);
		set(row, "work", of_work(&rows[i]->work));
		(void)json_array_append_new(array, row);
	}
	free(rows);
	set_count(object, "count", report->program_count);
	set_count(object, "left_out", report->programs_left_out);
	set(object, "rows", array);
	return object;
}

/* ---- what the session made of it ---- */

static json_t *of_conflict(const struct report *report, const struct report_conflict *conflict)
{
	bool is_guarded = conflict->kind == REPORT_GUARDED;
	char digits[VERSION_DIGITS + 1];
	json_t *object = json_object();

	version_digits(&conflict->before, digits);
	set(object, "kind", json_string(is_guarded ? "guarded" : "changed"));
	set_count(object, "number", conflict->number);
	set_time(object, "time", conflict->time_ns);
	set_path(object, "path", report, conflict->path);
	set_text(object, "executable", conflict->executable);
	set(object, "verdict",
	    is_guarded ? json_string(event_verdict_name(conflict->verdict)) : json_null());
	set(object, "reason",
	    is_guarded ? json_string(event_guard_reason_name(conflict->reason)) : json_null());
	set(object, "degraded", json_boolean(is_guarded && conflict->degraded));
	set(object, "kept", json_boolean(conflict->kept));
	set(object, "change",
	    is_guarded || !event_change_name(conflict->change)
		    ? json_null()
		    : json_string(event_change_name(conflict->change)));
	set(object, "source",
	    !is_guarded && source_name(conflict->source)
		    ? json_string(source_name(conflict->source))
		    : json_null());
	set(object, "version",
	    version_is_none(&conflict->before) ? json_null() : json_string(digits));
	return object;
}

static json_t *of_guarded(const struct report_write_counts *writes)
{
	json_t *array = json_array();

	for (unsigned reason = 0; reason < REPORT_REASONS; reason++)
		for (unsigned verdict = GUARD_WARN; verdict < REPORT_VERDICTS; verdict++) {
			if (!writes->guarded[reason][verdict])
				continue;
			json_t *row = json_object();
			set(row, "reason", json_string(event_guard_reason_name(reason)));
			set(row, "verdict", json_string(event_verdict_name(verdict)));
			set_count(row, "count", writes->guarded[reason][verdict]);
			(void)json_array_append_new(array, row);
		}
	return array;
}

static json_t *of_conflicts(const struct report *report, size_t top)
{
	const struct report_write_counts *writes = &report->writes;
	json_t *object = json_object(), *rows = json_array(), *kept = json_object();

	for (size_t i = 0; i < report->conflict_count && i < top; i++)
		(void)json_array_append_new(rows, of_conflict(report, &report->conflicts[i]));
	for (unsigned reason = 0; reason < REPORT_KEPT_REASONS; reason++)
		set_count(kept, contents_reason_name((enum contents_reason)reason),
			  writes->kept[reason]);
	set(object, "guarded", of_guarded(writes));
	set_count(object, "degraded", writes->degraded);
	set_count(object, "changed", writes->changed);
	set_count(object, "added", writes->added);
	set_count(object, "deleted", writes->deleted);
	set(object, "kept", kept);
	set_count(object, "kept_bytes", writes->kept_bytes);
	set_count(object, "edited_by_agent", writes->edited_by_agent);
	set_count(object, "edited_by_tool", writes->edited_by_tool);
	set_count(object, "count", report->conflict_count + report->conflicts_left_out);
	set(object, "rows", rows);
	return object;
}

static json_t *of_rule(const struct report *report, const struct report_rule *rule)
{
	json_t *object = json_object(), *accesses = json_array(), *examples = json_array();

	for (uint32_t op = 1; op < RULE_ANY; op <<= 1)
		if (rule->accesses & op)
			(void)json_array_append_new(accesses, json_string(rule_op_name(op)));
	for (int i = 0; i < REPORT_EXAMPLES && rule->examples[i]; i++)
		(void)json_array_append_new(examples,
					    text_json(report_path(report, rule->examples[i])));
	set_text(object, "rule", rule->name);
	set(object, "action", json_string(rule_action_name(rule->action)));
	set(object, "accesses", accesses);
	set_count(object, "count", rule->count);
	set_time(object, "first", rule->first_ns);
	set_time(object, "last", rule->last_ns);
	set(object, "paths", examples);
	return object;
}

static json_t *of_rules(const struct report *report)
{
	json_t *object = json_object(), *rows = json_array();

	for (size_t i = 0; i < report->rule_count; i++)
		(void)json_array_append_new(rows, of_rule(report, &report->rules[i]));
	for (uint32_t action = RULE_ACTION_LOG; action <= RULE_ACTION_DENY; action++)
		set_count(object, rule_action_name(action), report->ruled[action]);
	set_count(object, "left_out", report->rules_left_out);
	set(object, "rows", rows);
	return object;
}

static json_t *of_saved(const struct report_saved *saved)
{
	json_t *object = json_object();

	set_count(object, "bytes", saved->bytes);
	set_count(object, "tokens_estimate", saved->tokens);
	set_count(object, "notices", saved->notices);
	set_count(object, "notice_bytes", saved->notice_bytes);
	set_count(object, "diffs", saved->diffs);
	set_count(object, "diff_bytes", saved->diff_bytes);
	set_count(object, "commands", saved->commands);
	set_count(object, "command_bytes", saved->command_bytes);
	set_count(object, "yielded", saved->given_again);
	set_count(object, "given", saved->given);
	set_count(object, "given_bytes", saved->given_bytes);
	return object;
}

static json_t *of_coverage(const struct report *report)
{
	const struct report_coverage *coverage = &report->coverage;
	json_t *object = json_object(), *programs = json_array();

	for (size_t i = 0; i < report->unobserved_count; i++) {
		const struct report_unobserved *row = &report->unobserved[i];
		json_t *program = json_object();
		set_text(program, "name", row->program);
		set_text(program, "reason", row->reason);
		set(program, "partly", json_boolean(row->partly));
		set_count(program, "count", row->count);
		(void)json_array_append_new(programs, program);
	}
	set_count(object, "runs", coverage->runs);
	set_count(object, "observed", coverage->observed);
	set_count(object, "unobserved", coverage->unobserved);
	set_count(object, "partial", coverage->partial);
	set_count(object, "unattached", coverage->unattached);
	set_count(object, "opens", coverage->opens);
	set_count(object, "without_journal", coverage->without_journal);
	set_count(object, "lost", coverage->lost);
	set_count(object, "undone", coverage->undone);
	set_count(object, "damaged", coverage->damaged);
	set(object, "programs", programs);
	set_count(object, "programs_left_out", report->unobserved_left_out);
	return object;
}

/* null: it could not be inspected. */
static json_t *of_seal(const struct report *report)
{
	const struct verified *verified = &report->verified;
	char digest[SEAL_TEXT_BYTES];

	if (report->verify_error)
		return json_null();
	json_t *object = json_object();
	set(object, "verdict", json_string(verified_name(verified->verdict)));
	set(object, "digest",
	    verified->seal.block_count ? json_string(seal_last(&verified->seal, digest))
				       : json_null());
	set_count(object, "records", verified->report.records);
	set_count(object, "not_sealed", verified->report.not_sealed);
	return object;
}

/* ---- what only the session knows ---- */

static json_t *of_counters(const struct report *report)
{
	static const char *const NAMES[] = {
#define COUNTER(name, text) #name,
#include "tracker/segment/counters.def"
#undef COUNTER
	};
	json_t *object = json_object();

	for (int i = 0; i < COUNTER_COUNT; i++)
		set_count(object, NAMES[i], report->counters[i]);
	return object;
}

static json_t *of_instructions(const struct report *report)
{
	const struct missed *missed = &report->missed;
	json_t *object = json_object(), *rows = json_array();

	for (size_t i = 0; i < missed->count; i++) {
		const struct missed_row *row = &missed->rows[i];
		json_t *file = json_object();
		set_path(file, "path", report, row->path);
		set_count(file, "touches", row->touches);
		set_path(file, "first", report, row->example);
		set(file, "read_by_agent", json_false());
		(void)json_array_append_new(rows, file);
	}
	set_count(object, "applied", missed->applied);
	set(object, "never_given", rows);
	set(object, "cut", json_boolean(missed->is_cut));
	return object;
}

/* What the session made, changed and removed, and by which command. */
static json_t *of_changes(const struct report *report, size_t top)
{
	json_t *object = json_object(), *rows = json_array();
	size_t room = top < report->file_count ? top : report->file_count;
	const struct report_file **files = calloc(room + 1, sizeof(const struct report_file *));
	int64_t count = files ? report_changed_files(report, room, files) : -ENOMEM;

	if (count < 0)
		(void)text_json_lacks();

	for (int64_t i = 0; i < count && i < (int64_t)room; i++) {
		json_t *row = json_object();
		set_path(row, "path", report, files[i]->path);
		set(row, "fate", json_string(fate_name(fate_of(files[i]->fate))));
		set_count(row, "bytes_written", files[i]->work.bytes_written);
		set(row, "written_more", json_boolean(files[i]->work.written_more));
		set_time(row, "time", files[i]->by_ns);
		set_text(row, "command",
			 files[i]->by < report->command_count ? report->commands[files[i]->by].text
							      : NULL);
		(void)json_array_append_new(rows, row);
	}
	free(files);
	set_count(object, "count", count > 0 ? (uint64_t)count : 0);
	set_count(object, "git", report_changed_count(report, REPORT_GIT));
	set_count(object, "agent_state", report_changed_count(report, REPORT_STATE));
	set(object, "rows", rows);
	return object;
}

static json_t *of_commands(const struct report *report, size_t top)
{
	json_t *object = json_object(), *rows = json_array();

	for (size_t i = 0; i < report->command_count && i < top; i++) {
		json_t *row = json_object();
		set_time(row, "time", report->commands[i].time_ns);
		set_text(row, "command", report->commands[i].text);
		(void)json_array_append_new(rows, row);
	}
	set_count(object, "count", report->command_count + report->commands_left_out);
	set(object, "rows", rows);
	return object;
}

/* Those that changed something. */
static json_t *of_steps(const struct report *report, size_t top)
{
	const struct story_wish wish = { .changed_only = true };
	json_t *object = json_object(), *rows = story_json(&report->story, &wish);
	size_t count = json_array_size(rows);

	while (json_array_size(rows) > top)
		(void)json_array_remove(rows, json_array_size(rows) - 1);
	set_count(object, "count", count);
	set_count(object, "lost_records", report->story.lost_records);
	set_count(object, "without_step", report->story.without_step);
	set(object, "rows", rows);
	return object;
}

json_t *report_json(const struct report *report, size_t top)
{
	json_t *document = json_object();

	set(document, "schema", json_string("seen/report/1"));
	set_text(document, "session", report->session);
	set_text(document, "workspace", report->workspace);
	set_text(document, "journal", report->verified.journal_path);
	set_time(document, "start", report->start_ns);
	set_time(document, "end", report->end_ns);
	set(document, "runs", of_runs(report));
	set_count(document, "runs_left_out", report->runs_left_out);
	set(document, "changes", of_changes(report, top));
	set(document, "commands", of_commands(report, top));
	set(document, "steps", of_steps(report, top));
	set(document, "conflicts", of_conflicts(report, top));
	set(document, "rules", of_rules(report));
	set(document, "saved", of_saved(&report->saved));
	set(document, "work", of_work(&report->work));
	set(document, "by_role", of_roles(report));
	set(document, "outside_workspace", of_work(&report->elsewhere));
	set(document, "agent_state", of_work(&report->agent_state));
	set(document, "files", of_files(report, top));
	set(document, "programs", of_programs(report, top));
	set(document, "processes", of_processes(report, top));
	set(document, "events", of_events(report));
	set(document, "coverage", of_coverage(report));
	set(document, "seal", of_seal(report));
	set(document, "counters", report->has_segment ? of_counters(report) : json_null());
	set(document, "instructions", report->has_segment ? of_instructions(report) : json_null());
	return document;
}
