/* Versions that are kept: see versions.h. */
#include "cli/undo/versions.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/owned.h"
#include "cli/session/session.h"
#include "cli/session/session_find.h"
#include "cli/session/store.h"
#include "cli/session/store_nearest.h"
#include "cli/undo/versions_pack.h"
#include "cli/undo/versions_store.h"
#include "config/value.h"
#include "tracker/content/contents_name.h"
#include "tracker/content/pack_name.h"
#include "tracker/sys/sys.h"

enum {
	DIGITS_MAX = 32,
	DIGITS_OF_OTHERS = 4, /* of a version of another file: fewer are a slip */
};

void versions_free(struct versions *versions)
{
	for (size_t i = 0; i < versions->count; i++)
		free(versions->rows[i].path);
	for (size_t i = 0; i < versions->store_count; i++) {
		free(versions->stores[i].directory);
		free(versions->stores[i].session);
	}
	free(versions->rows);
	free(versions->stores);
	free(versions->workspace);
	*versions = (struct versions){ .count = 0 };
}

/* ---- the sessions of a workspace ---- */

/* Of a session without segment and journal the workspace is not known: what is kept of files below
 * this one is this one's. */
static void drop_strangers(struct versions *versions, size_t from)
{
	size_t kept = from;

	for (size_t i = from; i < versions->count; i++) {
		struct versions_row *row = &versions->rows[i];
		if (row->path && argument_is_below(row->path, versions->workspace))
			versions->rows[kept++] = *row;
		else
			free(row->path);
	}
	versions->count = kept;
}

/* What is kept for undo is a part of what there is. */
static void report_unread(const char *session, int error)
{
	if (error < 0 && error != -ENOENT && error != -ENOMEM)
		message("%s: not all that it kept can be read: %s", session, strerror(-error));
}

static bool may_hold(const struct store_session *session)
{
	return session->has_contents && session->state != STORE_OTHER_USER &&
	       session->state != STORE_UNSAFE;
}

/* Adds what a session keeps that is not open. */
static int read_session(const struct store *store, const struct store_session *session,
			struct versions *versions)
{
	char directory[SEGMENT_PATH_BYTES], path[SEGMENT_PATH_BYTES];
	size_t from = versions->count;
	int error = 0;

	for (int place = 0; place < STORE_PLACES && error == 0; place++) {
		if (!session->in[place] ||
		    session_path(directory, sizeof(directory), store->directories[place].path,
				 session->name) < 0 ||
		    session_path(path, sizeof(path), directory, CONTENTS_DIRECTORY) < 0)
			continue;
		error = versions_store_read(path, session->name, versions);
		if (error != -ENOMEM &&
		    session_path(path, sizeof(path), directory, PACK_DIRECTORY) == 0)
			error = versions_pack_read(path, session->name, versions);
		/* One that cannot be read holds up no other. */
		report_unread(session->name, error);
		error = error == -ENOMEM ? error : 0;
	}
	if (error == 0 && !session->workspace)
		drop_strangers(versions, from);
	return error;
}

/* Adds what the workspace's other sessions keep.  own: name of the one that was read already, or
 * "". */
static int read_others(const struct config *config, const char *own, struct versions *versions)
{
	struct store store;
	int error = store_open(config, &store);

	if (error == 0 && !versions->workspace) {
		versions->workspace = strdup(store_nearest_workspace(config, &store));
		error = versions->workspace ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < store.count && error == 0; i++) {
		const struct store_session *session = &store.sessions[i];
		if (may_hold(session) && strcmp(session->name, own) != 0 &&
		    (!session->workspace || strcmp(session->workspace, versions->workspace) == 0))
			error = read_session(&store, session, versions);
	}
	store_close(&store);
	return error;
}

static int failed(const struct session *session, int error)
{
	const char *directory = segment_contents(&session->segment);

	if (error == -ENOMEM) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	if (!directory)
		message("this session keeps no versions: [content] max_bytes was 0, or no "
			"directory "
			"could be made for them");
	else
		message("%s: %s", directory,
			error == -ENOENT ? "the directory of kept versions is gone"
					 : owned_explain(error));
	return error == -ENOENT ? EXIT_CODE_NOTHING : EXIT_CODE_BAD_SESSION;
}

