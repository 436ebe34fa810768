/* The current directory of a process below the filter: asked for once, and again when it may be
 * another. */
#ifndef SEEN_SUPERVISE_DIRECTORY_H
#define SEEN_SUPERVISE_DIRECTORY_H

#include "shim/supervise/target.h"

/* Both are about a process that is held: target_acquire(). */

/* target_folder(): the current directory of a thread's process, as this process would name it.
 * False: not known.
 * target_moves(): the thread is about to change it. */
bool target_directory(struct target *target, pid_t tid, char *ret_directory, size_t capacity);
void target_moves(struct target *target, pid_t tid);

#endif
