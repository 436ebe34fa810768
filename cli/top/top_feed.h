/*
 * Where `seen top` has what it shows from: a session's journal and segment, a little at a time.
 * See top_model.h.
 *
 * It only reads, and takes nothing from the session but memory bandwidth: a turn at the journal
 * ends after so much time, whatever there is to read, and where the session writes faster than
 * that, or was there long before, a part of the journal is passed over and its size told.  The
 * segment is inspected once a second.
 */
#ifndef SEEN_CLI_TOP_FEED_H
#define SEEN_CLI_TOP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "cli/session/session.h"
#include "cli/session/session_life.h"
#include "cli/top/top_model.h"

enum {
	TOP_HISTORY = 60, /* seconds of which the rate is kept */
	TOP_UNOBSERVED_BYTES = 120,
	/* What is passed over: with more units than that ahead, all but as many as TOP_KEEP.  First
	 * at the beginning, then while following. */
	TOP_AHEAD_FIRST = 1 << 22,
	TOP_AHEAD = 1 << 19,
	TOP_KEEP = 1 << 16,
};

/* Of files by what the session counted, of events by what was read of the journal.  Per second. */
struct top_rates {
	double events, reads, writes;
};

struct top_feed {
	const struct session *session; /* borrowed */
	struct events *events;         /* NULL: it has no journal */
	struct top_model *model;
	/* top_feed_read() */
	bool caught_up;         /* to the journal's end, once at least */
	uint64_t ahead;         /* units that were not read yet */
	uint64_t skipped_bytes; /* of the journal, passed over */
	bool is_behind;         /* something was passed over in the last seconds */
	/* top_feed_update() */
	/* files opened and changed: those of living processes too */
	uint64_t counters[COUNTER_COUNT];
	uint64_t unobserved; /* programs that were started and not heard of */
	char unobserved_names[TOP_UNOBSERVED_BYTES]; /* of some; bytes of others */
	enum session_life life;
	bool is_removed; /* its files are gone */
	struct top_rates rates;
	double history[TOP_HISTORY]; /* events a second; [0] is the last second */
	int history_count;
	/* Of the feed alone. */
	uint64_t waited_for, waited_since_ns;
	uint64_t updated_ns, history_ns, behind_ns;
	uint64_t rated_events, rated_reads, rated_writes, history_events;
	uint64_t first; /* number that was begun with */
	uint64_t pid_ns;
};

/* top_feed_open(): ret_feed: top_feed_close() it.  session: open for as long.  journal: its own;
 * NULL: it has none.  Returns 0, -ENOMEM, or why the journal cannot be read: as events_open(). */
int top_feed_open(const struct session *session, const char *journal, struct top_feed *ret_feed);

/* top_feed_read(): takes events from the journal, for about so long at most.
 *
 * Returns true when there is more to be read at once. */
bool top_feed_read(struct top_feed *feed, uint64_t budget_ns);

/* top_feed_progress(): how much of what the journal held was read, in percent; 100 once it was read
 * to its end. */
int top_feed_progress(const struct top_feed *feed);

/* top_feed_update(): inspects the session's segment and processes, and brings the rates up to date;
 * not more often than twice a second.
 * Returns false when it was too early. */
bool top_feed_update(struct top_feed *feed);

/* top_feed_reset_rates(): rates and history begin anew. */
void top_feed_reset_rates(struct top_feed *feed);

/* top_feed_reads(), top_feed_writes(): files opened for reading; files opened for writing and names
 * made, replaced or removed.  top_feed_lost(): records that could not be written. */
uint64_t top_feed_reads(const struct top_feed *feed);
uint64_t top_feed_writes(const struct top_feed *feed);
uint64_t top_feed_lost(const struct top_feed *feed);

/* top_feed_close(): accepts one that was never opened. */
void top_feed_close(struct top_feed *feed);

#endif
