/* Events of a journal: see events.h. */
#include "cli/journal/events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/journal/event_places.h"
#include "cli/journal/event_processes.h"
#include "cli/journal/event_texts.h"
#include "cli/journal/journal_reader.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

enum {
	/* EXEC records whose program has not been heard of: the last with a serial's lowest
	 * bits. */
	ANNOUNCEMENTS = 4096,
	/* records behind an undone one that are asked when it was begun */
	BEHIND_UNDONE_MAX = 1024,
	SKIP_UNITS_MAX = 4096, /* units that are searched for the beginning of a record */
};

struct announcement {
	uint64_t serial, number;
};

struct events {
	struct journal_reader journal;
	bool follow;
	uint64_t at;
	uint64_t end; /* without follow: where it was when it was opened */
	struct events_counts counts;
	/* what events_undone_since() found last, of records from one place to another */
	uint64_t undone_from, undone_to;
	uint64_t undone_since_ns;
	struct event_texts texts;
	struct event_processes processes;
	struct event_places places;
	struct announcement announcements[ANNOUNCEMENTS];
	/* What the last event points to. */
	struct journal_entry entry;
	char workspace[JOURNAL_TEXT_BYTES_MAX + 1];
	char executable[JOURNAL_TEXT_BYTES_MAX + 1];
	uint32_t executable_number; /* of the text that it holds; 0: none */
	char given[JOURNAL_TEXT_BYTES_MAX + 1];
	char directory[EVENT_PATH_BYTES];
	char resolved[EVENT_PATH_BYTES];
	char other[JOURNAL_TEXT_BYTES_MAX + 1];
	char other_directory[EVENT_PATH_BYTES];
	char other_resolved[EVENT_PATH_BYTES];
};

/* ---- paths ---- */

/* Is the record about a descriptor?  Its path is then that of an earlier open. */
static bool is_of_descriptor(const struct journal_record *record)
{
	unsigned traits = op_info(record->head.op)->traits;
	return traits & OP_OF_DESCRIPTOR || (traits & OP_BY_DESCRIPTOR && record->fd >= 0);
}

/* The directory that a name is relative to, as the event's record tells it.  Returns ret_path or
 * NULL. */
static const char *base_of(struct events *events, const struct event_process *process,
			   const struct event *event, int fd, uint64_t number, char *ret_path)
{
	if (event->vforked && fd == AT_FDCWD && !number && !is_of_descriptor(&event->entry->record))
		return event_vforked_directory(&events->places, process, event, ret_path);
	return event_directory_resolve(&events->places, fd, number, event->number, ret_path);
}

/* What a path names that was cut is not known.  Where some text of a record was, one that the
 * kernel would take is whole. */
static bool is_whole(const char *path, const struct event *event)
{
	return strlen(path) < (event->cut ? PATH_MAX : JOURNAL_TEXT_BYTES_MAX);
}

static const char *resolve(const struct event *event, const char *directory, const char *path,
			   char *ret_path)
{
	if (!path || !path[0] || !is_whole(path, event))
		return NULL;
	const char *rest = directory ? path_behind_directory(path, (uint32_t)event->pid) : NULL;
	if (rest)
		path = rest;
	return path_normalize(directory, path, ret_path, EVENT_PATH_BYTES) < 0 ? NULL : ret_path;
}

static bool is_path(const struct event *event)
{
	if (event->entry->record.marks & JOURNAL_PATTERN)
		return false;
	/* A name without a slash is found through PATH, or not. */
	return !(op_info(event->op)->traits & OP_PROGRAM) ||
	       (event->path && strchr(event->path, '/'));
}

static void resolve_names(struct events *events, const struct event_process *process,
			  struct event *event)
{
	const struct journal_record *record = &event->entry->record;

