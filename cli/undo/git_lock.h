/*
 * The lock files that git programs respect, held while a plan changes git's state: HEAD.lock, index.lock and
 * packed-refs.lock of a git directory, HEAD.lock and index.lock of a worktree's; and the symbolic links that lock a
 * repository of hg.
 */
#ifndef SEEN_CLI_GIT_LOCK_H
#define SEEN_CLI_GIT_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/undo/lock_list.h"
#include "cli/undo/schedule.h"
#include "tracker/segment/segment.h"

enum { GIT_LOCK_OWNER_BYTES = SEGMENT_PATH_BYTES + 16 };

struct git_locks {
	char owner[GIT_LOCK_OWNER_BYTES]; /* the text of such a file: whose it is */
	char **paths;                     /* that are held */
	size_t count;
	char *blocked;         /* the lock of another program that stayed; NULL: none */
	bool is_late;          /* a git program was at work: the plan is to be made again */
	int directory;         /* of the undo records, borrowed; -1: no list of them is written */
	struct lock_list left; /* of undos that were killed */
};

/* git_locks_init(): none is held.  undo: the session's directory of undo records, by which its lock files are known:
 * one undo of a session is at work at a time, so that another one with its text was left by one that was killed.
 *
 * ret_locks: git_locks_release() it. */
void git_locks_init(const char *undo, struct git_locks *ret_locks);

/* git_locks_find_left(): finds those of undos that were killed: `left`.  No other undo of the session is at work.
 * git_locks_remove_left(): removes those that are there yet, and are not held; how many.  What cannot be removed, or
 * is another program's by now, stays in `left`, and on the list.
 *
 * directory: descriptor of the session's undo records; borrowed until the locks are released.  writes: false: a plan is
 * only shown: nothing is removed, and the list stays as it is. */
void git_locks_find_left(int directory, bool writes, struct git_locks *locks);
size_t git_locks_remove_left(struct git_locks *locks);

/* git_locks_acquire(): makes the lock files; takes over those of an undo that was killed, and waits a while for
 * those of other git programs.  One of hg's is removed where its process has ended, by hg's own rule.  Returns 0; -EAGAIN: `blocked` stays; other negative errnos. */
int git_locks_acquire(const struct schedule *plan, struct git_locks *locks);
void git_locks_release(struct git_locks *locks);

/* git_locks_has(): is a path one of them, or was left by an undo that was killed, to be taken over?  locks: may be
 * NULL. */
bool git_locks_has(const struct git_locks *locks, const char *path);

/* git_locks_has_other(): is another program's lock at a path, of another version control system?  One of hg's is
 * none whose process has ended.  locks: of the undo itself; may be NULL. */
bool git_locks_has_other(const struct git_locks *locks, const char *path);

#endif
