/*
 * `seen status`: what a session has counted, who lives in it, and how full it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/base/tokens.h"
#include "cli/command.h"
#include "cli/session/coverage_json.h"
#include "cli/session/journal_file.h"
#include "cli/session/owned.h"
#include "cli/session/program_sums.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "cli/session/session_command.h"
#include "cli/session/summary.h"
#include "tracker/answer/proof.h"
#include "tracker/journal/journal_map.h"
#include "tracker/path/path.h"
#include "tracker/segment/tables.h"

static const char *session_name;
static bool json;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--json", NULL, "a JSON document, seen/status/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "status [OPTION...]",
	.summary = "Shows the counters of a session: requests, notices, bytes not given again. "
		   "Also its processes and scopes, and what was lost because a table was full.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

static const struct {
	const char *name, *text;
} COUNTERS[] = {
#define COUNTER(name, text) { #name, text },
#include "tracker/segment/counters.def"
#undef COUNTER
};

static const char LOST[] = "lost_";

static bool is_lost(int counter)
{
	return strncmp(COUNTERS[counter].name, LOST, sizeof(LOST) - 1) == 0;
}

/* ---- how full the tables are ---- */

/* Those that hold entries; those without a name tell where entries of another one are. */
static const struct {
	const char *name;
	size_t offset; /* of the word in a slot that is 0 while the slot is empty */
} TABLES[TABLE_USED] = {
	[TABLE_PROCESSES] = { "processes", offsetof(struct process_slot, serial) },
	[TABLE_SCOPES] = { "scopes", offsetof(struct scope_slot, id) },
	[TABLE_CAPTURES] = { "captures", offsetof(struct capture_slot, id) },
	[TABLE_COMMANDS] = { "commands", offsetof(struct command_slot, id) },
	[TABLE_FILES] = { "files", offsetof(struct file_slot, key) },
	[TABLE_INODES] = { "inodes", offsetof(struct inode_slot, file_key) },
	[TABLE_DELIVERIES] = { "deliveries", offsetof(struct delivery_slot, scope_id) },
	[TABLE_BASELINES] = { "baselines", offsetof(struct baseline_slot, scope_id) },
	[TABLE_LINE_RANGES] = { "parts", offsetof(struct line_range_slot, scope_id) },
	[TABLE_INSTRUCTIONS] = { "instructions", offsetof(struct instruction_slot, scope_id) },
	[TABLE_INSTRUCTION_DIRECTORIES] = { "instruction_folders",
					    offsetof(struct instruction_directory_slot, key) },
	[TABLE_REMEMBERED] = { "remembered", offsetof(struct remembered_slot, scope_id) },
	[TABLE_UNREPORTED] = { "unreported", offsetof(struct unreported_slot, scope_id) },
	[TABLE_KEPT] = { "kept", 0 },
	[TABLE_KNOWN] = { "known", 0 },
	[TABLE_PROTECTED] = { "protected", 0 },
};

static uint64_t count_used(const struct segment *segment, enum segment_table table)
{
	bool has_parts = table == TABLE_FILES || table == TABLE_INODES ||
			 table == TABLE_DELIVERIES || table == TABLE_BASELINES;
	uint64_t used = 0;

	for (uint64_t i = 0; i < segment->capacity[table]; i++) {
		if (has_parts)
			i = segment_next_used(segment, table, i);
		if (i >= segment->capacity[table])
			break;
		const unsigned char *slot = segment_slot(segment, table, i);
		bool empty = __atomic_load_n(
				     (const uint64_t *)(const void *)(slot + TABLES[table].offset),
				     __ATOMIC_RELAXED) == 0;
		if (table == TABLE_PROCESSES && !empty) {
			/* A process that ended leaves its number behind. */
			uint32_t state = __atomic_load_n(
				&((const struct process_slot *)(const void *)slot)->state,
				__ATOMIC_RELAXED);
			empty = state == PROCESS_FREE || state == PROCESS_EXITED;
		}
		used += !empty;
	}
	return used;
}

static uint64_t arena_used(const struct segment *segment)
{
	uint64_t used = __atomic_load_n(&segment->header->arena_used, __ATOMIC_RELAXED);
	return used < segment->arena_bytes ? used : segment->arena_bytes;
}

/* What both forms show. */
struct status {
	const struct session *session;
	const struct journal *journal;
	struct summary summary;
	struct program_sums programs;
	struct scope_row *scopes;
	int scope_count;
	const char *mode, *workspace;
};