	event->directory = base_of(events, process, event, record->directory_fd, record->directory,
				   events->directory);
	if (is_path(event))
		event->resolved = resolve(event, event->directory, event->path, events->resolved);
	if (!(op_info(event->op)->traits & OP_TWO_NAMES) || !event->other ||
	    strlen(event->other) != event->other_bytes)
		return;
	event->other_resolved = resolve(event,
					base_of(events, process, event, record->fd, record->amount,
						events->other_directory),
					event->other, events->other_resolved);
}

/* ---- whose change it is ---- */

static bool is_in_workspace(const struct events *events, const char *resolved)
{
	const char *root = events_workspace(events);
	size_t length = root ? strlen(root) : 0;

	if (!resolved || length == 0)
		return false;
	return length == 1 || (strncmp(resolved, root, length) == 0 &&
			       (resolved[length] == '/' || resolved[length] == '\0'));
}

/* Whose it is where the record's process made the change. */
static enum source source_of_caller(const struct events *events,
				    const struct event_process *process, const struct event *event)
{
	if (!process || process->role < 0 || event->error ||
	    (!is_in_workspace(events, event->resolved) &&
	     !is_in_workspace(events, event->other_resolved)))
		return SOURCE_NONE;
	return source_of_process(process->context, (uint32_t)process->role);
}

static enum source source_of(const struct events *events, const struct event_process *process,
			     const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	bool is_change = false;

	switch ((enum op_author)op_info(event->op)->author) {
	case AUTHOR_NONE:
		break;
	case AUTHOR_CALLER:
		is_change = true;
		break;
	case AUTHOR_OPENER:
		is_change = !(record->flags & O_PATH) &&
			    ((record->flags & O_ACCMODE) != O_RDONLY || (record->flags & O_TRUNC));
		break;
	case AUTHOR_MAPPER:
		is_change = (record->flags & JOURNAL_MAP_SHARED) && (record->flags & PROT_WRITE);
		break;
	case AUTHOR_RECORDED:
		return record->decision < SOURCE_COUNT ? (enum source)record->decision
						       : SOURCE_NONE;
	case AUTHOR_READER:
		return SOURCE_READ;
	case AUTHOR_USER:
		return SOURCE_MENTIONED;
	}
	return is_change ? source_of_caller(events, process, event) : SOURCE_NONE;
}

/* The program that a process runs: often that of the event before. */
static const char *executable_of(struct events *events, const struct event_process *process)
{
	uint32_t number = process->executable;

	if (number && number == events->executable_number)
		return events->executable;
	const char *name = event_name_copy(&events->texts, number, events->executable);
	events->executable_number = name ? number : 0;
	return name;
}

/* ---- what an event changes in what is known ---- */

/* Where a process is. */
static void follow_directory(struct events *events, struct event_process *process,
			     const struct event *event)
{
	const struct journal_record *record = &event->entry->record;

	if (op_info(event->op)->effect == EFFECT_ENTERS && !event->error) {
		if (event->vforked) {
			event_vforked_enter(&events->places, event);
		} else {
			process->directory = (uint32_t)event->number;
			process->directory_fd = -1;
		}
	} else if (!event->vforked && record->directory && record->directory_fd == AT_FDCWD &&
		   !is_of_descriptor(record)) {
		process->directory = record->directory;
		process->directory_fd = AT_FDCWD;
	}
}

static void follow(struct events *events, struct event_process *process, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct event_vforked *child = event_vforked_find(&events->places, event);
	unsigned effect = op_info(event->op)->effect;

	if (process)
		follow_directory(events, process, event);
	if (child && (effect == EFFECT_ANNOUNCES || effect == EFFECT_WITHDRAWS))
		child->leaving = effect == EFFECT_ANNOUNCES;
	if (effect == EFFECT_ANNOUNCES && record->amount)
		events->announcements[record->amount % ANNOUNCEMENTS] = (struct announcement){
			record->amount, event->number
		};
	else if (effect == EFFECT_ENDS && child)
		event_vforked_drop(&events->places, child);
	else if (effect == EFFECT_ENDS && process && !event->vforked)
		event_process_finish(&events->processes, process);
	else if (effect == EFFECT_FORGETS && !record->path) /* else some files: the epoch goes on */
		event_processes_end_epoch(&events->processes, record->amount);
}

