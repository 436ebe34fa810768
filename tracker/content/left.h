/* Which contents are on record as they were left: with them later external changes are compared. */
#ifndef SEEN_TRACKER_LEFT_H
#define SEEN_TRACKER_LEFT_H

#include <stdbool.h>
#include <stdint.h>

/* left_is_git_index(): does git take a file of this absolute path for its index, or will it: in `.git`, `x.git`, or the
 * directory of a worktree or submodule there?  The index that `git status` writes differs in times of files alone,
 * which the content tells.  Pure.
 *
 * left_bytes_max(): how large a file of this name may be.  Pure; both may be called anywhere. */
bool left_is_git_index(const char *path);
uint64_t left_bytes_max(const char *path);

#endif