static const char *mode_name(uint64_t mode)
{
	static const char *const NAMES[] = {
#define CHOICE(constant, word) #word,
		SETTINGS_CHOICES_session_mode(CHOICE)
#undef CHOICE
	};
	return mode < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[mode] : "?";
}

/* ---- for programs ---- */

static json_t *json_count(uint64_t number)
{
	return json_integer((json_int_t)number);
}

static json_t *json_session(const struct status *status)
{
	json_t *object = json_object();
	(void)json_object_set_new(object, "name", text_json(status->session->name));
	(void)json_object_set_new(object, "folder", text_json(status->session->directory));
	(void)json_object_set_new(object, "workspace", text_json(status->workspace));
	(void)json_object_set_new(object, "mode", json_string(status->mode));
	(void)json_object_set_new(
		object, "created",
		text_json_time(status->session->segment.header->created_realtime_ns));
	return object;
}

static json_t *json_counters(const struct status *status, bool lost)
{
	json_t *object = json_object();
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (is_lost(i) == lost)
			(void)json_object_set_new(object,
						  COUNTERS[i].name + (lost ? sizeof(LOST) - 1 : 0),
						  json_count(status->summary.counters[i]));
	return object;
}

static json_t *json_files(const struct status *status)
{
	json_t *object = json_object();
	(void)json_object_set_new(object, "on_record", json_count(status->summary.files));
	(void)json_object_set_new(object, "edited_by_agent",
				  json_count(status->summary.edited_by_agent));
	(void)json_object_set_new(object, "edited_by_tool",
				  json_count(status->summary.edited_by_tool));
	(void)json_object_set_new(object, "removed", json_count(status->summary.removed));
	return object;
}

/* null: the session has none. */
static json_t *json_journal(const struct status *status)
{
	const struct coverage *coverage = &status->summary.coverage;

	if (!status->journal->header)
		return json_null();
	json_t *object = json_object();
	(void)json_object_set_new(object, "file", text_json(session_journal(status->session)));
	(void)json_object_set_new(
		object, "bytes",
		json_count(journal_end_unit(status->journal) * JOURNAL_UNIT_BYTES));
	(void)json_object_set_new(object, "lost_records", json_count(coverage->lost_records));
	(void)json_object_set_new(object, "without_journal", json_count(coverage->without_journal));
	(void)json_object_set_new(object, "full",
				  coverage->full_errno ? json_string(strerror(coverage->full_errno))
						       : json_null());
	return object;
}

/* What was answered, by program; null: the session has no journal. */
static json_t *json_programs(const struct status *status)
{
	if (!status->journal->header)
		return json_null();
	json_t *array = json_array();
	for (size_t i = 0; i < status->programs.count; i++) {
		const struct program_sum *row = &status->programs.rows[i];
		json_t *object = json_object();
		(void)json_object_set_new(object, "name", text_json(row->name));
		(void)json_object_set_new(object, "remembered", json_count(row->remembered));
		(void)json_object_set_new(object, "notices", json_count(row->notices));
		(void)json_object_set_new(object, "diffs", json_count(row->diffs));
		(void)json_object_set_new(object, "commands", json_count(row->commands));
		(void)json_object_set_new(object, "given_again", json_count(row->given_again));
		(void)json_object_set_new(object, "bytes_saved", json_count(row->bytes_saved));
		(void)json_array_append_new(array, object);
	}
	return array;
}

/* null: the session has none. */
static json_t *json_contents(const struct status *status)
{
	const struct segment *segment = &status->session->segment;
	const char *directory = segment_contents(segment);

	if (!directory)
		return json_null();
	json_t *object = json_object();
	(void)json_object_set_new(object, "folder", text_json(directory));
	(void)json_object_set_new(object, "bytes", json_count(status->summary.contents_bytes));
	(void)json_object_set_new(object, "max_bytes",
				  json_count(segment->settings->content_max_bytes));
	return object;
}

/* What its agent's transcript proves of what a scope was given; null: none is read. */
static json_t *json_outputs(const struct segment *segment, uint64_t scope_id)
{
	struct outputs outputs;

	outputs_count(segment, scope_id, &outputs);
	if (!outputs.is_read)
		return json_null();
	json_t *object = json_object();
	(void)json_object_set_new(object, "proven", json_count(outputs.proven));
	(void)json_object_set_new(object, "unproven", json_count(outputs.unproven));
	(void)json_object_set_new(object, "contradicted", json_count(outputs.contradicted));
	(void)json_object_set_new(object, "off_branch", json_count(outputs.off_branch));
	return object;
}