static uint64_t announcement_of(const struct events *events, uint64_t serial)
{
	const struct announcement *last = &events->announcements[serial % ANNOUNCEMENTS];
	return serial && last->serial == serial ? last->number : 0;
}

static void complete(struct events *events, struct event *event)
{
	const struct journal_entry *entry = &events->entry;
	const struct journal_record *record = &entry->record;
	bool begins = event_is_life(entry);
	size_t length = 0;

	*event = (struct event){
		.number = entry->number,
		.time_realtime_ns = record->time_realtime_ns,
		.op = record->head.op,
		.error = record->head.error,
		.vforked = record->marks & JOURNAL_VFORKED,
		.cut = record->marks & JOURNAL_CUT,
		.attempted = record->marks & JOURNAL_ATTEMPTED,
		.process = begins ? entry->number : record->process,
		.tid = record->tid,
		.role = -1,
		.entry = entry,
	};
	const char *name = event_name_copy(&events->texts, record->path, events->given);
	*(event->op == JOURNAL_UNOBSERVED ? &event->program : &event->path) = name;
	const char *other = event_text_bytes(&events->texts, record->other_path, &length);
	event->other = event_text_copy(other, length, events->other);
	event->other_bytes = event->other ? length : 0;
	struct event_process *process = begins ? event_process_add(&events->processes, entry)
					       : event_process_of(&events->processes,
								  record->process, entry->number);
	if (process) {
		event->pid = event->vforked ? record->tid : process->pid;
		event->parent_pid = event->vforked ? process->pid : process->parent_pid;
		event->role = process->role;
		event->scope_id = process->scope_id;
		event->epoch = process->epoch;
		event->executable = executable_of(events, process);
	} else if (!begins) {
		event->process = 0;
	}
	struct event_vforked *child = event_vforked_find(&events->places, event);
	if (child && child->leaving && event->op != JOURNAL_EXEC_FAILED)
		/* It became another program, and this is a new child with its number. */
		event_vforked_drop(&events->places, child);
	resolve_names(events, process, event);
	event->source = source_of(events, process, event);
	if (event->op == JOURNAL_START && begins)
		event->exec = announcement_of(events, entry->process.serial);
	else if (event->op == JOURNAL_EXEC_FAILED)
		event->exec = announcement_of(events, record->amount);
	follow(events, process, event);
}

/* ---- the reader ---- */

int events_open(const char *path, bool follow_growth, struct events **ret_events)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events)
		return -ENOMEM;
	events->texts.journal = &events->journal;
	event_processes_init(&events->processes, &events->journal);
	events->places.texts = &events->texts;
	events->places.processes = &events->processes;
	int error = journal_reader_open(path, &events->journal);
	if (error < 0) {
		events_close(events);
		return error;
	}
	events->follow = follow_growth;
	events->at = JOURNAL_UNITS_FIRST;
	events->end = journal_reader_end_unit(&events->journal);
	(void)event_name_copy(&events->texts, events->journal.head.header->workspace,
			      events->workspace);
	*ret_events = events;
	return 0;
}

/* Counts, and tells what is no event for anybody. */
static bool is_event(struct events *events, const struct journal_entry *entry)
{
	events->counts.undone += entry->record.head.op == JOURNAL_ABANDONED;
	return !(op_info(entry->record.head.op)->traits & OP_NO_EVENT);
}

