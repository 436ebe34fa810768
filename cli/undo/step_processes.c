/* The processes that steps are made of: see step_processes.h. */
#include "cli/undo/step_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/journal/events.h"
#include "cli/undo/pack_reader.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

enum { PID_BUCKETS = 1 << 16 };

/* An EXEC record, by which a program finds what started it. */
struct announcement {
	uint32_t number;
	uint32_t process; /* row */
};

struct step_processes_reading {
	struct step_processes *processes;
	size_t max;
	uint32_t newest[PID_BUCKETS]; /* row; its chain goes back by `older` */
	uint32_t *older;              /* for each row */
	size_t older_capacity;
	struct announcement *announcements; /* by their numbers */
	size_t announcement_count, announcement_capacity;
	uint64_t lives; /* beginnings and ends of processes so far */
	/* for each row: where its last change is, and what `lives` was then */
	struct last_change {
		size_t index;
		uint64_t lives;
	} * last_changes;
	size_t last_change_capacity;
	uint32_t last_process, last_row; /* of the last event that had one */
	bool no_memory;
};

/* An array with room for one more.  Returns it, perhaps moved; NULL: no memory. */
static void *grown(void *array, size_t count, size_t *capacity, size_t item_bytes)
{
	if (count < *capacity)
		return array;
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *more = reallocarray(array, wanted, item_bytes);
	if (more)
		*capacity = wanted;
	return more;
}

/* ---- finding ---- */

/* The index of the item with that number, in an array by numbers; STEP_NONE.  numbers: that of its
 * first item, stride bytes before that of the next. */
static uint32_t find_number(const uint32_t *numbers, size_t stride, size_t count, uint64_t number)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t found = *(const uint32_t *)((const char *)numbers + middle * stride);
		if (found == number)
			return (uint32_t)middle;
		if (found < number)
			low = middle + 1;
		else
			high = middle;
	}
	return STEP_NONE;
}

uint32_t step_processes_find(const struct step_processes *processes, uint32_t number)
{
	return processes->count ? find_number(&processes->rows->number, sizeof(*processes->rows),
					      processes->count, number)
				: STEP_NONE;
}

static bool is_below(const struct step_processes *processes, uint32_t row, uint32_t above)
{
	size_t left = processes->count;

	while (row != STEP_NONE && row != above && left--)
		row = processes->rows[row].parent;
	return row == above;
}

bool step_processes_made_below(const struct step_processes *processes, uint32_t remover,
			       const char *path, uint64_t creation_ns, uint64_t removed_ns)
{
	uint32_t above = step_processes_find(processes, remover);
	size_t count;

	if (above == STEP_NONE || creation_ns <= processes->rows[above].start_ns)
		return false;
	const struct step_mount *made = step_mounts_find(&processes->mounts, path, &count);
	for (size_t i = 0; i < count; i++)
		if (made[i].time_ns < removed_ns && made[i].process != above &&
		    made[i].time_ns > processes->rows[above].start_ns &&
		    is_below(processes, made[i].process, above))
			return true;
	return false;
}

uint32_t step_processes_agent(const struct step_processes *processes, uint32_t number)
{
	uint32_t row = step_processes_find(processes, number);

	while (row != STEP_NONE && processes->rows[row].role != ROLE_AGENT)
		row = processes->rows[row].parent;
	return row == STEP_NONE ? 0 : processes->rows[row].pid;
}

/* Pids are given anew.  Is what had it last what has it when an event's process starts?  It may have ended a moment
 * ago, if not `lives`. */
static bool has_pid_yet(const struct step_process *process, const struct event *event, bool lives)
{
	const uint64_t MOMENT_NS = 2000000000;
	uint32_t run = event->entry->process.context >> CONTEXT_RUN_SHIFT;

	if (run && process->run && run != process->run)
		return false;
	return !process->end_ns ||
	       (!lives && event->time_realtime_ns < process->end_ns + MOMENT_NS);
}

/* The process that has a pid when an event's process starts, and has not ended if `lives`. */
static uint32_t newest_of(const struct step_processes_reading *reading, uint32_t pid,
			  const struct event *event, bool lives)
{
	const struct step_process *rows = reading->processes->rows;
	uint64_t pid_ns = event->entry->process.pid_ns;
	uint32_t row = reading->newest[pid % PID_BUCKETS];

	while (row != STEP_NONE && (rows[row].pid != pid || rows[row].pid_ns != pid_ns))
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is one for each row */
		row = reading->older[row];
	return row != STEP_NONE && has_pid_yet(&rows[row], event, lives) ? row : STEP_NONE;
}

static const struct announcement *announcement_of(const struct step_processes_reading *reading,
						  uint64_t number)
{
	const struct announcement *all = reading->announcements;
	uint32_t index = reading->announcement_count
				 ? find_number(&all->number, sizeof(*all),
					       reading->announcement_count, number)
				 : STEP_NONE;

	return index == STEP_NONE ? NULL : &all[index];
}

/* Was what announced a program this process, or what this one is a copy of?  Else it has the program's pid from before:
 * a signal ended it, and its end is not on record. */
