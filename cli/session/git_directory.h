/* The git directory of a workspace that is a worktree, a submodule, or a repository with a separate one. */
#ifndef SEEN_CLI_GIT_DIRECTORY_H
#define SEEN_CLI_GIT_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

/* git_directory_observe(): where the workspace's git directory lies elsewhere, undo observes it as it does
 * the workspace: HEAD and index belong to the files. */
void git_directory_observe(const struct segment *segment);

/* Of a repository whose work tree begins above a workspace. */
struct git_directory_above {
	char own[PATH_MAX], common[PATH_MAX]; /* common: of a linked worktree; else as own */
};

/* git_directory_above(): root: absolute.  Returns false where the root has a git directory of its own, or where there is
 * none above it. */
bool git_directory_above(const char *root, struct git_directory_above *ret_above);

/* git_directory_written(): was a file of HEAD, the index, the reflog of HEAD or the refs written, or a directory of
 * refs, behind a time?  What they say need not be another thing: `git status` writes the index.  time_ns: realtime. */
bool git_directory_written(const struct git_directory_above *above, int64_t time_ns);

/* git_directory_of_worktree(): the git directory that a linked worktree shares with others, which knows
 * that worktree: a `.git` file alone may name anything.
 *
 * root: canonical, of the work tree.  ret_common: PATH_MAX bytes, canonical. */
bool git_directory_of_worktree(const char *root, char *ret_common);

enum { GIT_DIRECTORY_COMMIT_BYTES = 65 }; /* SHA-256 in hexadecimal digits, and NUL */

/* git_directory_commit(): what HEAD of a directory's repository is: its files are read, git is not run.
 *
 * root: absolute, of the work tree.  ret_commit: GIT_DIRECTORY_COMMIT_BYTES long, 40 or 64
 * hexadecimal digits.  Returns false where there is no repository or no commit, and for refs in a
 * form that is not read here (reftable). */
bool git_directory_commit(const char *root, char *ret_commit);

#endif
