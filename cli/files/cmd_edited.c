/*
 * `seen edited`: files that the session's agent edited, for checkpoints.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/session.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"

static const char *session_name;
static bool clear, tools, json;

static const struct option_spec SPECS[] = {
	{ "--clear", NULL, "do not list these files again before their next edit", &clear, NULL },
	{ "--tools", NULL, "include what its tools edited (formatters, git, a build)", &tools,
	  NULL },
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--json", NULL, "a JSON document, seen/edited/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "edited [OPTION...]",
	.summary = "Lists the files that the agent edited, or removed, since the last --clear.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

struct row {
	char *path; /* absolute */
	struct file_slot file;
};

struct rows {
	uint32_t flags; /* what is asked for */
	struct row *rows;
	size_t count, capacity;
};

static int add_row(const char *path, const struct file_slot *file, void *data)
{
	struct rows *rows = data;

	/* What came and went is no change. */
	if (!(file->flags & rows->flags) || file_fate(file) == FATE_IS_TRANSIENT)
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
	rows->rows[rows->count++] = row;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->path, ((const struct row *)b)->path);
}

static const char *who(const struct row *row)
{
	return source_name(row->file.flags & FILE_EDIT_UNREPORTED ? SOURCE_AGENT : SOURCE_TOOL);
}

static int print_json(const struct session *session, const struct rows *rows)
{
	json_t *document = json_object(), *files = json_array();
	const char *root = segment_text(&session->segment,
					session->segment.settings->paths_workspace, NULL);

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		json_t *object = json_object();
		(void)json_object_set_new(object, "path",
					  text_json(path_relative(&session->segment, row->path)));
		(void)json_object_set_new(object, "source", json_string(who(row)));
		(void)json_object_set_new(object, "time",
					  text_json_time(row->file.last_edit_realtime_ns));
		(void)json_object_set_new(object, "removed",
					  json_boolean(file_fate(&row->file) == FATE_IS_REMOVED));
		(void)json_array_append_new(files, object);
	}
	(void)json_object_set_new(document, "schema", json_string("seen/edited/1"));
	(void)json_object_set_new(document, "session", text_json(session->name));
	(void)json_object_set_new(document, "workspace", text_json(root ? root : ""));
	(void)json_object_set_new(document, "files", files);
	return text_json_print(document);
}

static void print_rows(const struct segment *segment, const struct rows *rows)
{
	char path[SEGMENT_PATH_BYTES * 4];

	for (size_t i = 0; i < rows->count; i++)
		if (path_escape(path_relative(segment, rows->rows[i].path), path, sizeof(path)) >=
		    0)
			(void)printf("%-12s  %s%s\n", who(&rows->rows[i]), path,
				     file_fate(&rows->rows[i].file) == FATE_IS_REMOVED
					     ? "  (removed)"
					     : "");
}

struct told {
	const struct file_slot *file;
	uint32_t flags;
};

/* Only what was shown: it may have been edited again. */
static void note_told(struct file_slot *file, const void *data)
{
	const struct told *told = data;

	if (file->last_edit_realtime_ns == told->file->last_edit_realtime_ns)
		file->flags &= ~told->flags;
}

static int edited(const struct session *session)
{
	struct rows rows = { .flags = FILE_EDIT_UNREPORTED |
				      (tools ? FILE_TOOL_EDIT_UNREPORTED : 0) };
	int error = tracker_each_file(&session->segment, add_row, &rows);

	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), by_path);
	if (error == 0 && json)
		error = print_json(session, &rows);
	else if (error == 0)
		print_rows(&session->segment, &rows);
	for (size_t i = 0; i < rows.count; i++) {
		struct told told = { &rows.rows[i].file, rows.flags };
		/* What could not be printed was not told. */
		if (error == 0 && clear && fflush(stdout) == 0)
			(void)file_change_known(&session->segment, told.file->key, note_told,
						&told);
		free(rows.rows[i].path);
	}
	free(rows.rows);
	if (error < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return EXIT_CODE_OK;
}

int cmd_edited(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (parsed.first_word < argc) {
		message("edited takes no paths");
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = session_find(parsed.config, session_name, &session);
		if (code == EXIT_CODE_OK) {
			code = edited(&session);
			session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}