static bool is_announced_by(const struct step_processes_reading *reading, uint32_t row,
			    const struct announcement *by)
{
	const struct step_process *process = &reading->processes->rows[row];

	return row == by->process ||
	       ((process->flags & STEP_PROCESS_FORK) && process->parent == by->process);
}

/* What a process was copied from, stood in its place, or started it. */
static uint32_t starter_of(const struct step_processes_reading *reading, const struct event *event)
{
	const struct journal_process *process = &event->entry->process;

	if (event->op == JOURNAL_FORK && process->starter) {
		uint32_t row = step_processes_find(reading->processes, process->starter);
		if (row != STEP_NONE)
			return row;
	}
	if (event->op == JOURNAL_START) {
		const struct announcement *by = announcement_of(reading, event->exec);
		uint32_t row = newest_of(reading, process->pid, event, true);
		/* It is another program now. */
		if (row != STEP_NONE && (!by || is_announced_by(reading, row, by)))
			return row;
		if (by)
			return by->process;
	}
	return newest_of(reading, process->parent_pid, event, false);
}

/* ---- one event ---- */

/* A program was started, by a process or in its place. */
static void note_started(struct step_process *rows, uint32_t by, const struct event *event)
{
	struct step_process *starter = &rows[by];

	if (starter->pid != event->entry->process.pid) {
		starter->flags |= STEP_PROCESS_STARTER;
		return;
	}
	if (!(starter->flags & STEP_PROCESS_FORK))
		return;
	/* A copy of an agent that becomes the agent again (gemini) goes on being it. */
	if (event->role != ROLE_AGENT || starter->role != ROLE_AGENT)
		starter->flags |= STEP_PROCESS_BECOMES;
	if (starter->parent != STEP_NONE)
		rows[starter->parent].flags |= STEP_PROCESS_STARTER;
}

static void add_process(struct step_processes_reading *reading, const struct event *event)
{
	struct step_processes *processes = reading->processes;
	const struct journal_process *reported = &event->entry->process;
	size_t count = processes->count;

	if (count >= reading->max) {
		processes->left_out++;
		return;
	}
	uint32_t parent = starter_of(reading, event);
	struct step_process *rows = grown(processes->rows, count, &processes->capacity,
					  sizeof(*rows));
	uint32_t *older = grown(reading->older, count, &reading->older_capacity, sizeof(*older));
	struct last_change *last = grown(reading->last_changes, count,
					 &reading->last_change_capacity, sizeof(*last));
	if (rows)
		processes->rows = rows;
	if (older)
		reading->older = older;
	if (last)
		reading->last_changes = last;
	if (!rows || !older || !last) {
		reading->no_memory = true;
		return;
	}
	bool is_fork = event->op == JOURNAL_FORK;
	if (parent != STEP_NONE && !is_fork)
		note_started(rows, parent, event);
	rows[count] = (struct step_process){
		.start_ns = event->time_realtime_ns,
		.last_ns = event->time_realtime_ns,
		.pid_ns = reported->pid_ns,
		.number = (uint32_t)event->number,
		.pid = reported->pid,
		.parent = parent,
		.path = event->entry->record.path,
		.arguments = is_fork ? 0 : event->entry->record.other_path,
		.run = reported->context >> CONTEXT_RUN_SHIFT,
		.step = STEP_NONE,
		.role = event->role,
		.flags = (is_fork ? STEP_PROCESS_FORK : 0u) |
			 (reported->context & CONTEXT_AGENT ? STEP_PROCESS_AGENT : 0u),
	};
	older[count] = reading->newest[reported->pid % PID_BUCKETS];
	reading->newest[reported->pid % PID_BUCKETS] = (uint32_t)count;
	last[count] = (struct last_change){ SIZE_MAX, 0 };
	processes->count++;
	reading->lives++;
}

static void add_announcement(struct step_processes_reading *reading, const struct event *event,
			     uint32_t row)
{
	struct announcement *more = grown(reading->announcements, reading->announcement_count,
					  &reading->announcement_capacity, sizeof(*more));
	if (!more) {
		reading->no_memory = true;
		return;
	}
	reading->announcements = more;
	more[reading->announcement_count++] = (struct announcement){
		.number = (uint32_t)event->number,
		.process = row,
	};
}

/* Does it change a file of the workspace? */
static bool is_change(const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	const struct op *op = op_info(event->op);

	if (event->error || !source_is_session(event->source))
		return false;
	/* Of a descriptor that may write the first write tells; a supervisor sees none.  It cannot be had of what is
	 * not there. */
	if (op->effect == EFFECT_OPENS)
		return event->attempted
			       ? (record->flags & O_CREAT) || (record->marks & JOURNAL_WAS_THERE)
			       : (record->flags & O_TRUNC) || (record->marks & JOURNAL_MADE);
	return op->effect != EFFECT_MAPS;
}

static int note_change(struct step_processes *processes, uint32_t process, uint64_t time_ns)
{
	struct step_change *more = grown(processes->changes, processes->change_count,
					 &processes->change_capacity, sizeof(*more));

	if (!more)
		return -ENOMEM;
	processes->changes = more;
	more[processes->change_count++] = (struct step_change){ time_ns, time_ns, process };
	return 0;
}

