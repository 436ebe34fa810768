/* The git directory of a workspace that is a worktree, a submodule, or a repository with a separate one. */
#ifndef SEEN_CLI_GIT_DIRECTORY_H
#define SEEN_CLI_GIT_DIRECTORY_H

#include "tracker/segment/segment.h"

/* git_directory_observe(): where the workspace's git directory lies elsewhere, undo observes it as it does
 * the workspace: HEAD and index belong to the files. */
void git_directory_observe(const struct segment *segment);

#endif
