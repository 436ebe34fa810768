/*
 * `seen files`: what a session knows of each file, and whether that still holds on disk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

static const char *session_name, *scope;
static bool json;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--scope", "ID", "version and state against what this scope was given", NULL, &scope },
	{ "--json", NULL, "a JSON document, seen/files/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "files [OPTION...] [PATH...]",
	.summary = "Lists the files on record: how often each was read whole, how often that was a "
		   "repeat, and its notices. The state compares the file with what was read. PATH: "
		   "this file, or all files below this directory.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

struct row {
	char *path; /* absolute */
	struct file_slot file;
	struct version version; /* the baseline; none: never given whole */
	enum state state;
};

struct rows {
	const struct segment *segment;
	uint64_t scope_id;
	char **wanted; /* absolute paths; NULL at the end */
	bool *found;   /* beside each */
	struct row *rows;
	size_t count, capacity;
};

static bool is_wanted(struct rows *rows, const char *path)
{
	bool wanted = !rows->wanted[0];
	for (size_t i = 0; rows->wanted[i]; i++)
		if (argument_is_below(path, rows->wanted[i]))
			wanted = rows->found[i] = true;
	return wanted;
}

static int add_row(const char *path, const struct file_slot *file, void *data)
{
	struct rows *rows = data;

	/* What came and went, and was never read. */
	if (file_fate(file) == FATE_IS_TRANSIENT && !file->full_reads)
		return 0;
	if (!is_wanted(rows, path))
		return 0;
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? rows->capacity * 2 : 64;
		struct row *grown = realloc(rows->rows, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		rows->rows = grown;
		rows->capacity = capacity;
	}
	struct row row = { .path = strdup(path), .file = *file };
	if (!row.path)
		return -ENOMEM;
	(void)tracker_baseline(rows->segment, rows->scope_id, path, &row.version);
	row.state = tracker_state(rows->segment, rows->scope_id, path);
	rows->rows[rows->count++] = row;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->path, ((const struct row *)b)->path);
}

/* ---- for programs ---- */

static json_t *json_row(const struct segment *segment, const struct row *row)
{
	json_t *object = json_object(), *edited = json_array();
	char digits[VERSION_DIGITS + 1];
	bool known = !version_is_none(&row->version);
	const char *fate = fate_name(file_fate(&row->file));

	version_digits(&row->version, digits);
	if (row->file.flags & FILE_EDITED_BY_AGENT)
		(void)json_array_append_new(edited, json_string("agent"));
	if (row->file.flags & FILE_EDITED_BY_TOOL)
		(void)json_array_append_new(edited, json_string("tool"));
	(void)json_object_set_new(object, "path", text_json(path_relative(segment, row->path)));
	(void)json_object_set_new(object, "full_reads", json_integer(row->file.full_reads));
	(void)json_object_set_new(object, "repeats", json_integer(row->file.repeats));
	(void)json_object_set_new(object, "notices", json_integer(row->file.notices));
	(void)json_object_set_new(object, "yields", json_integer(row->file.yields));
	(void)json_object_set_new(object, "first_read",
				  text_json_time(row->file.first_read_realtime_ns));
	(void)json_object_set_new(object, "last_read",
				  text_json_time(row->file.last_read_realtime_ns));
	(void)json_object_set_new(object, "last_edit",
				  text_json_time(row->file.last_edit_realtime_ns));
	(void)json_object_set_new(object, "version", known ? json_string(digits) : json_null());
	(void)json_object_set_new(object, "bytes",
				  known ? json_integer((json_int_t)row->version.size_bytes)
					: json_null());
	(void)json_object_set_new(object, "state", json_string(state_name(row->state)));
	(void)json_object_set_new(object, "edited_by", edited);
	(void)json_object_set_new(object, "fate", fate ? json_string(fate) : json_null());
	return object;
}

static int print_json(const struct session *session, const struct rows *rows)
{
	json_t *document = json_object(), *files = json_array();
	const char *root = segment_text(&session->segment,
					session->segment.settings->paths_workspace, NULL);
	char id[SCOPES_ID_BYTES];

	for (size_t i = 0; i < rows->count; i++)
		(void)json_array_append_new(files, json_row(&session->segment, &rows->rows[i]));
	(void)snprintf(id, sizeof(id), "%016llx", (unsigned long long)rows->scope_id);
	(void)json_object_set_new(document, "schema", json_string("seen/files/1"));
	(void)json_object_set_new(document, "session", text_json(session->name));
	(void)json_object_set_new(document, "workspace", text_json(root ? root : ""));
	(void)json_object_set_new(document, "scope",
				  rows->scope_id ? json_string(id) : json_null());
	(void)json_object_set_new(document, "files", files);
	return text_json_print(document);
}