static json_t *json_scopes(const struct status *status)
{
	json_t *array = json_array();

	for (int i = 0; i < status->scope_count; i++) {
		const struct scope_row *read_scope = &status->scopes[i];
		json_t *object = json_object();
		(void)json_object_set_new(object, "id", json_string(read_scope->id_text));
		(void)json_object_set_new(object, "name", text_json(read_scope->name));
		(void)json_object_set_new(
			object, "pid", read_scope->pid ? json_count(read_scope->pid) : json_null());
		(void)json_object_set_new(object, "requests", json_count(read_scope->requests));
		(void)json_object_set_new(object, "bytes_given",
					  json_count(read_scope->bytes_given));
		(void)json_object_set_new(object, "since",
					  text_json_time(read_scope->created_realtime_ns));
		(void)json_object_set_new(
			object, "muted",
			json_boolean(proof_scope_flags(&status->session->segment, read_scope->id) &
				     SCOPE_MUTE));
		(void)json_object_set_new(object, "outputs",
					  json_outputs(&status->session->segment, read_scope->id));
		(void)json_array_append_new(array, object);
	}
	return array;
}

static json_t *json_memory(const struct segment *segment)
{
	json_t *object = json_object(), *tables = json_object();

	for (int i = 0; i < TABLE_USED; i++) {
		if (!TABLES[i].name)
			continue;
		json_t *table = json_object();
		(void)json_object_set_new(table, "used",
					  json_count(count_used(segment, (enum segment_table)i)));
		(void)json_object_set_new(table, "capacity", json_count(segment->capacity[i]));
		(void)json_object_set_new(tables, TABLES[i].name, table);
	}
	(void)json_object_set_new(object, "bytes", json_count(segment->size_bytes));
	(void)json_object_set_new(object, "arena_bytes", json_count(segment->arena_bytes));
	(void)json_object_set_new(object, "arena_bytes_used", json_count(arena_used(segment)));
	(void)json_object_set_new(object, "tables", tables);
	return object;
}

static int print_json(const struct status *status)
{
	json_t *document = json_object();
	uint64_t saved = status->summary.counters[COUNTER_bytes_saved];

	(void)json_object_set_new(document, "schema", json_string("seen/status/1"));
	(void)json_object_set_new(document, "session", json_session(status));
	(void)json_object_set_new(document, "counters", json_counters(status, false));
	(void)json_object_set_new(document, "tokens_saved_estimate",
				  json_count(tokens_of_bytes(saved)));
	(void)json_object_set_new(document, "programs", json_programs(status));
	(void)json_object_set_new(document, "files", json_files(status));
	(void)json_object_set_new(document, "processes", coverage_json(&status->summary.coverage));
	(void)json_object_set_new(document, "journal", json_journal(status));
	(void)json_object_set_new(document, "contents", json_contents(status));
	(void)json_object_set_new(document, "scopes", json_scopes(status));
	(void)json_object_set_new(document, "lost", json_counters(status, true));
	(void)json_object_set_new(document, "memory", json_memory(&status->session->segment));
	return text_json_print(document);
}

/* ---- for people ---- */

enum { LABEL_COLUMNS = 13 };

static void print_label(const char *label)
{
	(void)printf("%s%-*s%s", text_style(stdout, "1"), LABEL_COLUMNS, label,
		     text_style(stdout, "0"));
}

/* A line with a text of others. */
static void print_text(const char *label, const char *text)
{
	char shown[SEGMENT_PATH_BYTES * 4];

	print_label(label);
	(void)path_escape(text, shown, sizeof(shown));
	(void)puts(shown);
}