/* Reads them; session: not open: there is none. */
static int read_stores(const struct config *config, const char *name, const struct session *session,
		       struct versions *versions)
{
	const struct segment *segment = &session->segment;
	bool is_open = segment->header != NULL;
	const char *root = is_open ? segment_text(segment, segment->settings->paths_workspace, NULL)
				   : NULL;
	int own_error = 0, error = 0;

	if (root && !(versions->workspace = strdup(root)))
		return failed(session, -ENOMEM);
	if (is_open)
		own_error = versions_store_read(segment_contents(segment), session->name, versions);
	if (is_open && own_error != -ENOMEM)
		error = versions_pack_read(segment_undo(segment), session->name, versions);
	if (!name && own_error != -ENOMEM && error != -ENOMEM)
		error = read_others(config, session->name, versions);
	versions_unite(versions);
	if (own_error == -ENOMEM || error == -ENOMEM)
		return failed(session, -ENOMEM);
	report_unread(session->name, error);
	if (own_error < 0 && versions->count == 0)
		return failed(session, own_error);
	if (!is_open && versions->count == 0)
		return session_none(config);
	return EXIT_CODE_OK;
}

int versions_find(const struct config *config, const char *name, struct session *ret_session,
		  struct versions *ret_versions)
{
	const char *inside = getenv("SEEN_SESSION");
	struct versions versions = { .count = 0 };
	struct session session = { .made = false };
	int code = EXIT_CODE_OK;

	if (name || (inside && inside[0]))
		code = session_find(config, name, &session);
	else
		(void)session_find_newest(config, &session);
	if (code == EXIT_CODE_OK)
		code = read_stores(config, name, &session, &versions);
	if (code == EXIT_CODE_OK) {
		*ret_session = session;
		*ret_versions = versions;
	} else {
		versions_free(&versions);
		session_close(&session);
	}
	return code;
}

int versions_open(const struct versions *versions, const struct versions_row *row)
{
	const char *directory = versions->stores[row->store].directory;

	return row->place == VERSIONS_NO_PLACE ? contents_open_in(directory, &row->version)
					       : versions_pack_open(directory, row);
}

void versions_renew(const struct versions *versions, const struct versions_row *row)
{
	int fd = row->place == VERSIONS_NO_PLACE ? versions_open(versions, row) : -1;

	if (fd < 0)
		return;
	(void)futimens(fd, NULL);
	(void)close(fd);
}

const char *versions_name(const struct versions *versions, const char *path)
{
	const char *root = versions->workspace;
	size_t length = root ? strlen(root) : 0;

	if (length < 2 || strncmp(path, root, length) != 0 || path[length] != '/')
		return length == 1 && path[0] == '/' && path[1] ? path + 1 : path;
	return path + length + 1;
}

bool versions_has_path(const struct versions *versions, const char *path)
{
	for (size_t i = 0; i < versions->count; i++)
		if (versions->rows[i].path && strcmp(versions->rows[i].path, path) == 0)
			return true;
	return false;
}

bool versions_has(const struct versions *versions, const struct version *version)
{
	for (size_t i = 0; i < versions->count; i++)
		if (version_equal(&versions->rows[i].version, version))
			return true;
	return false;
}

int versions_path(const struct versions *versions, const char *word, char *ret_path,
		  size_t capacity)
{
	char below[SEGMENT_PATH_BYTES];
	int error = argument_path(word, ret_path, capacity);

	/* The lines that agents and people get name files from the workspace on. */
	if (error == 0 && word[0] != '/' && versions->workspace &&
	    !versions_has_path(versions, ret_path) && access(ret_path, F_OK) < 0 &&
	    session_path(below, sizeof(below), versions->workspace, word) == 0 &&
	    versions_has_path(versions, below) && strlen(below) < capacity)
		memcpy(ret_path, below, strlen(below) + 1);
	return error;
}

/* ---- files on disk ---- */

int versions_open_file(const char *path, struct stat *ret_stat)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int error = fstat(fd, ret_stat) < 0 ? -errno : S_ISREG(ret_stat->st_mode) ? 0 : -EINVAL;
	if (error == 0)
		return fd;
	(void)close(fd);
	return error;
}

/* Compares rows of one path with what is there. */
static void compare(struct versions_row *rows, size_t count)
{
	struct content content = { .lines = 0 };
	struct stat stat = { .st_size = 0 };
	bool has_size = false;
	int fd = versions_open_file(rows->path, &stat);

	if (fd < 0)
		return;
	for (size_t i = 0; i < count; i++)
		has_size |= rows[i].version.size_bytes == (uint64_t)stat.st_size;
	if (has_size && content_of_descriptor(fd, UINT64_MAX, &content) == 0)
		for (size_t i = 0; i < count; i++)
			rows[i].on_disk = version_equal(&rows[i].version, &content.version);
	(void)close(fd);
}

