/* Processes of a journal: see event_processes.h. */
#include "cli/journal/event_processes.h"

#include <stdlib.h>

#include "tracker/process/role.h"

enum {
	STARTERS_MAX = 64, /* forks of forks that are followed to the program that runs in them */
};

bool event_is_life(const struct journal_entry *entry)
{
	return (entry->record.head.op == JOURNAL_START || entry->record.head.op == JOURNAL_FORK) &&
	       entry->record.head.units == 1 + sizeof(struct journal_process) / JOURNAL_UNIT_BYTES;
}

/* The START or FORK record with this number, that stands before `below`. */
static bool read_life(struct event_processes *processes, uint64_t number, uint64_t below,
		      struct journal_entry *ret_entry)
{
	uint64_t at = number;
	return number < below &&
	       journal_reader_next(processes->journal, &at, ret_entry) == JOURNAL_FOUND_RECORD &&
	       event_is_life(ret_entry);
}

static struct event_process **bucket_of(struct event_processes *processes, uint64_t number)
{
	return &processes->buckets[number * UINT64_C(0x9e3779b97f4a7c15) >> 50];
}

static void unlink_age(struct event_process *process)
{
	process->newer->older = process->older;
	process->older->newer = process->newer;
}

static void make_newest(struct event_processes *processes, struct event_process *process)
{
	struct event_process *ring = process->ended ? &processes->ended : &processes->newest;
	process->newer = ring;
	process->older = ring->older;
	process->older->newer = process;
	ring->older = process;
}

struct event_process *event_process_find(struct event_processes *processes, uint64_t number)
{
	struct event_process *process = *bucket_of(processes, number);
	while (process && process->number != number)
		process = process->next;
	return process;
}

static void drop_process(struct event_processes *processes, struct event_process *process)
{
	struct event_process **link = bucket_of(processes, process->number);
	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	unlink_age(process);
	processes->ended_count -= process->ended;
	free(process);
	processes->count--;
}

/* The one heard of last longest ago; those that ended are the first to go. */
static void drop_oldest(struct event_processes *processes)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is dropped was unlinked from both
	 * rings */
	drop_process(processes,
		     processes->ended_count ? processes->ended.newer : processes->newest.newer);
}

void event_process_finish(struct event_processes *processes, struct event_process *process)
{
	unlink_age(process);
	processes->ended_count += !process->ended;
	process->ended = true;
	make_newest(processes, process);
	if (processes->ended_count > EVENT_PROCESSES_ENDED_MAX)
		drop_process(processes, processes->ended.newer);
}

void event_processes_free(struct event_processes *processes)
{
	while (processes->count)
		drop_oldest(processes);
}

/* The program that runs in a process: that of its START record, for a fork that of its starter. */
static uint32_t executable_of(struct event_processes *processes, const struct journal_entry *life)
{
	struct journal_entry entry = *life;

	/* Each starter stands before the fork, so that there is no circle. */
	for (int hops = 0; entry.record.head.op == JOURNAL_FORK; hops++) {
		struct event_process *starter = event_process_find(processes,
								   entry.process.starter);
		if (entry.process.starter < entry.number && starter)
			return starter->executable;
		if (hops == STARTERS_MAX ||
		    !read_life(processes, entry.process.starter, entry.number, &entry))
			return 0;
	}
	return entry.record.path;
}

struct event_process *event_process_add(struct event_processes *processes,
					const struct journal_entry *life)
{
	const struct journal_process *details = &life->process;
	struct event_process *process = calloc(1, sizeof(*process));

	if (!process) {
		processes->lacked_memory = true;
		return NULL;
	}
	if (processes->count >= EVENT_PROCESSES_MAX)
		drop_oldest(processes);
	process->number = life->number;
	process->pid = details->pid;
	process->parent_pid = details->parent_pid;
	process->role = details->role < ROLE_COUNT ? (int)details->role : -1;
	process->context = details->context;
	process->scope_id = details->scope_id;
	process->epoch = details->epoch;
	process->executable = executable_of(processes, life);
	struct event_process **bucket = bucket_of(processes, process->number);
	process->next = *bucket;
	*bucket = process;
	make_newest(processes, process);
	processes->count++;
	return process;
}

struct event_process *event_process_of(struct event_processes *processes, uint64_t number,
				       uint64_t below)
{
	struct event_process *process = event_process_find(processes, number);
	struct journal_entry life;

	if (process) {
		unlink_age(process);
		make_newest(processes, process);
		return process;
	}
	if (number == 0 || !read_life(processes, number, below, &life))
		return NULL;
	/* It was dropped, or passed over before it was done.  What became of it since is not
	 * known. */
	process = event_process_add(processes, &life);
	if (process) {
		process->epoch = processes->epoch_ended ? 0 : process->epoch;
		process->children_dropped = true;
	}
	return process;
}

/* scope_id: 0: of every scope. */
static void forget_epochs(struct event_process *ring, uint64_t scope_id)
{
	for (struct event_process *process = ring->older; process != ring; process = process->older)
		if (scope_id == 0 || scope_id == process->scope_id)
			process->epoch = 0;
}

void event_processes_init(struct event_processes *processes, struct journal_reader *journal)
{
	processes->journal = journal;
	processes->newest.newer = processes->newest.older = &processes->newest;
	processes->ended.newer = processes->ended.older = &processes->ended;
}

void event_processes_end_epoch(struct event_processes *processes, uint64_t scope_id)
{
	processes->epoch_ended = true;
	forget_epochs(&processes->newest, scope_id);
	forget_epochs(&processes->ended, scope_id);
}
