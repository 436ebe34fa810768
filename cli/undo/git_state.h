/*
 * git's state in an undo (docs/design/undo.md): HEAD, index, refs, the stash, and the state of
 * merges, rebases and worktrees of one git directory come back together or not at all; a ref comes back
 * where its object exists.
 */
#ifndef SEEN_CLI_GIT_STATE_H
#define SEEN_CLI_GIT_STATE_H

#include "cli/undo/schedule_making.h"

/* git_state_judge(): judges the changes of git directories once more, when each has a fate.
 * Returns 0 or -ENOMEM. */
int git_state_judge(struct making *making);

/* git_state_spread(): leaves what is of one unit with something that is left.  Returns whether that
 * changed something. */
bool git_state_spread(struct making *making);

#endif