void versions_compare(struct versions *versions)
{
	size_t count;

	versions_sort(versions, versions_by_path);
	for (size_t i = 0; i < versions->count; i += count) {
		struct versions_row *first = &versions->rows[i];
		for (count = 1;
		     i + count < versions->count && versions_by_path(first, first + count) == 0;
		     count++)
			;
		for (size_t row = 0; row < count; row++)
			first[row].on_disk = false;
		if (first->path)
			compare(first, count);
	}
	versions_sort(versions, versions_by_time);
}

/* ---- choosing ---- */

static bool has_digits(const struct version *version, const char *digits)
{
	char name[CONTENTS_NAME_BYTES];

	contents_name(version, name);
	return strncmp(name, digits, strlen(digits)) == 0;
}

/* How many versions begin so, two at most; path NULL: of any file.  ret_row: the newest of the
 * first. */
static int choose(const struct versions *versions, const char *path, const char *digits,
		  const struct versions_row **ret_row)
{
	int found = 0;

	for (size_t i = 0; i < versions->count && found < 2; i++) {
		const struct versions_row *row = &versions->rows[i];
		if ((path && (!row->path || strcmp(row->path, path) != 0)) ||
		    !has_digits(&row->version, digits) ||
		    (found && version_equal(&row->version, &(*ret_row)->version)))
			continue;
		found++;
		*ret_row = row;
	}
	return found;
}

static bool is_hexadecimal(const char *digits)
{
	size_t length = strlen(digits);

	return length > 0 && length <= DIGITS_MAX &&
	       strspn(digits, "0123456789abcdefABCDEF") == length;
}

/* Had one file alone this version?  Says which had it, otherwise. */
static int check_file(const struct versions *versions, const struct versions_row *chosen,
		      const char *digits)
{
	if (!chosen->path) {
		message("%s: it is not known which file that was: say where it is to go: `seen "
			"restore PATH %s`",
			digits, digits);
		return EXIT_CODE_USAGE;
	}
	for (size_t i = 0; i < versions->count; i++) {
		const struct versions_row *row = &versions->rows[i];
		if (!row->path || !version_equal(&row->version, &chosen->version) ||
		    strcmp(row->path, chosen->path) == 0)
			continue;
		message("%s: more than one file had that content, %s and %s: say which, before "
			"the version",
			digits, versions_name(versions, chosen->path),
			versions_name(versions, row->path));
		return EXIT_CODE_USAGE;
	}
	return EXIT_CODE_OK;
}

int versions_choose(const struct versions *versions, const char *path, const char *digits,
		    const struct versions_row **ret_row)
{
	char lower[DIGITS_MAX + 1];
	size_t length = strlen(digits);
	int found = 0;

	if (!is_hexadecimal(digits)) {
		message("%s: no version: those are the hexadecimal digits that `seen versions` "
			"shows, or the first of them",
			digits);
		return EXIT_CODE_USAGE;
	}
	for (size_t i = 0; i <= length; i++)
		lower[i] = (char)tolower((unsigned char)digits[i]);
	if (!path && length < DIGITS_OF_OTHERS) {
		message("%s: without a path a version takes four digits at least", digits);
		return EXIT_CODE_USAGE;
	}
	if (path)
		found = choose(versions, path, lower, ret_row);
	if (found == 0 && length >= DIGITS_OF_OTHERS)
		found = choose(versions, NULL, lower, ret_row);
	if (found == 1)
		return path ? EXIT_CODE_OK : check_file(versions, *ret_row, digits);
	if (found == 0) {
		message("%s: no such version is kept; `seen versions` lists them", digits);
		return EXIT_CODE_NOTHING;
	}
	message("%s: more than one version begins so: give more digits", digits);
	return EXIT_CODE_USAGE;
}

bool versions_is_digits(const struct versions *versions, const char *word)
{
	char path[SEGMENT_PATH_BYTES];

	return is_hexadecimal(word) && strlen(word) >= DIGITS_OF_OTHERS && access(word, F_OK) < 0 &&
	       argument_path(word, path, sizeof(path)) == 0 && !versions_has_path(versions, path);
}
