/*
 * What a workspace's sessions keep of files, for people: their content stores (tracker/content/contents.h), read from
 * indexes and directories, and their undo records (tracker/content/pack.h).
 */
#ifndef SEEN_CLI_VERSIONS_H
#define SEEN_CLI_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "cli/session/session.h"
#include "config/config.h"
#include "tracker/content/contents.h"

/* A version of a file that is kept. */
struct versions_row {
	struct version version;
	uint64_t realtime_ns; /* when it was last kept */
	enum contents_reason
		reason; /* why, then; CONTENTS_REASON_COUNT: no line of the index tells */
	/* permissions that the file had; VERSIONS_NO_MODE: no line of the index tells */
	mode_t mode;
	char *path;     /* absolute; owned; NULL: no line of the index tells */
	size_t store;   /* that it is in */
	uint64_t place; /* of its undo record; VERSIONS_NO_PLACE: it is in a content store */
	bool on_disk;   /* versions_compare(): what is on disk now */
};

#define VERSIONS_NO_MODE ((mode_t)-1)
#define VERSIONS_NO_PLACE UINT64_MAX

/* A content store, or what a session kept for undo. */
struct versions_store {
	char *directory; /* its path */
	char *session;   /* name */
};

struct versions {
	struct versions_row *rows; /* the newest first; one for each path and version */
	size_t count;
	struct versions_store *stores;
	size_t store_count;
	char *workspace; /* absolute */
};

/* versions_find(): everything that is kept of the files of a workspace, and the session that a
 * command means.
 *
 * name: as session_find() takes it.  Where it is not NULL, the versions of that session alone; else
 * those of all sessions of the workspace, also of those whose segment went with a boot.
 * ret_session: session_find()'s; where no session of the workspace has a segment any more,
 * session->segment.header is NULL.
 * A line of an index that is broken, or torn because its writer was killed, is skipped; the first
 * one is named on stderr.
 *
 * Says on stderr what is wrong, and returns an exit code: EXIT_CODE_OK, with a session to close and
 * versions to free, or another, with neither. */
int versions_find(const struct config *config, const char *name, struct session *ret_session,
		  struct versions *ret_versions);

void versions_free(struct versions *versions);

/* versions_compare(): sets on_disk of every row.  Reads each file that has the size of one of its
 * versions. */
void versions_compare(struct versions *versions);

/* versions_choose(): the version that a person means by its first digits: one that is kept of that
 * path; else, by four digits or more, of any.  path: NULL: of any, of which only one file may have
 * had it.
 *
 * Says on stderr what is wrong, and returns an exit code: EXIT_CODE_OK and the row, borrowed from
 * the versions, or another. */
int versions_choose(const struct versions *versions, const char *path, const char *digits,
		    const struct versions_row **ret_row);

/* versions_is_digits(): does a person name a version by this, and no path?  So many digits are one,
 * and no file has that name. */
bool versions_is_digits(const struct versions *versions, const char *word);

/* versions_path(): the path that a person means by a word: as argument_path(); where nothing is
 * kept of that and nothing is there, the one that it names below the workspace, if something is
 * kept of it.  ret_path: capacity bytes.  Returns as argument_path(). */
int versions_path(const struct versions *versions, const char *word, char *ret_path,
		  size_t capacity);

/* versions_has_path(), versions_has(): is something kept of a path; is a version kept? */
bool versions_has_path(const struct versions *versions, const char *path);
bool versions_has(const struct versions *versions, const struct version *version);

/* versions_open(): opens a kept version for reading.  Returns a descriptor, which the caller closes; -ENOENT: it is
 * not kept any more; -EBADMSG: it is damaged; errors of open(2). */
int versions_open(const struct versions *versions, const struct versions_row *row);

/* versions_renew(): no other content makes room for this one: it is the youngest. */
void versions_renew(const struct versions *versions, const struct versions_row *row);

/* versions_name(): the part of a path that is below the workspace; else all of it. */
const char *versions_name(const struct versions *versions, const char *path);

/* versions_open_file(): opens a file of the workspace to read; a symbolic link is not followed, and
 * no FIFO waited for.
 *
 * ret_stat: of the file.  Returns a descriptor, close-on-exec; -EINVAL when it is no regular file;
 * errors of open(2). */
int versions_open_file(const char *path, struct stat *ret_stat);

#endif
