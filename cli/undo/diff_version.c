/* A kept version of a file against what is on disk: see diff_version.h. */
#include "cli/undo/diff_version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/session/scopes.h"
#include "cli/undo/versions_command.h"
#include "tracker/answer/delivery.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/contents_name.h"
#include "tracker/segment/workspace.h"

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
static int given_last(const struct segment *segment, const char *scope, const char *path,
		      struct version *ret_version)
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
		       const char *scope, const char *path, const struct versions_row **ret_row)
{
	char digits[VERSION_DIGITS + 1], time[TEXT_TIME_BYTES];
	struct version given = { 0 };
	int code = session->segment.header ? given_last(&session->segment, scope, path, &given)
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
			clock_stamp(row->realtime_ns, time));
	*ret_row = row;
	return EXIT_CODE_OK;
}

/* ---- the diff ---- */

/* All bytes of an open file, which is closed.  Returns 0 or a negative errno. */
static int read_all(int fd, char **ret_bytes, size_t *ret_size)
{
	struct stat stat;
	size_t size = 0;
	int error = fstat(fd, &stat) < 0 ? -errno : 0;
	char *bytes = error ? NULL : malloc((size_t)stat.st_size + 1);

	if (error == 0 && !bytes)
		error = -ENOMEM;
	while (error == 0 && size < (size_t)stat.st_size) {
		ssize_t got = pread(fd, bytes + size, (size_t)stat.st_size - size, (off_t)size);
		if (got == 0)
			break;
		if (got > 0)
			size += (size_t)got;
		else if (errno != EINTR)
			error = -errno;
	}
	(void)close(fd);
	if (error < 0) {
		free(bytes);
		return error;
	}
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

/* The bytes of a kept version, which are those that its name says. */
static int read_kept(const struct versions *versions, const struct versions_row *row,
		     char **ret_bytes)
{
	size_t size = 0;
	int fd = versions_open(versions, row);
	int error = fd < 0 ? fd : read_all(fd, ret_bytes, &size);

	if (error < 0)
		return error;
	struct version found = version_of_bytes(*ret_bytes, size);
	if (version_equal(&found, &row->version))
		return 0;
	free(*ret_bytes);
	*ret_bytes = NULL;
	return -EBADMSG;
}

/* Reads what is on disk: nothing where the file is gone.  Returns an exit code. */
static int read_disk(const struct versions *versions, const char *path, char **ret_bytes,
		     struct patch_side *side)
{
	struct stat stat;
	int fd = versions_open_file(path, &stat);

	if (fd == -ENOENT || fd == -ENOTDIR)
		return EXIT_CODE_OK;
	int error = fd < 0 ? fd : read_all(fd, ret_bytes, &side->size);
	if (error < 0) {
		message("%s: %s", versions_name(versions, path),
			error == -EINVAL || error == -ELOOP ? "no regular file" : strerror(-error));
		return EXIT_CODE_PARTLY;
	}
	side->bytes = *ret_bytes;
	side->mode = stat.st_mode;
	return EXIT_CODE_OK;
}

static int write_patch(const struct patch_side *kept, const struct patch_side *disk,
		       const struct patch_style *style)
{
	struct patch_pair pair;
	int code = EXIT_CODE_PARTLY;

	if (patch_pair_make(kept, disk, &pair) < 0)
		message("out of memory");
	else
		code = patch_write(stdout, &pair, style) ? EXIT_CODE_DIFFERS : EXIT_CODE_OK;
	patch_pair_free(&pair);
	return code;
}

static int compare(const struct versions *versions, const char *path,
		   const struct versions_row *row, const struct patch_style *style)
{
	char digits[VERSION_DIGITS + 1], *bytes = NULL, *disk_bytes = NULL;
	struct patch_side disk = { .path = versions_name(versions, path) }, kept = disk;
	int error = read_kept(versions, row, &bytes);

	if (error < 0) {
		version_digits(&row->version, digits);
		message("version %s: %s", digits,
			error == -EBADMSG ? "it is damaged" : strerror(-error));
		return error == -ENOENT ? EXIT_CODE_NOTHING : EXIT_CODE_BAD_SESSION;
	}
	int code = read_disk(versions, path, &disk_bytes, &disk);
	if (code == EXIT_CODE_OK) {
		kept.bytes = bytes;
		kept.size = row->version.size_bytes;
		/* A mode that is not on record is no difference. */
		kept.mode = row->mode != VERSIONS_NO_MODE ? S_IFREG | row->mode
			    : disk.mode                   ? disk.mode
							  : S_IFREG | 0644;
		code = write_patch(&kept, &disk, style);
	}
	free(bytes);
	free(disk_bytes);
	return code;
}

int diff_version(const struct session *session, const struct versions *versions,
		 const struct diff_version_request *request)
{
	char path[SEGMENT_PATH_BYTES];
	const struct versions_row *row;
	char **words = request->words;
	int code;

	if (!request->is_given) {
		code = versions_named(versions, words, path, &row);
		return code == EXIT_CODE_OK ? compare(versions, path, row, request->style) : code;
	}
	int error = versions_path(versions, words[0], path, sizeof(path));
	if (error < 0) {
		message("%s: %s", words[0], strerror(-error));
		return EXIT_CODE_USAGE;
	}
	code = choose_last(session, versions, request->scope, path, &row);
	return code == EXIT_CODE_OK ? compare(versions, path, row, request->style) : code;
}
