/*
 * The guard inside a process, before a call: what it may destroy is inspected before it is made.
 * And what guarded.c, which follows what was opened, shares of that.
 */
#ifndef SEEN_FOLLOW_PLAN_H
#define SEEN_FOLLOW_PLAN_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "shim/preload/follow/locks.h"
#include "tracker/content/version.h"
#include "tracker/guard/guard.h"

/* A call that may destroy something, from before it is made until it came back.  Lives on the
 * caller's stack. */
struct write_check {
	char *path; /* scratch, absolute and normalized; NULL: this call is not inspected */
	struct guard_answer answer;
	/* RENAME: of what takes the other's place */
	struct version source;
	uint64_t source_key; /* 0: nothing is known of it */
	bool source_has_notice;
	/* OPEN, to empty the file: that is done when it was inspected by the descriptor, so that it
	 * is the one that was inspected */
	bool holds;
	bool is_new; /* holds: there was nothing */
};

/* write_check_open(): a file is about to be opened for writing; holds: by write_check_flags() and
 * write_check_emptied().  write_check_change(): what a name stands for is about to be removed,
 * replaced (GUARD_REPLACES), or set to another size.  write_check_rename(): `path` is about to take
 * the place of `other`, which is what is inspected.
 * ret_check: to be ended by one of the functions below, whatever comes of the call.
 * Returns false when the call has to fail; errno says why, and the plan has ended. */
bool write_check_open(int directory, const char *path, int flags, bool holds,
		      struct write_check *ret_check);
bool write_check_change(enum guard_kind kind, int directory, const char *path, bool follows,
			struct write_check *ret_check);
bool write_check_rename(int directory, const char *path, int other_directory, const char *other,
			struct write_check *ret_check);

/* write_check_name(): a name that stands for nothing, or whose file gets another name, is about to
 * be given to a file.  follows: a link at `path`.
 * False: it carries a notice, and the call has to fail; errno says so. */
bool write_check_name(int directory, const char *path, bool follows, int other_directory,
		      const char *other, struct write_check *ret_check);

/* write_check_flags(): the flags to make the call with.  write_check_emptied(): the call came back
 * by these: inspects the file, and empties it.  Returns fd; -1 with errno where the call is to
 * fail: it is closed then. */
static inline int write_check_flags(const struct write_check *check, int flags)
{
	return check->path && check->holds ? flags & ~O_TRUNC : flags;
}
int write_check_emptied(struct write_check *check, int fd);

/* write_check_changed(), write_check_renamed(): the call came back; the change is complete, or with
 * an error nothing was done. */
void write_check_changed(struct write_check *check, int error);
void write_check_renamed(struct write_check *check, int error);

/* write_check_writer(): this process, for the guard. */
struct guard_writer write_check_writer(void);

/* write_check_report(): prints a verdict where the agent reads what its commands print.  path:
 * absolute.
 * Returns whether it was printed. */
bool write_check_report(const struct guard_answer *answer, const char *path);

/* write_check_finish(): the check of a call is over.  write_check_undo(): it failed. */
void write_check_finish(struct write_check *check);
void write_check_undo(const struct write_check *check);

/* write_check_reopen(): opens the file of a descriptor once more, whatever that is open for.
 * Returns a descriptor or a negative errno. */
int write_check_reopen(int fd, int flags);

/* write_check_complete(): the change of a file is complete.  path: absolute, for the journal; NULL:
 * it is not recorded. */
void write_check_complete(uint64_t key, const char *path, const struct version *before,
			  const struct version *now, uint32_t knows);

/* write_check_stored_notice(): such a change left a notice in the file: it is reported, once. */
void write_check_stored_notice(uint64_t key, const char *path, const struct version *before);

/* write_check_is_kept_clean(): is the file of that key one that a notice is refused for? */
bool write_check_is_kept_clean(uint64_t key);

/* write_check_note_refused(): a notice was refused for the file; has_content: what it held is there
 * again.  write_check_was_refused(): was it? FORGETS: it is being written anew. */
enum asks { ASKS, ASKS_TO_REMOVE, FORGETS };
void write_check_note_refused(const struct stat *stat, bool has_content);
bool write_check_was_refused(const struct stat *stat, enum asks asks);

#endif
