/* What of git lies outside the workspace: the files of worktrees, of which an undo brings back, or takes away, what
 * their repository has of them; and the git directory of a repository that begins above the workspace.  Nothing
 * keeps these. */
#ifndef SEEN_CLI_UNDO_WORKTREE_H
#define SEEN_CLI_UNDO_WORKTREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/undo/undo_run.h"

/* undo_worktree_next(): the next one that a plan is about.
 *
 * at: 0 at first.  ret_directory: PATH_MAX; ret_is_gone: the worktree comes back, and its directory is not there.
 * Returns false behind the last one. */
bool undo_worktree_next(const struct undo_run *run, size_t *at, char *ret_directory,
			bool *ret_is_gone);

/* undo_worktree_above(): the git directory above the workspace, if its state may have changed since the session began.
 * Of an undo.  ret_directory: PATH_MAX. */
bool undo_worktree_above(const struct undo_run *run, char *ret_directory);

#endif
