/*
 * The lock files that git programs respect, held while a plan changes git's state: HEAD.lock, index.lock and
 * packed-refs.lock of a git directory, HEAD.lock and index.lock of a worktree's.
 */
#ifndef SEEN_CLI_GIT_LOCK_H
#define SEEN_CLI_GIT_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/undo/schedule.h"

struct git_locks {
	char **paths; /* that are held */
	size_t count;
	char *blocked; /* the lock of another program that stayed; NULL: none */
	bool is_late;  /* a git program was at work: the plan is to be made again */
};

/* git_locks_acquire(): makes the lock files; waits a while for those of other programs.
 *
 * owner: written into them; a lock with the same text, of an undo that was killed, is taken over.
 * ret_locks: git_locks_release() it in any case.  Returns 0; -EAGAIN: `blocked` stays;
 * other negative errnos. */
int git_locks_acquire(const struct schedule *plan, const char *owner, struct git_locks *ret_locks);
void git_locks_release(struct git_locks *locks);

/* git_locks_hold(): is a path one of them?  locks: may be NULL. */
bool git_locks_hold(const struct git_locks *locks, const char *path);

#endif
