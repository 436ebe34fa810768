/*
 * The events of a journal, in the order in which they were written, each with what earlier records
 * say about it.
 *
 * A record of the journal holds what its writer knew without looking anything up: the path as the
 * call got it, and what it is relative to, by the number of another record.  This reader goes
 * through the file once and keeps, for each process, who it is, so that an event comes with pid,
 * role, scope and, where it is certain, an absolute path.  Where it is not certain, it is not
 * known: nothing is looked up on this machine, nothing is guessed.  Only a child between vfork and
 * exec does not tell where it is: its directory is the one that its parent told last, and where its
 * own CHDIR records lead from there.
 *
 * What is kept is bounded, however long the journal: the processes heard of last, the vforked
 * children that changed their directory last, and a part of the file's pages.  Of a process that
 * was dropped, the facts of its first record are read again where they are needed.
 *
 * A journal is bytes of others, perhaps damaged, perhaps made to deceive: every number is checked
 * before use, and each step takes bounded time.  Never prints, never exits.
 */
#ifndef SEEN_CLI_EVENTS_H
#define SEEN_CLI_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/journal/journal.h"
#include "tracker/segment/tables.h"

enum {
	/* In `op`, beside those of enum journal_op: a record whose check does not hold.  Nothing
	 * else of it is known. */
	EVENT_DAMAGED = JOURNAL_OP_COUNT,
	EVENT_OP_COUNT,
};

/* One event.  Pointers are valid until the next call with the same reader; NULL, and 0 where it is
 * no possible value: not known.  Texts are ended by NUL, and hold none otherwise unless it is
 * stated. */
struct event {
	uint64_t number;           /* of the record: its place in the file */
	uint64_t time_realtime_ns; /* 0: not known */
	unsigned op;               /* enum journal_op, or EVENT_DAMAGED */
	int error;                 /* errno of the call; 0: it succeeded */
	bool vforked;              /* by a child between vfork and exec: `pid` is its own */
	bool cut;                  /* a text was longer than what the journal keeps */
	bool attempted;            /* told before the call was made: its result is not known */

	/* Who. */
	uint64_t process; /* number of the START or FORK record */
	uint32_t pid, tid, parent_pid;
	int role; /* enum role; -1: not known */
	uint64_t scope_id;
	/* of the scope; not known any more after FORGOTTEN, until the process's next program */
	uint64_t epoch;
	const char *executable;

	/* What. */
	const char *path;    /* as given */
	const char *program; /* UNOBSERVED: its name, which is no path */
	const char *
		directory; /* absolute: what `path` is relative to; also where `path` is absolute, if it is known */
	const char *resolved; /* absolute, by text alone (path_normalize()) */
	/* as the record's other_path; START, EXEC: arguments, each ended by NUL */
	const char *other;
	size_t other_bytes;         /* its length */
	const char *other_resolved; /* RENAME, LINK: the new name as `resolved` */
	uint64_t exec; /* START, EXEC_FAILED: number of the EXEC record that announced it */
	/* Whose change it is, or what else made the file known: as the record says (EDITED,
	 * CHANGED, GIVEN, MENTIONED), else of calls that change a file of the workspace, by the
	 * role of their process.  SOURCE_NONE: not known, or no change. */
	enum source source;

	const struct journal_entry *entry; /* the record; not for EVENT_DAMAGED */
};

enum events_found {
	EVENTS_END,    /* nothing more now */
	EVENTS_EVENT,  /* *ret_event is set */
	EVENTS_UNDONE, /* a record that its writer has not finished: events_pass(), or come again */
};

/* What was passed over. */
struct events_counts {
	/* not finished by their writers: events_pass(), and those marked as abandoned */
	uint64_t undone;
	uint64_t damaged;   /* given as EVENT_DAMAGED */
	uint64_t lost;      /* could not be written, says the journal */
	uint64_t processes; /* that are remembered now; for tests */
};

struct events;

/* events_open(): opens a journal for reading.
 *
 * path: of the file, copied.  follow: false: ends at what has been written by now, whatever is
 * added.
 * Returns 0; -ENOMEM; the errors of journal_map_to_read(). */
int events_open(const char *path, bool follow, struct events **ret_events);

/* events_next(): the next event.
 *
 * Texts and abandoned records are no events.  At the end, and at a record that is not done, the
 * reader stays where it is: with `follow`, EVENTS_END may be followed by events; the file's growth
 * is seen by itself.  What does not fit into memory is not known. */
enum events_found events_next(struct events *events, struct event *ret_event);

/* events_pass(): passes over the record that events_next() found undone, and counts it. */
void events_pass(struct events *events);

/* events_position(): number of the record at which the reader is.  events_end_unit(): number behind
 * the last one that was begun.  To wait once for all that are undone now, instead of for each. */
uint64_t events_position(const struct events *events);
uint64_t events_end_unit(const struct events *events);

/* events_skip(): passes over what stands before `number`, for a reader that cannot keep up.  It
 * goes on with the first record from there on that is published and whose check holds; a number
 * that does not lie ahead changes nothing.  What is known of processes is known from then on as of
 * those that were dropped.  Returns by how many units it moved; takes bounded time. */
uint64_t events_skip(struct events *events, uint64_t number);

/* events_undone_since(): the record that events_next() found undone was begun at this time or
 * before, as the first record that is finished behind it tells; 0: none does. */
uint64_t events_undone_since(struct events *events);

/* events_header(): the journal's own header.  Bytes of others; name and nonce are ended by NUL.
 * Valid as long as the reader. */
const struct journal_header *events_header(const struct events *events);

/* events_workspace(): root of the workspace; NULL: not known.  Valid as long as the reader. */
const char *events_workspace(const struct events *events);

struct events_counts events_counts(const struct events *events);

/* events_error(): what was read by now lacks something: an event, or something of one.  For a reader that has come to the
 * end: its result is not whole.  Returns 0; -ENOMEM; errors of pread(2). */
int events_error(const struct events *events);

/* events_close(): accepts NULL. */
void events_close(struct events *events);

/* event_op_name(): "open" ..., "damaged"; NULL for a number that is none. */
const char *event_op_name(unsigned op);

#endif
