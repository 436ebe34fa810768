/*
 * Where a run records to, and what there is to do for that while the command runs and when it has
 * ended.
 */
#ifndef SEEN_CLI_RECORDING_H
#define SEEN_CLI_RECORDING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/agents/transcripts.h"
#include "cli/journal/seal.h"
#include "cli/run/protect.h"
#include "cli/run/watch.h"
#include "cli/session/session.h"
#include "cli/session/summary.h"
#include "cli/undo/checkpoint.h"
#include "tracker/journal/journal.h"

/* How long a turn may wait. */
enum { RECORDING_SOON_MS = 20, RECORDING_LATER_MS = 200 };

/* Where a run records to: nothing mapped in a session without a journal. */
struct recording {
	const struct session *session;
	struct journal journal;
	uint64_t last;    /* the journal's end when it was last tended */
	uint64_t touched; /* number behind what of it is in memory */
	uint64_t most;    /* that was written between two turns */
	struct watch *watch;
	struct protect *protect; /* NULL: no rule denies */
	struct transcripts *transcripts;
	struct checkpoint checkpoint;
	bool supervisor_died; /* with the command still running, or at its end */
	/* tells that a signal is there while the watcher's descriptor is waited for; -1: not made
	 * yet */
	int signals;
};

/* recording_open_journal(): the session's journal, to write to.  A session that ought to have one
 * and has none is used all the same. */
void recording_open_journal(const struct session *session, struct journal *ret_journal);

/* recording_renew_journal(): is the journal still the one that this run began with, and as long as
 * it says?  Maps it anew: where memory is limited, only what was there at the start was mapped.
 * What a damaged one yields would be wrong: then it is unmapped, and a line says so.
 *
 * begun: its header at the beginning. */
void recording_renew_journal(const struct session *session, const struct journal_header *begun,
			     struct journal *journal);

/* recording_finish_journal(): the run is over: its last records, and the seal over all of them.
 * shown: the digest is asked for.  when: it is to be on the disk. */
void recording_finish_journal(const struct session *session, struct journal *journal,
			      const struct summary *sum, bool shown, enum seal_sync when);

/* recording_tend_journal(): makes the journal longer before the processes that write to it have to:
 * a call of theirs should not take the time, nor a descriptor for a moment.  As much as was written
 * since the last time, twice.  recording: may be NULL.  Returns whether something was written. */
bool recording_tend_journal(struct recording *recording);

/* recording_tend(): what there is to do while the command runs, at every turn of the loop that
 * waits for it.  Returns in how many milliseconds the next turn is to come at the latest. */
unsigned recording_tend(struct recording *recording);

/* recording_next_signal(): waits for a signal, for as long at most, or until the watcher or a
 * transcript has something to do.  As sigtimedwait(2), which it is where nothing is watched. */
int recording_next_signal(struct recording *recording, const sigset_t *all, unsigned wait_ms,
			  siginfo_t *ret_info);

#endif