static void print_counters(const struct status *status)
{
	static const enum counter SHOWN[] = { COUNTER_requests, COUNTER_deliveries,
					      COUNTER_repeats,  COUNTER_notices,
					      COUNTER_yields,   COUNTER_diffs,
					      COUNTER_opens,    COUNTER_opens_write,
					      COUNTER_listings, COUNTER_changes };
	const uint64_t *counters = status->summary.counters;
	char number[TEXT_NUMBER_BYTES], tokens[TEXT_NUMBER_BYTES], writes[SUMMARY_WRITES_BYTES];

	for (size_t i = 0; i < sizeof(SHOWN) / sizeof(SHOWN[0]); i++) {
		print_label(COUNTERS[SHOWN[i]].name);
		(void)printf("%-8s %s%s%s\n", text_number(counters[SHOWN[i]], number),
			     text_style(stdout, "2"), COUNTERS[SHOWN[i]].text,
			     text_style(stdout, "0"));
	}
	char repeated[TEXT_NUMBER_BYTES], answered[TEXT_NUMBER_BYTES];
	print_label("commands");
	(void)printf("%s remembered, %s repeated, %s answered %s%s%s\n",
		     text_number(counters[COUNTER_requests_remembered], number),
		     text_number(counters[COUNTER_requests_repeated], repeated),
		     text_number(counters[COUNTER_requests_answered], answered),
		     text_style(stdout, "2"), "of readers: grep, ls, sed -n ...",
		     text_style(stdout, "0"));
	print_label("saved");
	(void)printf("%s bytes, about %s tokens\n",
		     text_number(counters[COUNTER_bytes_saved], number),
		     text_number(tokens_of_bytes(counters[COUNTER_bytes_saved]), tokens));
	print_label("files");
	(void)printf("%u on record; %s\n", status->summary.files,
		     summary_files(&status->summary, writes));
	if (counters[COUNTER_instructions_given]) {
		print_label("instructed");
		(void)printf("%-8s %s%s%s\n",
			     text_number(counters[COUNTER_instructions_given], number),
			     text_style(stdout, "2"), COUNTERS[COUNTER_instructions_given].text,
			     text_style(stdout, "0"));
	}
	if (summary_writes(&status->summary, writes)[0]) {
		print_label("writes");
		(void)puts(writes);
	}
	if (summary_rules(&status->summary, writes)[0]) {
		print_label("rules");
		(void)puts(writes);
	}
}

/* A line for each program that was answered, the first under a label. */
static void print_programs(const struct status *status)
{
	char answered[TEXT_NUMBER_BYTES], again[TEXT_NUMBER_BYTES], bytes[TEXT_NUMBER_BYTES];
	char name[PROGRAM_NAME_BYTES * 4];
	bool is_first = true;

	for (size_t i = 0; i < status->programs.count; i++) {
		const struct program_sum *row = &status->programs.rows[i];
		uint64_t count = row->notices + row->diffs + row->commands;
		if (!count && !row->given_again)
			continue;
		print_label(is_first ? "answered" : "");
		is_first = false;
		(void)path_escape(row->name, name, sizeof(name));
		(void)printf("%-8s %s answered, %s given again, %s bytes saved\n", name,
			     text_number(count, answered), text_number(row->given_again, again),
			     text_number(row->bytes_saved, bytes));
	}
}

static void print_processes(const struct status *status)
{
	const struct coverage *coverage = &status->summary.coverage;
	char number[TEXT_NUMBER_BYTES], text[COVERAGE_TEXT_BYTES];

	print_label("processes");
	(void)printf("%s observed", text_number(coverage->observed, number));
	if (coverage->supervised)
		(void)printf(" (%s by the supervisor)", text_number(coverage->supervised, number));
	(void)fputs(", ", stdout);
	(void)printf("%s unobserved, ", text_number(coverage->unobserved, number));
	(void)printf("%s unattached, ", text_number(coverage->unattached, number));
	(void)printf("%s observed in part\n", text_number(coverage->partial, number));
	if (coverage->calls_unjudged) {
		print_label("unjudged");
		(void)printf("%s %s\n", text_number(coverage->calls_unjudged, number),
			     COUNTERS[COUNTER_calls_unjudged].text);
	}
	for (int i = 0; i < coverage->program_count; i++) {
		print_label(coverage->programs[i].partly ? "in part" : "unobserved");
		(void)puts(coverage_text(&coverage->programs[i], text));
	}
	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (!is_lost(i) || !status->summary.counters[i])
			continue;
		print_label("lost");
		(void)printf("%s%s %s%s\n", text_style(stdout, "33"),
			     text_number(status->summary.counters[i], number), COUNTERS[i].text,
			     text_style(stdout, "0"));
	}
}