static void add_change(struct step_processes_reading *reading, const struct event *event,
		       uint32_t row)
{
	struct step_processes *processes = reading->processes;
	struct last_change *last = &reading->last_changes[row];

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is one for each row */
	if (last->index != SIZE_MAX && last->lives == reading->lives) {
		struct step_change *change = &processes->changes[last->index];
		if (event->time_realtime_ns > change->last_ns)
			change->last_ns = event->time_realtime_ns;
		return;
	}
	if (note_change(processes, row, event->time_realtime_ns) < 0)
		reading->no_memory = true;
	else
		*last = (struct last_change){ processes->change_count - 1, reading->lives };
}

/* The row of an event's process: often that of the event before. */
static uint32_t row_of(struct step_processes_reading *reading, const struct event *event)
{
	uint32_t number = (uint32_t)event->process;

	if (number == 0)
		return STEP_NONE;
	if (number == reading->last_process)
		return reading->last_row;
	uint32_t row = step_processes_find(reading->processes, number);
	if (row != STEP_NONE) {
		reading->last_process = number;
		reading->last_row = row;
	}
	return row;
}

void step_processes_add(struct step_processes_reading *reading, const struct event *event)
{
	struct step_processes *processes = reading->processes;

	if (!event->entry) /* EVENT_DAMAGED */
		return;
	unsigned effect = op_info(event->op)->effect;
	if (effect == EFFECT_STARTS || effect == EFFECT_FORKS) {
		if (event->entry->record.head.units > 1)
			add_process(reading, event);
		return;
	}
	if (event->op == JOURNAL_REPORTED) {
		if (step_calls_add(&processes->calls, event) < 0)
			reading->no_memory = true;
		return;
	}
	uint32_t row = row_of(reading, event);
	if (row == STEP_NONE)
		return;
	struct step_process *process = &processes->rows[row];
	if (event->time_realtime_ns > process->last_ns)
		process->last_ns = event->time_realtime_ns;
	if (effect == EFFECT_ANNOUNCES) {
		add_announcement(reading, event, row);
	} else if (effect == EFFECT_ENDS && !event->vforked) {
		process->end_ns = event->time_realtime_ns;
		process->status = (uint32_t)event->entry->record.amount;
		process->flags |= STEP_PROCESS_STATUS;
		reading->lives++;
	} else if (is_change(event)) {
		add_change(reading, event, row);
	} else if (step_mounts_add(&processes->mounts, event, row) < 0) {
		reading->no_memory = true;
	}
}

/* ---- the whole ---- */

int step_processes_start(size_t max, struct step_processes *ret_processes,
			 struct step_processes_reading **ret_reading)
{
	struct step_processes_reading *reading = calloc(1, sizeof(*reading));

	*ret_processes = (struct step_processes){ .rows = NULL };
	if (!reading)
		return -ENOMEM;
	reading->processes = ret_processes;
	reading->max = max;
	memset(reading->newest, 0xff, sizeof(reading->newest));
	*ret_reading = reading;
	return 0;
}

int step_processes_finish(struct step_processes_reading *reading, const struct events *events)
{
	if (!reading)
		return 0;
	struct step_processes *processes = reading->processes;
	const char *workspace = events ? events_workspace(events) : NULL;
	bool no_memory = reading->no_memory;

	step_mounts_sort(&processes->mounts);
	if (workspace) {
		processes->workspace = strdup(workspace);
		no_memory = no_memory || !processes->workspace;
	}
	if (events)
		processes->lost_records = events_counts(events).lost;
	free(reading->announcements);
	free(reading->last_changes);
	free(reading->older);
	free(reading);
	return no_memory ? -ENOMEM : 0;
}

/* ---- undo records ---- */

/* Is it the record of a change that was made? */
static bool is_recorded_change(const struct pack_record *record)
{
	return pack_is_change(record->kind) && record->result != PACK_FAILED;
}

int step_processes_add_records(struct step_processes *processes, const char *undo)
{
	struct pack_reader *reader = calloc(1, sizeof(*reader));
	struct pack_entry entry;
	int error = reader ? 0 : -ENOMEM;

	if (error < 0 || pack_reader_open(undo, reader) < 0) {
		free(reader);
		return error;
	}
	while (error == 0 && pack_reader_next(reader, &entry) > 0) {
		uint32_t row = is_recorded_change(&entry.record)
				       ? step_processes_find(processes, entry.record.process)
				       : STEP_NONE;
		/* Changes of commands belong to them by their processes. */
		if (row != STEP_NONE)
			error = note_change(processes, row, entry.record.time_realtime_ns);
	}
	pack_reader_close(reader);
	free(reader);
	return error;
}

_Static_assert(STEP_NONE == UINT32_MAX, "all its bytes are 0xff");

void step_processes_free(struct step_processes *processes)
{
	free(processes->rows);
	free(processes->changes);
	free(processes->workspace);
	step_calls_free(&processes->calls);
	step_mounts_free(&processes->mounts);
	*processes = (struct step_processes){ .rows = NULL };
}
