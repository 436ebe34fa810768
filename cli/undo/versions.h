/*
 * What a session's content store holds, for people: read from its index and its folder (tracker/content/contents.h).
 */
#ifndef SEEN_CLI_VERSIONS_H
#define SEEN_CLI_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tracker/content/contents.h"
#include "tracker/segment/segment.h"

/* A version of a file that is kept. */
struct versions_row {
	struct version version;
	uint64_t realtime_ns; /* when it was last kept */
	enum contents_reason
		reason; /* why, then; CONTENTS_REASON_COUNT: no line of the index tells */
	char *path;     /* absolute; owned; NULL: no line of the index tells */
	bool on_disk;   /* versions_compare(): what is on disk now */
};

struct versions {
	struct versions_row *rows; /* the newest first; one for each path and version */
	size_t count;
};

/* versions_read(): everything that is kept.
 *
 * A line of the index that is broken, or torn because its writer was killed, is skipped; the first one is named on stderr.
 * ret_versions: versions_free() it in any case.  Returns 0; -ENOENT where the session has no store; -ENOMEM; errors of open(2). */
int versions_read(const struct segment *segment, struct versions *ret_versions);

void versions_free(struct versions *versions);

/* versions_compare(): sets on_disk of every row.  Reads each file that has the size of one of its versions. */
void versions_compare(struct versions *versions);

/* versions_choose(): the version of a file that a person means by its first digits: one that is kept of that path; else, by four
 * digits or more, of any.
 *
 * Says on stderr what is wrong, and returns an exit code: EXIT_CODE_OK and the version, or another. */
int versions_choose(const struct versions *versions, const char *path, const char *digits,
		    struct version *ret_version);

/* versions_open_file(): opens a file of the workspace to read; a symbolic link is not followed, and no FIFO waited for.
 *
 * ret_stat: of the file.  Returns a descriptor, close-on-exec; -EINVAL when it is no regular file; errors of open(2). */
int versions_open_file(const char *path, struct stat *ret_stat);

/* versions_failed(): says on stderr why versions_read() failed, and returns an exit code. */
int versions_failed(const struct segment *segment, int error);

/* versions_tidy(): removes the copies that killed processes left unfinished.  folder: of the store.  Returns 0 or the errors of
 * session_open_folder(). */
int versions_tidy(const char *folder);

#endif
