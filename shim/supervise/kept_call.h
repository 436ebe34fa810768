/*
 * Calls of supervised processes that were let pass, with what was kept for them for undo (keeping.h).
 *
 * How a call ended is not seen.  It is found out by what is there once the call was made: at the thread's next call,
 * when the process ends, or soon, where it shows.  A race with what another thread or process changes makes a record
 * wrong, never a file: undo holds each record against what is there.
 */
#ifndef SEEN_SUPERVISE_KEPT_CALL_H
#define SEEN_SUPERVISE_KEPT_CALL_H

#include "shim/call/call.h"
#include "shim/keep/keeper.h"
#include "shim/supervise/target.h"
#include "tracker/content/pack.h"

/* A call that was let pass, with what was kept for it. */
struct kept_call {
	struct kept_call *next;
	pid_t tid;
	struct call call;                 /* its names are not valid any more */
	char *path, *other;               /* absolute, as the kernel knows them; NULL: none */
	struct pack_state was, other_was; /* before; ino 0: nothing was there */
	uint64_t time_ns;                 /* when it was let pass */
};

/* All but the last two are about a process that is held: target_acquire().
 *
 * kept_call_keeper(): a process, as one that keeps.  kept_call_inspects(): inspection_wait();
 * without it something is lost, and counted. */
struct keeper kept_call_keeper(const struct supervision *supervision, const struct target *target);
bool kept_call_inspects(const struct supervision *supervision);

/* kept_call_state(): what is by a name; ino 0: nothing. */
struct pack_state kept_call_state(const struct call_name *name);

/* kept_call_note(): notes a call.  more: its path, other and states; takes over the texts, and what `call` has of
 * scratch memory.  False: it is taken for made. */
bool kept_call_note(struct target *target, pid_t tid, struct call *call,
		    const struct kept_call *more);

/* kept_call_complete(): finds out how calls ended.  tid: this thread makes another call; 0: the process has ended;
 * NO_THREAD: calls that show by now. */
enum { NO_THREAD = -1 };
void kept_call_complete(const struct supervision *supervision, struct target *target, pid_t tid);

/* kept_call_are_young(): is there one that may show soon?  kept_call_free(): accepts NULL. */
bool kept_call_are_young(const struct kept_call *kept);
void kept_call_free(struct kept_call *kept);

#endif