/* ---- for people ---- */

static const char *edited_text(uint32_t flags)
{
	static const char *const TEXTS[] = { "", "agent", "tool", "both" };
	return TEXTS[(flags & FILE_EDITED_BY_AGENT ? 1 : 0) + (flags & FILE_EDITED_BY_TOOL ? 2 : 0)];
}

static void print_row(const struct segment *segment, const struct row *row)
{
	static const char *const COLORS[] = { [STATE_UNTRACKED] = "2",
					      [STATE_FRESH] = "32",
					      [STATE_CHANGED] = "33",
					      [STATE_DELETED] = "33" };
	char digits[VERSION_DIGITS + 1] = "-", time[TEXT_TIME_BYTES], path[SEGMENT_PATH_BYTES * 4];

	if (!version_is_none(&row->version))
		version_digits(&row->version, digits);
	if (path_escape(path_relative(segment, row->path), path, sizeof(path)) < 0)
		return;
	bool removed = file_fate(&row->file) == FATE_IS_REMOVED;
	(void)text_time(row->file.last_read_realtime_ns, time);
	(void)printf("%5u  %7u  %7u  %6u  %-24s  %-12s  %s%-9s%s  %-6s  %s\n", row->file.full_reads,
		     row->file.repeats, row->file.notices, row->file.yields, time[0] ? time : "-",
		     digits, text_style(stdout, COLORS[removed ? STATE_DELETED : row->state]),
		     removed ? "removed" : state_name(row->state), text_style(stdout, "0"),
		     edited_text(row->file.flags), path);
}

static void print_table(const struct segment *segment, const struct rows *rows)
{
	if (!rows->count)
		return;
	(void)printf("%s%5s  %7s  %7s  %6s  %-24s  %-12s  %-9s  %-6s  %s%s\n",
		     text_style(stdout, "1"), "READS", "REPEATS", "NOTICES", "YIELDS", "LAST READ",
		     "VERSION", "STATE", "EDITED", "PATH", text_style(stdout, "0"));
	for (size_t i = 0; i < rows->count; i++)
		print_row(segment, &rows->rows[i]);
}

/* ---- the command ---- */

static int list(const struct session *session, struct rows *rows, char **words)
{
	int code = scope ? scopes_choose(&session->segment, scope, &rows->scope_id) : EXIT_CODE_OK;

	if (code != EXIT_CODE_OK)
		return code;
	int error = tracker_each_file(&session->segment, add_row, rows);
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), by_path);
	for (size_t i = 0; rows->wanted[i] && error == 0; i++) {
		if (rows->found[i])
			continue;
		message("%s: not on record", words[i]);
		code = EXIT_CODE_NOTHING;
	}
	if (error == 0 && json)
		error = print_json(session, rows);
	else if (error == 0)
		print_table(&session->segment, rows);
	if (error < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return code;
}

static int files(const struct session *session, char **words, size_t word_count)
{
	struct rows rows = { .segment = &session->segment };
	char path[SEGMENT_PATH_BYTES];
	int code = EXIT_CODE_OK;
	size_t count = 0;

	rows.wanted = calloc(word_count + 1, sizeof(*rows.wanted));
	rows.found = calloc(word_count + 1, sizeof(*rows.found));
	for (; rows.wanted && rows.found && count < word_count; count++) {
		int error = argument_path(words[count], path, sizeof(path));
		if (error < 0) {
			message("%s: %s", words[count], strerror(-error));
			code = EXIT_CODE_USAGE;
			break;
		}
		rows.wanted[count] = strdup(path);
		if (!rows.wanted[count])
			break;
	}
	if (code == EXIT_CODE_OK && count == word_count && rows.wanted && rows.found) {
		code = list(session, &rows, words);
	} else if (code == EXIT_CODE_OK) {
		message("out of memory");
		code = EXIT_CODE_OUTPUT;
	}
	for (size_t i = 0; i < rows.count; i++)
		free(rows.rows[i].path);
	for (size_t i = 0; i < count; i++)
		free(rows.wanted[i]);
	free(rows.rows);
	free(rows.wanted);
	free(rows.found);
	return code;
}

int cmd_files(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0 &&
	    options_load(&parsed, &code) == 0) {
		code = session_find(parsed.config, session_name, &session);
		if (code == EXIT_CODE_OK) {
			code = files(&session, argv + parsed.first_word,
				     (size_t)(argc - parsed.first_word));
			session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}
