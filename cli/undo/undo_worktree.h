/* Worktrees of git outside the workspace, of which an undo brings back, or takes away, what their repository has
 * of them: nothing keeps their files. */
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

#endif
