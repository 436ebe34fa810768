/*
 * What supervised processes do, written to the session's journal (tracker/journal/journal.h).
 *
 * A call is recorded before it is made: its result is not known (JOURNAL_ATTEMPTED), but for those
 * that the supervisor answers itself.  Reads and writes are not seen.
 */
#ifndef SEEN_SUPERVISE_RECORD_H
#define SEEN_SUPERVISE_RECORD_H

#include "shim/supervise/resolve.h"
#include "shim/supervise/target.h"
#include "tracker/answer/inject.h"
#include "tracker/guard/guard.h"
#include "tracker/guard/rule.h"

/* record_is_possible(): is there a journal? */
bool record_is_possible(const struct supervision *supervision);

/* record_started(): a program was started.  words: its arguments, each ended by NUL. */
void record_started(const struct supervision *supervision, struct target *target,
		    const char *executable, const char *words, size_t words_bytes);

/* record_copied(): the process is a copy of another, and does something. */
void record_copied(const struct supervision *supervision, struct target *target);

/* record_start(): a program is about to be started.  given: its path as the call has it.
 * record_start_failed(): it was not. */
void record_start(const struct supervision *supervision, struct target *target,
		  const struct named *named, const char *given, const char *words,
		  size_t words_bytes, bool cut);
void record_start_failed(const struct supervision *supervision, struct target *target, pid_t tid);

/* record_ended(): the process is about to end by itself. */
void record_ended(const struct supervision *supervision, struct target *target, pid_t tid,
		  int status);

/* record_call(): a call about one name.  error: that it was refused with; 0: it is let pass. */
void record_call(const struct supervision *supervision, struct target *target, enum journal_op op,
		 const struct named *named, uint32_t flags, uint64_t amount, int error);

/* record_open(): the same for an open.  marks: whether the file was there (enum journal_marks). */
void record_open(const struct supervision *supervision, struct target *target,
		 const struct named *named, uint32_t flags, int error, uint16_t marks);

/* record_two(): a call about two names.  SYMLINK: `other` is the target. */
void record_two(const struct supervision *supervision, struct target *target, enum journal_op op,
		const struct named *named, const struct named *other, uint32_t flags, int error);

/* record_viewed(): a viewer opened a file, and that was answered: fd is its descriptor, -1: it
 * opens it by itself. */
void record_viewed(const struct supervision *supervision, struct target *target,
		   const struct named *named, uint32_t flags, int fd, const struct answer *answer,
		   const struct journal_details *details, uint64_t bytes_saved);

/* record_guarded(): the guard warned of a write to that file, or refused it.  record_edited(): a
 * change of it is complete.
 * path: absolute. */
void record_guarded(const struct supervision *supervision, const struct target *target,
		    const char *path, const struct guard_answer *answer);
void record_edited(const struct supervision *supervision, const struct target *target,
		   const char *path, const struct version *before, const struct version *after,
		   enum source source);

/* record_ruled(): a rule spoke about an access to that name. */
void record_ruled(const struct supervision *supervision, const struct target *target,
		  const struct named *named, const struct rule_answer *answer);

/* record_path(): number of the text of a path; 0: it is not recorded. */
uint32_t record_path(const struct supervision *supervision, const char *path);

/* record_delivery(): a viewer gave a file whole (GIVEN), or found it other than it was
 * (CHANGED). */
void record_delivery(const struct supervision *supervision, const struct target *target,
		     enum journal_op op, uint32_t path, const struct journal_details *details);

/* record_instructed(): a viewer printed an instruction file before its own output. */
void record_instructed(const struct supervision *supervision, const struct target *target,
		       const struct injected *injected);

#endif
