/*
 * The processes of a journal that were heard of last: who each is, by its START or FORK record, and
 * what later records changed of that.
 *
 * Their number is bounded.  Of one that was dropped the facts of its first record are read again.
 */
#ifndef SEEN_CLI_EVENT_PROCESSES_H
#define SEEN_CLI_EVENT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/journal_reader.h"

enum {
	EVENT_PROCESSES_MAX = 16384,
	EVENT_PROCESSES_ENDED_MAX = 1024, /* of these, ones that said that they end */
	EVENT_PROCESSES_BUCKETS = 1 << 14,
};

struct event_process {
	uint64_t number; /* of its START or FORK record */
	uint32_t pid, parent_pid;
	int role;         /* -1: not known */
	uint32_t context; /* enum context_flags */
	uint64_t scope_id, epoch;
	uint32_t executable; /* text */
	/* Its current directory, where its vforked children begin: as records tell one, or a
	 * CHDIR record. */
	uint32_t directory;
	int32_t directory_fd;
	bool children_dropped; /* where a vforked child is that is not remembered is not known */
	bool ended;
	struct event_process *next; /* in its bucket */
	struct event_process *newer, *older;
};

struct event_processes {
	struct journal_reader *journal; /* borrowed */
	struct event_process *buckets[EVENT_PROCESSES_BUCKETS];
	struct event_process newest; /* ring: newest.older is the newest, newest.newer the oldest */
	struct event_process ended;  /* likewise of those that ended, by themselves */
	size_t count, ended_count;
	bool lacked_memory; /* for one of them */
	bool epoch_ended;   /* one did, or may have, at some time */
};

/* event_processes_init(): none yet.  processes: all zero.  event_processes_free(): drops all,
 * which are none again. */
void event_processes_init(struct event_processes *processes, struct journal_reader *journal);
void event_processes_free(struct event_processes *processes);

/* event_is_life(): is it a whole START or FORK record? */
bool event_is_life(const struct journal_entry *entry);

/* event_process_add(): remembers a process by its first record.  Returns NULL when out of
 * memory. */
struct event_process *event_process_add(struct event_processes *processes,
					const struct journal_entry *life);

/* event_process_find(): the process with this number if it is remembered, else NULL. */
struct event_process *event_process_find(struct event_processes *processes, uint64_t number);

/* event_process_of(): the process that a record at `below` belongs to, which is the newest then;
 * NULL: there is none. */
struct event_process *event_process_of(struct event_processes *processes, uint64_t number,
				       uint64_t below);

/* event_process_finish(): it ended.  It is kept for records that come late (a fork's first). */
void event_process_finish(struct event_processes *processes, struct event_process *process);

/* event_processes_end_epoch(): the epoch of a scope ended, and that of its processes is not
 * known.  scope_id: 0: of every scope. */
void event_processes_end_epoch(struct event_processes *processes, uint64_t scope_id);

#endif