enum events_found events_next(struct events *events, struct event *ret_event)
{
	for (;;) {
		if (!events->follow && events->at >= events->end)
			return EVENTS_END;
		switch (journal_reader_next(&events->journal, &events->at, &events->entry)) {
		case JOURNAL_FOUND_END:
			return EVENTS_END;
		case JOURNAL_FOUND_UNDONE:
			return EVENTS_UNDONE;
		case JOURNAL_FOUND_DAMAGED:
			events->counts.damaged++;
			*ret_event = (struct event){ .number = events->entry.number,
						     .op = EVENT_DAMAGED,
						     .role = -1 };
			return EVENTS_EVENT;
		case JOURNAL_FOUND_RECORD:
			if (!is_event(events, &events->entry))
				break;
			complete(events, ret_event);
			return EVENTS_EVENT;
		}
	}
}

void events_pass(struct events *events)
{
	uint64_t behind = journal_reader_behind_undone(&events->journal, events->at);
	events->counts.undone += behind != events->at; /* else it was finished meanwhile */
	events->at = behind;
}

uint64_t events_position(const struct events *events)
{
	return events->at;
}

uint64_t events_end_unit(const struct events *events)
{
	return journal_reader_end_unit(&events->journal);
}

uint64_t events_skip(struct events *events, uint64_t number)
{
	struct journal_entry entry;
	uint64_t from = events->at;

	if (number > events_end_unit(events))
		number = events_end_unit(events);
	if (number <= from)
		return 0;
	/* What lies inside a record resembles none, but by chance of one in four billion. */
	for (uint64_t i = 0; i < SKIP_UNITS_MAX; i++) {
		uint64_t at = number + i;
		enum journal_found found = journal_reader_next(&events->journal, &at, &entry);
		if (found == JOURNAL_FOUND_RECORD)
			number += i;
		if (found == JOURNAL_FOUND_RECORD || found == JOURNAL_FOUND_END)
			break;
	}
	events->at = number;
	journal_reader_seek(&events->journal, number);
	/* Where they are, and of which epoch, may have changed in between. */
	event_processes_free(&events->processes);
	while (events->places.vforked_count)
		event_vforked_drop(&events->places, &events->places.vforked[0]);
	events->processes.epoch_ended = true;
	return number - from;
}

uint64_t events_undone_since(struct events *events)
{
	struct journal_entry entry;
	uint64_t at = events->at;

	if (at >= events->undone_from && at < events->undone_to)
		return events->undone_since_ns;
	events->undone_from = at;
	events->undone_to = at;
	for (int i = 0; i < BEHIND_UNDONE_MAX; i++) {
		uint64_t next = at;
		switch (journal_reader_next(&events->journal, &next, &entry)) {
		case JOURNAL_FOUND_END:
			return 0;
		case JOURNAL_FOUND_UNDONE:
			next = journal_reader_behind_undone(&events->journal, at);
			break;
		case JOURNAL_FOUND_RECORD:
			if (!entry.record.time_realtime_ns)
				break;
			events->undone_to = at;
			return events->undone_since_ns = entry.record.time_realtime_ns;
		case JOURNAL_FOUND_DAMAGED:
			break;
		}
		at = next;
	}
	events->undone_to = at;
	return events->undone_since_ns = 0;
}

const struct journal_header *events_header(const struct events *events)
{
	return events->journal.head.header;
}

const char *events_workspace(const struct events *events)
{
	return events->workspace[0] == '/' ? events->workspace : NULL;
}

struct events_counts events_counts(const struct events *events)
{
	struct events_counts counts = events->counts;
	counts.processes = events->processes.count;
	counts.lost = __atomic_load_n(&events->journal.head.header->lost, __ATOMIC_RELAXED);
	return counts;
}

int events_error(const struct events *events)
{
	return events->journal.error < 0         ? events->journal.error
	       : events->processes.lacked_memory ? -ENOMEM
						 : 0;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	event_processes_free(&events->processes);
	for (size_t i = 0; i < events->places.vforked_count; i++)
		free(events->places.vforked[i].directory);
	journal_reader_close(&events->journal);
	free(events);
}

const char *event_op_name(unsigned op)
{
	return op == EVENT_DAMAGED ? "damaged" : journal_op_name(op);
}