static void print_journal(const struct status *status)
{
	const struct coverage *coverage = &status->summary.coverage;
	char number[TEXT_NUMBER_BYTES];

	print_label("journal");
	if (!status->journal->header) {
		(void)puts("none");
		return;
	}
	(void)printf("%s bytes, ",
		     text_number(journal_end_unit(status->journal) * JOURNAL_UNIT_BYTES, number));
	(void)printf("%s records lost, ", text_number(coverage->lost_records, number));
	(void)printf("%s process%s could not write to it\n",
		     text_number(coverage->without_journal, number),
		     coverage->without_journal == 1 ? "" : "es");
	if (coverage->full_errno) {
		print_label("");
		(void)printf("%sit could not grow: %s%s\n", text_style(stdout, "33"),
			     strerror(coverage->full_errno), text_style(stdout, "0"));
	}
}

static void print_scopes(const struct status *status)
{
	char time[TEXT_TIME_BYTES], requests[TEXT_NUMBER_BYTES], bytes[TEXT_NUMBER_BYTES];
	char name[sizeof(status->scopes[0].name) * 4];

	if (!status->scope_count)
		return;
	(void)printf("\n%s%-16s  %-16s  %7s  %8s  %11s  %s%s\n", text_style(stdout, "1"), "SCOPE",
		     "NAME", "PID", "REQUESTS", "BYTES GIVEN", "SINCE", text_style(stdout, "0"));
	for (int i = 0; i < status->scope_count; i++) {
		const struct scope_row *read_scope = &status->scopes[i];
		(void)path_escape(read_scope->name, name, sizeof(name));
		(void)printf("%s  %-16s  %7u  %8s  %11s  %s\n", read_scope->id_text, name,
			     read_scope->pid, text_number(read_scope->requests, requests),
			     text_number(read_scope->bytes_given, bytes),
			     clock_stamp(read_scope->created_realtime_ns, time));
	}
}

static void print_memory(const struct segment *segment)
{
	char used[TEXT_NUMBER_BYTES], all[TEXT_NUMBER_BYTES];

	print_label("memory");
	(void)printf("%s bytes", text_number(segment->size_bytes, all));
	(void)printf("; paths %s of %s bytes\n", text_number(arena_used(segment), used),
		     text_number(segment->arena_bytes, all));
	print_label("");
	for (int i = 0; i < TABLE_USED; i++) {
		if (!TABLES[i].name)
			continue;
		(void)printf("%s%s %s/%s", i ? ", " : "", TABLES[i].name,
			     text_number(count_used(segment, (enum segment_table)i), used),
			     text_number(segment->capacity[i], all));
	}
	(void)putchar('\n');
}

static void print_people(const struct status *status)
{
	char time[TEXT_TIME_BYTES];

	print_text("session", status->session->name);
	print_text("folder", status->session->directory);
	print_text("workspace", status->workspace);
	print_text("mode", status->mode);
	print_text("created",
		   clock_stamp(status->session->segment.header->created_realtime_ns, time));
	print_counters(status);
	print_programs(status);
	print_processes(status);
	print_journal(status);
	print_memory(&status->session->segment);
	print_scopes(status);
}

/* ---- the command ---- */

static int show(const struct session *session, char **words)
{
	(void)words;
	const struct segment *segment = &session->segment;
	struct journal journal = { .path = NULL };
	struct status status = { .session = session, .journal = &journal };
	const char *path = session_journal(session);
	int error = path ? session_check_path(path) : 0;

	if (path && error == 0)
		error = journal_map_to_read(path, &journal);
	if (error < 0 && error != -ENOENT)
		message("%s: %s", path, journal_file_explain(error));
	summary_compute(segment, &journal, NULL, 0, 0, &status.summary);
	program_sums_gather(&journal, &status.programs);
	status.scope_count = scopes_list(segment, &status.scopes);
	status.mode = mode_name(segment->settings->session_mode);
	status.workspace = segment_text(segment, segment->settings->paths_workspace, NULL);
	if (!status.workspace)
		status.workspace = "";
	error = status.scope_count < 0 ? status.scope_count : 0;
	if (error == 0 && json)
		error = print_json(&status);
	else if (error == 0)
		print_people(&status);
	free(status.scopes);
	journal_unmap(&journal);
	if (error < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return EXIT_CODE_OK;
}

int cmd_status(int argc, char **argv)
{
	return session_command(&(struct session_command){ .options = &OPTIONS,
							  .name = &session_name,
							  .words_wrong = "status takes no words",
							  .act = show },
			       argc, argv);
}
