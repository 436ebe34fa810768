/*
 * Warnings of the guard that could not be printed at once: what an agent's own process prints
 * belongs to the agent's interface.  They wait here.  The next program that starts below a shell of
 * that agent prints them, where the agent reads.
 *
 * 	unreported_add()	a warning was not printed
 * 	unreported_claim()	the caller prints one of its agent's, or calls unreported_release()
 *	unreported_withdraw()	the call failed: there is nothing to warn of
 *	unreported_finish()	the run ends: was it printed?
 *
 * Each warning is claimed once.  A warning whose slot is needed for a later one is not lost: the
 * end of a run reads the journal, and reports all that is not known to have been printed.
 *
 * All functions are lock-free, async-signal-safe, and make no system call.
 */
#ifndef SEEN_TRACKER_UNREPORTED_H
#define SEEN_TRACKER_UNREPORTED_H

#include <stdbool.h>

#include "tracker/guard/guard.h"
#include "tracker/segment/segment.h"

enum { UNREPORTED_AT_ONCE = 8 }; /* printed by one program: more would bury its own output */

/* unreported_any(): does a warning wait?  One load. */
static inline bool unreported_any(const struct segment *segment)
{
	return __atomic_load_n(&segment->header->unreported, __ATOMIC_RELAXED) != 0;
}

/* unreported_add(): makes a warning wait if its writer is an agent's own process, or a program that
 * this process started without a shell.  A refusal does not wait: the writer got the error.
 *
 * path: absolute, normalized, as the answer was made for. */
void unreported_add(const struct segment *segment, const struct guard_writer *writer,
		    const char *path, const struct guard_answer *answer);

/* unreported_waits(): does a warning wait for the agent that this scope belongs to?
 *
 * scope_id: baseline_scope() of the caller. */
bool unreported_waits(const struct segment *segment, uint64_t scope_id);

/* unreported_claim(): the oldest of these warnings.
 *
 * ret_place: for unreported_release().  ret_answer: what guard_format_message() needs.
 * ret_path: capacity bytes.  Returns false where there is none. */
bool unreported_claim(const struct segment *segment, uint64_t scope_id, unsigned *ret_place,
		      struct guard_answer *ret_answer, char *ret_path, size_t capacity);

/* unreported_release(): the claimed warning could not be printed; it waits again. */
void unreported_release(const struct segment *segment, unsigned place);

/* unreported_withdraw(): the call that a warning was about changed nothing.
 *
 * key: of the file.  before: what was there, and is. */
void unreported_withdraw(const struct segment *segment, uint64_t key, const struct version *before);

/* unreported_finish(): the end of a run is about to report a warning, which waits no longer.
 *
 * path: as in the journal.  before: what was there.
 * Returns whether all warnings about that were printed or withdrawn: then none is reported
 * again. */
bool unreported_finish(const struct segment *segment, const char *path,
		       const struct version *before);

#endif
