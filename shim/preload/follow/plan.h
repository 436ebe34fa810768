/*
 * The guard inside a process, before a call: what it may destroy is looked at before it is made.  And what writes.c, which follows what
 * was opened, shares of that.
 */
#ifndef SEEN_FOLLOW_PLAN_H
#define SEEN_FOLLOW_PLAN_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tracker/content/version.h"
#include "tracker/guard/guard.h"

/* A call that may destroy something, from before it is made until it came back.  Lives on the caller's stack. */
struct plan {
	char *path; /* scratch, absolute and normalized; NULL: nobody looks at this call */
	struct guard_answer answer;
	/* RENAME: of what takes the other's place */
	struct version source;
	uint64_t source_key; /* 0: nothing is known of it */
	bool source_has_notice;
	/* OPEN, to empty the file: that is done when it was looked at by the descriptor, so that it is the one that was looked at */
	bool holds;
	bool is_new; /* holds: there was nothing */
};

/* plan_open(): a file is about to be opened for writing; holds: by plan_flags() and plan_emptied().  plan_change(): what a name stands for is about to be removed, replaced
 * (GUARD_REPLACES), or set to another size.  plan_rename(): `path` is about to take the place of `other`, which is
 * what is looked at.
 * ret_plan: to be ended by one of the functions below, whatever comes of the call.
 * Returns false when the call has to fail; errno says why, and the plan has ended. */
bool plan_open(int directory, const char *path, int flags, bool holds, struct plan *ret_plan);
bool plan_change(enum guard_kind kind, int directory, const char *path, bool follows,
		 struct plan *ret_plan);
bool plan_rename(int directory, const char *path, int other_directory, const char *other,
		 struct plan *ret_plan);

/* plan_name(): a name that stands for nothing, or whose file gets another name, is about to be given to a file.  follows: a link at `path`.
 * False: it carries a notice, and the call has to fail; errno says so. */
bool plan_name(int directory, const char *path, bool follows, int other_directory,
	       const char *other, struct plan *ret_plan);

/* plan_flags(): the flags to make the call with.  plan_emptied(): the call came back by these: looks at the file, and empties it.  Returns
 * fd; -1 with errno where the call is to fail: it is closed then. */
static inline int plan_flags(const struct plan *plan, int flags)
{
	return plan->path && plan->holds ? flags & ~O_TRUNC : flags;
}
int plan_emptied(struct plan *plan, int fd);

/* plan_changed(), plan_renamed(): the call came back; the change is complete, or with an error nothing was done. */
void plan_changed(struct plan *plan, int error);
void plan_renamed(struct plan *plan, int error);

/* writes_locked(): the process sets a lock by that descriptor which every close of its file gives up (fcntl(2), F_SETLK): that file
 * is not opened here. */
void writes_locked(int fd);

/* plan_writer(): this process, for the guard. */
struct guard_writer plan_writer(void);

/* plan_say(): prints a verdict where the agent reads what its commands print.  path: absolute.
 * Returns whether it was printed. */
bool plan_say(const struct guard_answer *answer, const char *path);

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

/* plan_stored_notice(): such a change left a notice in the file: it is told of, once. */
void plan_stored_notice(uint64_t key, const char *path, const struct version *before);

/* plan_is_kept_clean(): is the file of that key one that a notice is refused for? */
bool plan_is_kept_clean(uint64_t key);

/* plan_note_refused(): a notice was refused for the file; has_content: what it held is there again.  plan_was_refused(): was it?
 * FORGETS: it is being written anew. */
enum asks { ASKS, ASKS_TO_REMOVE, FORGETS };
void plan_note_refused(const struct stat *stat, bool has_content);
bool plan_was_refused(const struct stat *stat, enum asks asks);

#endif
