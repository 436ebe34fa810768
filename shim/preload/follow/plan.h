/*
 * What plan.c, which looks before a call, and writes.c, which follows what it opened, share of the guard.
 */
#ifndef SEEN_SHIM_PLAN_H
#define SEEN_SHIM_PLAN_H

#include <sys/stat.h>

#include "shim/preload/shim.h"

/* plan_writer(): this process, for the guard. */
struct guard_writer plan_writer(void);

/* plan_say(): tells the agent of a verdict, where it reads what its commands say; path: absolute. */
void plan_say(const struct guard_answer *answer, const char *path);

/* plan_end(): nothing more is to be said of a call.  plan_take_back(): it failed. */
void plan_end(struct plan *plan);
void plan_take_back(const struct plan *plan);

/* plan_may_be_locked(): has this process set a lock on the file that opening and closing it would give up? */
bool plan_may_be_locked(const struct stat *file);

/* plan_reopen(): opens the file of a descriptor once more, whatever that is open for.  Returns a descriptor or a negative errno. */
int plan_reopen(int fd, int flags);

/* plan_complete(): the change of a file is complete.  path: absolute, for the journal; NULL: it is not recorded. */
void plan_complete(uint64_t key, const char *path, const struct version *before,
		   const struct version *now, uint32_t knows);

/* plan_is_kept_clean(): is the file of that key one that a notice is refused for? */
bool plan_is_kept_clean(uint64_t key);

/* plan_note_refused(): a notice was refused for the file; has_content: what it held is there again.  plan_was_refused(): was it?
 * FORGETS: it is being written anew. */
enum asks { ASKS, ASKS_TO_REMOVE, FORGETS };
void plan_note_refused(const struct stat *stat, bool has_content);
bool plan_was_refused(const struct stat *stat, enum asks asks);

#endif
