/*
 * `seen versions`: what is kept of files, so that it can be inspected and brought back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/argument.h"
#include "cli/base/clock.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/session.h"
#include "cli/undo/versions.h"
#include "cli/undo/versions_command.h"
#include "tracker/content/contents_name.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

static const char *session_name;
static bool json;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "of this session; default: of all sessions of the workspace", NULL,
	  &session_name },
	{ "--json", NULL, "a JSON document, seen/versions/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "versions [OPTION...] [PATH...]",
	.summary =
		"Lists the kept versions of files, the newest first: time, version, size, why it "
		"was kept, and whether it is on disk now. PATH: this file, or all files below this "
		"directory. `seen diff` compares a version, `seen restore` brings it back.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* ---- for programs ---- */

static json_t *json_row(const struct versions *versions, const struct versions_row *row)
{
	json_t *object = json_object();
	char digits[VERSION_DIGITS + 1], name[CONTENTS_NAME_BYTES];

	version_digits(&row->version, digits);
	contents_name(&row->version, name);
	*strchr(name, '-') = '\0';
	(void)json_object_set_new(object, "path",
				  row->path ? text_json(versions_name(versions, row->path))
					    : json_null());
	(void)json_object_set_new(object, "time", text_json_time(row->realtime_ns));
	(void)json_object_set_new(object, "version", json_string(digits));
	(void)json_object_set_new(object, "hash", json_string(name));
	(void)json_object_set_new(object, "bytes",
				  json_integer((json_int_t)row->version.size_bytes));
	(void)json_object_set_new(object, "reason",
				  row->reason == CONTENTS_REASON_COUNT
					  ? json_null()
					  : json_string(contents_reason_name(row->reason)));
	(void)json_object_set_new(object, "mode",
				  row->mode == VERSIONS_NO_MODE
					  ? json_null()
					  : json_sprintf("%04o", (unsigned)row->mode));
	(void)json_object_set_new(object, "session",
				  text_json(versions->stores[row->store].session));
	(void)json_object_set_new(object, "on_disk", json_boolean(row->on_disk));
	return object;
}

/* Of one session's versions. */
static uint64_t count_bytes(const struct session *session, const struct versions *versions)
{
	uint64_t bytes = 0;

	for (size_t i = 0; session->segment.header && i < versions->count; i++)
		if (strcmp(versions->stores[versions->rows[i].store].session, session->name) == 0)
			bytes += versions->rows[i].version.size_bytes;
	return bytes;
}

static int print_json(const struct session *session, const struct versions *versions,
		      uint64_t bytes)
{
	json_t *document = json_object(), *rows = json_array();
	bool is_open = session->segment.header != NULL;

	for (size_t i = 0; i < versions->count; i++)
		(void)json_array_append_new(rows, json_row(versions, &versions->rows[i]));
	(void)json_object_set_new(document, "schema", json_string("seen/versions/1"));
	(void)json_object_set_new(document, "session",
				  is_open ? text_json(session->name) : json_null());
	(void)json_object_set_new(document, "workspace",
				  text_json(versions->workspace ? versions->workspace : ""));
	(void)json_object_set_new(document, "bytes_kept", json_integer((json_int_t)bytes));
	(void)json_object_set_new(document, "versions", rows);
	return text_json_print(document);
}

/* ---- for people ---- */

static void print_table(const struct versions *versions)
{
	if (!versions->count)
		return;
	(void)printf("%s%-*s  %-12s  %13s  %-9s  %-7s  %s%s\n", text_style(stdout, "1"),
		     clock_stamp_columns(), "KEPT", "VERSION", "BYTES", "WHY", "ON DISK", "PATH",
		     text_style(stdout, "0"));
	for (size_t i = 0; i < versions->count; i++) {
		const struct versions_row *row = &versions->rows[i];
		char digits[VERSION_DIGITS + 1], time[TEXT_TIME_BYTES], bytes[TEXT_NUMBER_BYTES];
		char path[SEGMENT_PATH_BYTES * 4];
		if (path_escape(row->path ? versions_name(versions, row->path) : "-", path,
				sizeof(path)) < 0)
			continue;
		version_digits(&row->version, digits);
		(void)clock_stamp(row->realtime_ns, time);
		(void)printf(
			"%-*s  %s  %13s  %-9s  %s%-7s%s  %s\n", clock_stamp_columns(),
			time[0] ? time : "-", digits, text_number(row->version.size_bytes, bytes),
			row->reason == CONTENTS_REASON_COUNT ? "-"
							     : contents_reason_name(row->reason),
			text_style(stdout, row->on_disk ? "32" : "0"), row->on_disk ? "now" : "",
			text_style(stdout, "0"), path);
	}
}

/* ---- the command ---- */

/* Leaves the rows of the paths that were asked for.  Says which have none. */
static int filter(struct versions *versions, char **words)
{
	char path[SEGMENT_PATH_BYTES];
	bool *wanted = calloc(versions->count + 1, sizeof(*wanted));
	int code = EXIT_CODE_OK;
	size_t kept = 0;

	if (!wanted) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	for (; *words && code != EXIT_CODE_USAGE; words++) {
		int error = versions_path(versions, *words, path, sizeof(path));
		bool found = false;
		if (error < 0) {
			message("%s: %s", *words, strerror(-error));
			code = EXIT_CODE_USAGE;
			break;
		}
		for (size_t i = 0; i < versions->count; i++)
			if (versions->rows[i].path &&
			    argument_is_below(versions->rows[i].path, path))
				wanted[i] = found = true;
		if (!found) {
			message("%s: no version is kept", *words);
			code = EXIT_CODE_NOTHING;
		}
	}
	for (size_t i = 0; i < versions->count; i++)
		if (wanted[i])
			versions->rows[kept++] = versions->rows[i];
		else
			free(versions->rows[i].path);
	versions->count = kept;
	free(wanted);
	return code;
}

static int versions_of(const struct session *session, struct versions *versions, char **words)
{
	uint64_t bytes = count_bytes(session, versions); /* of all paths */
	int code = *words ? filter(versions, words) : EXIT_CODE_OK;
	int error = 0;

	if (code == EXIT_CODE_USAGE)
		return code;
	versions_compare(versions);
	if (json)
		error = print_json(session, versions, bytes);
	else
		print_table(versions);
	if (error < 0) {
		message("out of memory");
		code = EXIT_CODE_OUTPUT;
	}
	return code;
}

int cmd_versions(int argc, char **argv)
{
	return versions_command(
		&(struct session_command){
			.options = &OPTIONS,
			.name = &session_name,
			.words_max = SESSION_COMMAND_ANY,
		},
		versions_of, argc, argv);
}
