/*
 * What is shared by the parts of the gatherer: report.c goes through the events, report_session.c
 * takes what the session made of them, report_rows.c keeps files, processes, programs and what is
 * between their records.  For these alone; all others see report.h.
 */
#ifndef SEEN_CLI_REPORT_ROWS_H
#define SEEN_CLI_REPORT_ROWS_H

#include <limits.h>
#include <string.h>

#include "cli/report/report.h"

enum {
	REPORT_BUCKETS = 1 << 16,
	REPORT_STREAM_SETS = 8192, /* descriptors whose first call is remembered: ... */
	REPORT_STREAM_WAYS = 8,    /* ... of each set the last ones */
	REPORT_NONE = UINT32_MAX,  /* in place of an index */
};

/* Rows by a key: indexes of the first of each bucket; the rows themselves hold the next one. */
struct report_buckets {
	uint32_t *first; /* REPORT_BUCKETS; REPORT_NONE: empty */
};

/* What is known of a row beside what is reported.  One for each row, at the same index. */
struct report_key {
	uint64_t key;
	uint32_t next; /* in the bucket */
	union {
		uint32_t generation; /* of a file: rises with each change */
		uint32_t program;    /* of a process: index of its program */
	};
	/* of a process: index of the command that it belongs to; REPORT_NO_COMMAND */
	uint32_t command;
	bool is_below_agent; /* of a process: it is one, or an agent is above it */
	/* Of a process: its last request was answered, unless its EXEC failed; and what that
	 * saved. */
	bool is_answered;
	uint64_t answered;
};

struct report_rows {
	struct report_buckets buckets;
	struct report_key *keys;
	size_t capacity;
};

/* The first read or write of a descriptor, which the total of all its calls has, too. */
struct report_stream {
	uint64_t key; /* process, descriptor, direction; 0: empty */
	uint64_t bytes;
	uint64_t number; /* of the record: which is the oldest */
};

/* A file that a scope opened for reading. */
struct report_sight {
	uint64_t scope_id;
	uint32_t file, generation, next;
};

/* Where seen keeps what belongs to the session; "" where the journal's name does not tell. */
struct report_places {
	char session[PATH_MAX], conversations[PATH_MAX];
	char runtime[PATH_MAX]; /* a part of the names below the directory of the segment */
};

struct report_gather {
	struct report *report;
	const struct report_limits *limits;
	const struct config_globs *state; /* of agents; NULL: none are known */
	struct missed_search *missed;     /* NULL: there is no segment */
	struct report_places places;
	uint64_t seed; /* of hashes, so that an attacker cannot choose what falls into one bucket */
	struct report_rows files, processes, programs;
	size_t file_bytes;          /* of their paths */
	struct report_buckets pids; /* the newest process of a pid */
	struct report_buckets sight_buckets;
	struct report_sight *sights;
	size_t sight_count, sight_capacity;
	struct report_stream *streams; /* REPORT_STREAM_SETS sets */
	size_t command_capacity;
	size_t run_capacity, conflict_capacity, rule_capacity, unobserved_capacity;
	bool no_memory;
};

/* report_count(): a number of bytes that a record tells; 0 for one that none can be, in whose place
 * `seen log` says null. */
static inline uint64_t report_count(uint64_t number)
{
	return number <= INT64_MAX ? number : 0;
}

/* report_add(): the same, added to a sum, which stops at the largest number. */
static inline void report_add(uint64_t *sum, uint64_t number)
{
	number = report_count(number);
	*sum = *sum > INT64_MAX - number ? INT64_MAX : *sum + number;
}

/* report_is_nowhere(): what shells throw away is written to no place that anybody is interested
 * in. */
static inline bool report_is_nowhere(const char *path)
{
	return strcmp(path, "/dev/null") == 0;
}

/* report_rows_init(): room for the tables.  Returns 0 or -ENOMEM; report_rows_finish() in any
 * case. */
int report_rows_init(struct report_gather *gather);
void report_rows_finish(struct report_gather *gather);

/* report_grown(): `rows`, an array of `count` items of item_bytes, with room for one more.  Returns
 * it, perhaps moved; NULL: no memory (noted), or `max` are there. */
void *report_grown(struct report_gather *gather, void *rows, size_t count, size_t *capacity,
		   size_t max, size_t item_bytes);

/* report_fold_of(): what a file, by its path, is reported together with. */
enum report_fold report_fold_of(const struct report_gather *gather, const char *path);

/* report_file_of(): the row of a path, absolute; made where there is none.  NULL: there are too
 * many, which is counted. */
struct report_file *report_file_of(struct report_gather *gather, const char *path,
				   const struct event *event);

/* report_file_changed(): what was seen of the file until now is not what it is any more. */
void report_file_changed(struct report_gather *gather, const struct report_file *file);

/* report_file_seen(): a scope opened it for reading.  Returns whether it had, as the file is. */
bool report_file_seen(struct report_gather *gather, const struct report_file *file,
		      uint64_t scope_id);

/* report_process_start(): a START or FORK event. */
void report_process_start(struct report_gather *gather, const struct event *event);

/* report_process_of(): the row of the process of an event; NULL: not known, or too many.  ret_key:
 * likewise, of it. */
struct report_process *report_process_of(struct report_gather *gather, const struct event *event,
					 struct report_key **ret_key);

/* report_program_of(): the program of an event's process; NULL: there are too many, or it is not
 * known.  key: of the process. */
struct report_program *report_program_of(struct report_gather *gather, const struct event *event,
					 const struct report_key *key);

/* report_stream_bytes(): bytes that a READ, WRITE, READ_TOTAL or WRITE_TOTAL event tells that were
 * not told before. */
uint64_t report_stream_bytes(struct report_gather *gather, const struct event *event);

/* report_role_index(): where in by_role an event's process stands. */
static inline size_t report_role_index(const struct event *event)
{
	return event->role >= 0 ? (size_t)event->role : REPORT_ROLE_UNKNOWN;
}

#endif
