/*
 * The files of a workspace that a session read and changed, with the SHA-256 of each where the bytes
 * are known.  The journal says which files they are, the undo records what was there before.
 *
 * What a session read is known where no change of the file came behind its first read, as the file's
 * ctime tells, or where the session's own change kept what was there.  What it left is known where
 * the file is as the session left it.  All else is listed with the reason why it is not known.  git's
 * own directories are left out: the commit stands for them.
 */
#ifndef SEEN_CLI_ARTIFACTS_H
#define SEEN_CLI_ARTIFACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/attest/file_digest.h"
#include "cli/report/report.h"
#include "cli/undo/tree_change.h"

struct artifact {
	char *name;            /* below the workspace, bytes of others; owned */
	const char *not_known; /* why its digest is not known; static; NULL: it is */
	char digest[FILE_DIGEST_BYTES];
	bool is_link; /* a symbolic link: the digest is of its target */
};

struct artifact_list {
	struct artifact *artifacts; /* by name, as bytes */
	size_t count, capacity;
};

struct artifacts {
	struct artifact_list materials; /* read, and not made by the session */
	struct artifact_list products;  /* made or changed */
	struct artifact_list removed;   /* that were there before; no digest */
};

/* artifacts_gather(): finds them and reads each file.
 *
 * report: of the session.  records, changes: of all that it changed; `changes` without an end.
 * ret_artifacts: artifacts_free() in any case.  Returns 0 or -ENOMEM; errors of open(2) for "/". */
int artifacts_gather(const struct report *report, const struct tree_records *records,
		     const struct tree_changes *changes, struct artifacts *ret_artifacts);
void artifacts_free(struct artifacts *artifacts);

/* artifact_path(): the absolute path of a name below a directory.
 *
 * ret_path: capacity bytes.  Returns false for a name that is none: absolute, empty, with "." or ".."
 * in it, or too long. */
bool artifact_path(const char *directory, const char *name, char *ret_path, size_t capacity);

#endif
