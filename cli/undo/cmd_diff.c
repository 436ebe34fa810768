/*
 * `seen diff`: a kept version of a file against what is on disk, by the diff program.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/files/unified.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "cli/undo/versions.h"
#include "cli/undo/versions_command.h"
#include "tracker/answer/delivery.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/contents_name.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

static const char *session_name, *scope;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "of this session; default: of all sessions of the workspace", NULL,
	  &session_name },
	{ "--scope", "ID", "default VERSION: what this scope was given last", NULL, &scope },
};

static const struct options OPTIONS = {
	.usage = "diff [OPTION...] [PATH] [VERSION]",
	.summary = "Compares a kept version of a file with the file on disk, as a unified diff. "
		   "VERSION: its first digits in `seen versions`. Default: the version that an "
		   "agent was given last, else the one that was kept last.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* ---- which version ---- */

static const struct versions_row *find(const struct versions *versions, const char *path,
				       const struct version *version)
{
	for (size_t i = 0; i < versions->count; i++) {
		const struct versions_row *row = &versions->rows[i];
		if (row->path && strcmp(row->path, path) == 0 &&
		    (!version || version_equal(&row->version, version)))
			return row;
	}
	return NULL;
}

/* What the scope, or without one anybody, was given or has read last; none: nothing. */
static int given_last(const struct segment *segment, const char *path, struct version *ret_version)
{
	struct delivery_slot delivery;
	struct file_slot file;
	uint64_t scope_id = 0;
	int code = scope ? scopes_choose(segment, scope, &scope_id) : EXIT_CODE_OK;

	*ret_version = (struct version){ 0 };
	if (code == EXIT_CODE_OK && scope_id) {
		if (delivery_find(segment, scope_id, path_key(segment, path), &delivery) == 0)
			*ret_version = delivery.version;
	} else if (code == EXIT_CODE_OK && tracker_file(segment, path, &file) == 0) {
		*ret_version = file.version;
	}
	return code;
}

/* The version that is meant where none was named; prints which. */
static int choose_last(const struct session *session, const struct versions *versions,
		       const char *path, const struct versions_row **ret_row)
{
	char digits[VERSION_DIGITS + 1], time[TEXT_TIME_BYTES];
	struct version given = { 0 };
	int code = session->segment.header ? given_last(&session->segment, path, &given)
					   : EXIT_CODE_OK;
	const struct versions_row *row = NULL;

	if (code != EXIT_CODE_OK)
		return code;
	if (!version_is_none(&given))
		row = find(versions, path, &given);
	bool was_given = row != NULL;
	if (!row && !scope)
		row = find(versions, path, NULL); /* the newest comes first */
	if (!row) {
		message("%s: no version is kept%s", versions_name(versions, path),
			scope ? " that the scope was given" : "");
		return EXIT_CODE_NOTHING;
	}
	version_digits(&row->version, digits);
	if (was_given)
		message("against %s, which %s was given last", digits,
			scope ? "the scope" : "an agent");
	else
		message("against %s, kept last (%s, %s)", digits, contents_reason_name(row->reason),
			text_time(row->realtime_ns, time));
	*ret_row = row;
	return EXIT_CODE_OK;
}

/* ---- the diff ---- */

/* The path of a content's file, whole as its name says. */
static int content_path(const char *directory, const struct version *version, char *ret_path,
			size_t capacity)
{
	char name[CONTENTS_NAME_BYTES];
	struct content content;
	int fd = contents_open_in(directory, version);

	if (fd < 0)
		return fd;
	int error = content_of_descriptor(fd, UINT64_MAX, &content);
	(void)close(fd);
	if (error == 0 && !version_equal(&content.version, version))
		error = -EBADMSG;
	contents_name(version, name);
	return error < 0 ? error : session_path(ret_path, capacity, directory, name);
}

static int compare(const struct versions *versions, const char *path,
		   const struct versions_row *row)
{
	const struct version *version = &row->version;
	char kept[SEGMENT_PATH_BYTES], old_label[SEGMENT_PATH_BYTES * 4 + 64],
		new_label[SEGMENT_PATH_BYTES * 4 + 64], name[SEGMENT_PATH_BYTES * 4],
		digits[VERSION_DIGITS + 1];
	struct stat stat;
	const char *now = path;
	int error = content_path(versions_directory(versions, row), version, kept, sizeof(kept));

	version_digits(version, digits);
	if (error < 0) {
		message("version %s: %s", digits,
			error == -EBADMSG ? "it is damaged" : strerror(-error));
		return error == -ENOENT ? EXIT_CODE_NOTHING : EXIT_CODE_BAD_SESSION;
	}
	int fd = versions_open_file(path, &stat);
	if (fd >= 0)
		(void)close(fd);
	else if (fd == -ENOENT || fd == -ENOTDIR)
		now = "/dev/null";
	else {
		message("%s: %s", versions_name(versions, path),
			fd == -EINVAL || fd == -ELOOP ? "no regular file" : strerror(-fd));
		return EXIT_CODE_PARTLY;
	}
	if (path_escape(versions_name(versions, path), name, sizeof(name)) < 0)
		return EXIT_CODE_PARTLY;
	(void)snprintf(old_label, sizeof(old_label), "%s\t(version %s)", name, digits);
	(void)snprintf(new_label, sizeof(new_label), "%s%s", name,
		       now == path ? "" : "\t(deleted)");
	switch (unified_make(kept, now, old_label, new_label, -1, 0)) {
	case 0:
		return EXIT_CODE_OK;
	case 1:
		return EXIT_CODE_DIFFERS;
	case -ENOENT:
		message("there is no program `diff`: install it (diffutils)");
		return EXIT_CODE_PARTLY;
	case -EPIPE:
		/* As if this program had written the lines itself: `seen diff F | head` reports nothing. */
		(void)raise(SIGPIPE);
		return EXIT_CODE_OUTPUT;
	default:
		message("diff could not compare them");
		return EXIT_CODE_PARTLY;
	}
}

/* ---- the command ---- */

static int diff(const struct session *session, struct versions *versions, char **words)
{
	char path[SEGMENT_PATH_BYTES];
	const struct versions_row *row;
	int code;

	if (words[1] || (!scope && versions_is_digits(versions, words[0]))) {
		code = versions_named(versions, words, path, &row);
		return code == EXIT_CODE_OK ? compare(versions, path, row) : code;
	}
	int error = versions_path(versions, words[0], path, sizeof(path));
	if (error < 0) {
		message("%s: %s", words[0], strerror(-error));
		return EXIT_CODE_USAGE;
	}
	code = choose_last(session, versions, path, &row);
	return code == EXIT_CODE_OK ? compare(versions, path, row) : code;
}

static const char *refuse(char **words)
{
	return scope && words[1] ? "--scope chooses a version: it takes none beside it" : NULL;
}

int cmd_diff(int argc, char **argv)
{
	return versions_command(
		&(struct session_command){
			.options = &OPTIONS,
			.name = &session_name,
			.words_min = 1,
			.words_max = 2,
			.words_wrong =
				"diff takes a path, a version, or both: `seen diff PATH [VERSION]`",
			.refuse = refuse,
		},
		diff, argc, argv);
}
