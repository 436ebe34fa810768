/* Events of a journal: see events.h. */
#include "cli/lib/events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lib/event_place.h"
#include "tracker/path.h"
#include "tracker/role.h"

enum {
	BUCKETS = 1 << 14,
	ANNOUNCEMENTS =
		4096, /* EXEC records whose program has not been heard of: the last with a serial's lowest bits */
	GOOD_TEXTS = 4096, /* texts whose check was found to hold, likewise by number */
	FOLDERS_MAX = 32,  /* descriptors opened relative to each other that are followed */
	STARTERS_MAX = 64, /* forks of forks that are followed to the program that runs in them */
	RESOLVED_BYTES = 2 * JOURNAL_TEXT_BYTES_MAX + 2,
};

/* A child between vfork and exec.  It shares its parent's memory, and the record's `process`, but neither its folder nor its
 * descriptors.  Only one that changes them is remembered. */
struct vforked {
	uint32_t pid;
	bool leaving; /* an EXEC was its last word: unless EXEC_FAILED follows, its pid is free for another */
	struct event_place place;
};

struct process {
	uint64_t number; /* of its START or FORK record */
	uint32_t pid, parent_pid;
	int role; /* -1: not known */
	uint64_t scope_id, epoch;
	uint32_t executable; /* text */
	struct event_place place;
	struct vforked *vforked; /* oldest first */
	size_t vforked_count;
	bool vforked_dropped; /* there were more than are remembered: where an unknown one is, is not known */
	struct process *next; /* in its bucket */
	struct process *newer, *older;
};

struct announcement {
	uint64_t serial, number;
};

struct events {
	struct journal journal;
	char *path;
	bool follow;
	uint64_t at;
	uint64_t end; /* without follow: where it was when it was opened */
	struct events_counts counts;
	bool forgot; /* an epoch ended at some time */
	struct process *buckets[BUCKETS];
	struct process newest; /* ring: newest.older is the newest, newest.newer the oldest */
	struct announcement announcements[ANNOUNCEMENTS];
	uint32_t good_texts[GOOD_TEXTS];
	/* What the last event points to. */
	struct journal_entry entry;
	char workspace[JOURNAL_TEXT_BYTES_MAX + 1];
	char executable[JOURNAL_TEXT_BYTES_MAX + 1];
	char given[JOURNAL_TEXT_BYTES_MAX + 1];
	char directory[RESOLVED_BYTES];
	char linked[RESOLVED_BYTES];
	char other[JOURNAL_TEXT_BYTES_MAX + 1];
	char resolved[RESOLVED_BYTES];
	char other_resolved[RESOLVED_BYTES];
};

/* ---- texts ---- */

/* The bytes of a text whose check holds.  Returns NULL when there is none. */
static const char *text_bytes(struct events *events, uint32_t number, size_t *ret_size_bytes)
{
	uint32_t *good = &events->good_texts[number % GOOD_TEXTS];
	struct journal_entry entry;
	uint64_t at = number;

	if (number == 0)
		return NULL;
	if (*good != number) {
		if (journal_next(&events->journal, &at, &entry) != JOURNAL_FOUND_RECORD ||
		    entry.record.head.op != JOURNAL_TEXT)
			return NULL;
		*good = number;
	}
	return journal_bytes(&events->journal, number, ret_size_bytes);
}

/* Copies a text and ends it by NUL.  ret_text: JOURNAL_TEXT_BYTES_MAX + 1 bytes.  Returns false when there is none. */
static bool copy_text(struct events *events, uint32_t number, char *ret_text, size_t *ret_length)
{
	const char *bytes = text_bytes(events, number, ret_length);
	if (!bytes || *ret_length > JOURNAL_TEXT_BYTES_MAX)
		return false;
	memcpy(ret_text, bytes, *ret_length);
	ret_text[*ret_length] = '\0';
	return true;
}

/* The same for a path or a name, which no NUL is part of.  Returns ret_text or NULL. */
static const char *copy_name(struct events *events, uint32_t number, char *ret_text)
{
	size_t length;
	return copy_text(events, number, ret_text, &length) && strlen(ret_text) == length ? ret_text
											  : NULL;
}

static bool same_text(struct events *events, uint32_t a, uint32_t b)
{
	size_t length_a, length_b;
	if (a == b)
		return true;
	const char *text_a = text_bytes(events, a, &length_a);
	const char *text_b = text_bytes(events, b, &length_b);
	return text_a && text_b && length_a == length_b && memcmp(text_a, text_b, length_a) == 0;
}

/* ---- processes ---- */

static bool is_life(const struct journal_entry *entry)
{
	return (entry->record.head.op == JOURNAL_START || entry->record.head.op == JOURNAL_FORK) &&
	       entry->record.head.units == 1 + sizeof(struct journal_process) / JOURNAL_UNIT_BYTES;
}

/* The START or FORK record with this number, that stands before `below`. */
static bool read_life(const struct events *events, uint64_t number, uint64_t below,
		      struct journal_entry *ret_entry)
{
	uint64_t at = number;
	return number < below &&
	       journal_next(&events->journal, &at, ret_entry) == JOURNAL_FOUND_RECORD &&
	       is_life(ret_entry);
}

static struct process **bucket_of(struct events *events, uint64_t number)
{
	return &events->buckets[number * UINT64_C(0x9e3779b97f4a7c15) >> 50];
}

static void unlink_age(struct process *process)
{
	process->newer->older = process->older;
	process->older->newer = process->newer;
}

static void make_newest(struct events *events, struct process *process)
{
	process->newer = &events->newest;
	process->older = events->newest.older;
	process->older->newer = process;
	events->newest.older = process;
}

static void make_oldest(struct events *events, struct process *process)
{
	unlink_age(process);
	process->older = &events->newest;
	process->newer = events->newest.newer;
	process->newer->older = process;
	events->newest.newer = process;
}

static struct process *find_process(struct events *events, uint64_t number)
{
	struct process *process = *bucket_of(events, number);
	while (process && process->number != number)
		process = process->next;
	return process;
}

static void free_process(struct process *process)
{
	event_place_free(&process->place);
	for (size_t i = 0; i < process->vforked_count; i++)
		event_place_free(&process->vforked[i].place);
	free(process->vforked);
	free(process);
}

static void drop_process(struct events *events, struct process *process)
{
	struct process **link = bucket_of(events, process->number);
	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	unlink_age(process);
	free_process(process);
	events->counts.processes--;
}

/* The program that runs in a process: that of its START record, for a fork that of its starter. */
static uint32_t executable_of(struct events *events, const struct journal_entry *life)
{
	struct journal_entry entry = *life;

	/* Each starter stands before the fork, so that there is no circle. */
	for (int hops = 0; entry.record.head.op == JOURNAL_FORK; hops++) {
		struct process *starter = find_process(events, entry.process.starter);
		if (entry.process.starter < entry.number && starter)
			return starter->executable;
		if (hops == STARTERS_MAX ||
		    !read_life(events, entry.process.starter, entry.number, &entry))
			return 0;
	}
	return entry.record.path;
}

/* Remembers a process by its first record.  Returns NULL when out of memory. */
static struct process *add_process(struct events *events, const struct journal_entry *life)
{
	const struct journal_process *details = &life->process;
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	if (events->counts.processes >= EVENTS_PROCESSES_MAX)
		drop_process(events, events->newest.newer);
	process->number = life->number;
	process->pid = details->pid;
	process->parent_pid = details->parent_pid;
	process->role = details->role < ROLE_COUNT ? (int)details->role : -1;
	process->scope_id = details->scope_id;
	process->epoch = details->epoch;
	process->executable = executable_of(events, life);
	struct process **bucket = bucket_of(events, process->number);
	process->next = *bucket;
	*bucket = process;
	make_newest(events, process);
	events->counts.processes++;
	return process;
}

/* The process that a record at `below` belongs to, or NULL. */
static struct process *process_of(struct events *events, uint64_t number, uint64_t below)
{
	struct process *process = find_process(events, number);
	struct journal_entry life;

	if (process) {
		unlink_age(process);
		make_newest(events, process);
		return process;
	}
	if (number == 0 || !read_life(events, number, below, &life))
		return NULL;
	/* It was dropped, or passed over before it was done.  What became of it since is not known. */
	process = add_process(events, &life);
	if (process && events->forgot)
		process->epoch = 0;
	if (process)
		process->vforked_dropped = true;
	return process;
}

/* ---- places ---- */

static struct vforked *find_vforked(struct process *process, uint32_t pid)
{
	for (size_t i = 0; i < process->vforked_count; i++)
		if (process->vforked[i].pid == pid)
			return &process->vforked[i];
	return NULL;
}

static void drop_vforked(struct process *process, struct vforked *child)
{
	size_t index = (size_t)(child - process->vforked);
	event_place_free(&child->place);
	process->vforked_count--;
	memmove(child, child + 1, (process->vforked_count - index) * sizeof(*child));
}

/* Where the writer of a record is; NULL: not known at all. */
static struct event_place *place_of(struct process *process, const struct event *event)
{
	if (!process)
		return NULL;
	if (!event->vforked)
		return &process->place;
	struct vforked *child = find_vforked(process, event->pid);
	if (child && child->leaving && event->op != JOURNAL_EXEC_FAILED) {
		/* It became another program, and this is a new child with its number. */
		drop_vforked(process, child);
		child = NULL;
	}
	if (child)
		return &child->place;
	return process->vforked_dropped ? NULL : &process->place;
}

/* The same for a record that changes it: a child gets a place of its own. */
static struct event_place *own_place(struct process *process, const struct event *event)
{
	struct event_place *place = place_of(process, event);

	if (!event->vforked || !place || place != &process->place)
		return place;
	if (process->vforked_count == EVENTS_VFORKED_MAX) {
		size_t oldest = 0;
		while (oldest < EVENTS_VFORKED_MAX - 1 && !process->vforked[oldest].leaving)
			oldest++;
		if (!process->vforked[oldest].leaving) {
			process->vforked_dropped = true;
			oldest = 0;
		}
		drop_vforked(process, &process->vforked[oldest]);
	}
	struct vforked *grown = realloc(process->vforked,
					(process->vforked_count + 1) * sizeof(*grown));
	if (!grown) {
		process->vforked_dropped = true;
		return NULL;
	}
	process->vforked = grown;
	struct vforked *child = &grown[process->vforked_count++];
	child->pid = event->pid;
	child->leaving = false;
	event_place_copy(&process->place, &child->place);
	return &child->place;
}

/* ---- paths ---- */

/* Is the record about a descriptor?  Its path is then that of an earlier open. */
static bool is_of_descriptor(const struct journal_record *record)
{
	switch (record->head.op) {
	case JOURNAL_READ:
	case JOURNAL_READ_TOTAL:
	case JOURNAL_WRITE:
	case JOURNAL_WRITE_TOTAL:
	case JOURNAL_MAP:
		return true;
	case JOURNAL_TRUNCATE:
	case JOURNAL_METADATA:
	case JOURNAL_CHDIR:
		return record->fd >= 0;
	default:
		return false;
	}
}

/* The absolute path of what an OPEN or LIST record opened, that stands before `below`, from what the journal's records say alone.
 * ret_path: RESOLVED_BYTES. */
static bool resolve_open(struct events *events, uint64_t number, uint64_t below, int depth,
			 char *ret_path)
{
	char given[JOURNAL_TEXT_BYTES_MAX + 1], base[RESOLVED_BYTES];
	struct journal_entry entry;
	const struct journal_record *record = &entry.record;
	uint64_t at = number;

	if (depth == 0 || number >= below ||
	    journal_next(&events->journal, &at, &entry) != JOURNAL_FOUND_RECORD ||
	    (record->head.op != JOURNAL_OPEN && record->head.op != JOURNAL_LIST) ||
	    record->head.error || (record->marks & JOURNAL_PATTERN) ||
	    !copy_name(events, record->path, given) || !given[0] || strlen(given) >= PATH_MAX)
		return false;
	base[0] = '\0';
	if (given[0] != '/' &&
	    (record->directory_fd == AT_FDCWD
		     ? !copy_name(events, record->directory, base)
		     : !resolve_open(events, record->directory, number, depth - 1, base)))
		return false;
	return path_normalize(base, given, ret_path, RESOLVED_BYTES) >= 0;
}

/* The folder that a relative name was relative to, at the call that the record is of; NULL: not known.
 * told: the record's own word for it. */
static const char *base_of(const struct event_place *place, int directory_fd, const char *told)
{
	if (told)
		return told;
	if (directory_fd == AT_FDCWD)
		return place ? event_place_current(place) : NULL;
	const struct event_descriptor *folder = place ? event_place_descriptor(place, directory_fd)
						      : NULL;
	return folder && !folder->is_file ? event_place_path(folder) : NULL;
}

/* Nobody knows what a path names that was cut.  Where some text of a record was, one that the kernel would take is whole. */
static bool is_whole(const char *path, const struct event *event)
{
	return strlen(path) < (event->cut ? PATH_MAX : JOURNAL_TEXT_BYTES_MAX);
}

static const char *normalize(const char *directory, const char *path, char *ret_path)
{
	if (!path[0]) /* names nothing, or the descriptor itself */
		return NULL;
	return path_normalize(directory, path, ret_path, RESOLVED_BYTES) < 0 ? NULL : ret_path;
}

/* Sets directory and resolved. */
static void resolve(struct events *events, const struct event_place *place, struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	const char *told = event->directory;
	const struct event_descriptor *descriptor;

	if (event->op == JOURNAL_CHDIR && !event->path) {
		descriptor = place && record->fd >= 0 ? event_place_descriptor(place, record->fd)
						      : NULL;
		if (descriptor && !descriptor->is_file)
			event->resolved = normalize(NULL, event_place_path(descriptor),
						    events->resolved);
		return;
	}
	if (!event->path || !is_whole(event->path, event) || (record->marks & JOURNAL_PATTERN))
		return;
	if (event->path[0] == '/') {
		event->resolved = normalize(NULL, event->path, events->resolved);
		return;
	}
	switch (event->op) {
	case JOURNAL_UNOBSERVED: /* a program's name */
	case JOURNAL_NOTICE:     /* these have absolute paths, or none that is known */
	case JOURNAL_YIELDED:
	case JOURNAL_GIVEN:
	case JOURNAL_CHANGED:
	case JOURNAL_FORGOTTEN:
	case JOURNAL_COVERAGE:
		return;
	case JOURNAL_EXEC:
	case JOURNAL_START:
		if (!strchr(event->path, '/')) /* found through PATH, or not */
			return;
		break;
	default:
		break;
	}
	if (is_of_descriptor(record) && !told) {
		/* Where the process is now says nothing about where it was at the open. */
		descriptor = place ? event_place_descriptor(place, record->fd) : NULL;
		if (descriptor && same_text(events, descriptor->given, record->path))
			event->resolved = normalize(NULL, event_place_path(descriptor),
						    events->resolved);
		return;
	}
	bool of_program = event->op == JOURNAL_EXEC || event->op == JOURNAL_START;
	const char *base = base_of(place, of_program ? AT_FDCWD : record->directory_fd, told);
	if (!base || base[0] != '/')
		return;
	if (base != told) {
		(void)normalize(NULL, base, events->directory);
		event->directory = events->directory;
	}
	event->resolved = normalize(event->directory, event->path, events->resolved);
}

/* Sets other_resolved: the second name of RENAME and LINK.  current: the record's word for the current folder. */
static void resolve_other(struct events *events, const struct event_place *place,
			  const char *current, struct event *event)
{
	if (!event->other || strlen(event->other) != event->other_bytes ||
	    !is_whole(event->other, event))
		return;
	const int directory_fd = event->entry->record.fd;
	event->other_resolved = normalize(
		base_of(place, directory_fd, directory_fd == AT_FDCWD ? current : NULL),
		event->other, events->other_resolved);
}

/* ---- what an event changes in what is known ---- */

static void follow_open(struct process *process, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	bool is_folder = event->op == JOURNAL_LIST || (record->flags & O_DIRECTORY);
	bool is_file = !is_folder && ((record->flags & O_ACCMODE) != O_RDONLY ||
				      (record->flags & (O_CREAT | O_TRUNC)));

	if (event->error || record->fd < 0 || (record->marks & JOURNAL_PLANNED))
		return;
	struct event_place *place = own_place(process, event);
	if (place)
		event_place_opened(place, record->fd, event->resolved, record->path, is_file);
}

/* Bytes went through a descriptor: it is no folder, and what it was opened for is told. */
static void follow_use(struct events *events, struct event_place *place,
		       const struct journal_record *record)
{
	const struct event_descriptor *descriptor = event_place_descriptor(place, record->fd);
	if (!descriptor)
		return;
	if (same_text(events, descriptor->given, record->path))
		event_place_is_file(place, record->fd);
	else
		event_place_opened(place, record->fd, NULL, 0, true);
}

static void follow_forgotten(struct events *events, const struct journal_record *record)
{
	if (record->path)
		return; /* some files: the epoch goes on */
	events->forgot = true;
	for (struct process *process = events->newest.older; process != &events->newest;
	     process = process->older)
		if (record->amount == 0 || record->amount == process->scope_id)
			process->epoch = 0;
}

static void follow(struct events *events, struct process *process, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct event_place *place;
	struct vforked *child;

	switch (event->op) {
	case JOURNAL_OPEN:
	case JOURNAL_LIST:
		if (process)
			follow_open(process, event);
		break;
	case JOURNAL_READ:
	case JOURNAL_WRITE:
	case JOURNAL_MAP:
		if (process && !event->error && !event->vforked)
			follow_use(events, &process->place, record);
		break;
	case JOURNAL_CHDIR:
		place = process && !event->error ? own_place(process, event) : NULL;
		if (place)
			event_place_enter(place, event->resolved);
		break;
	case JOURNAL_EXEC:
		if (record->amount)
			events->announcements[record->amount % ANNOUNCEMENTS] =
				(struct announcement){ record->amount, event->number };
		/* fall through */
	case JOURNAL_EXEC_FAILED:
		child = process && event->vforked ? find_vforked(process, event->pid) : NULL;
		if (child)
			child->leaving = event->op == JOURNAL_EXEC;
		break;
	case JOURNAL_EXIT:
		if (process && !event->vforked) {
			/* Kept for records that come late (a fork's first), but the first to go. */
			make_oldest(events, process);
		} else if (process && (child = find_vforked(process, event->pid))) {
			drop_vforked(process, child);
		}
		break;
	case JOURNAL_FORGOTTEN:
		follow_forgotten(events, record);
		break;
	default:
		break;
	}
}

/* A process begins: where it is. */
static struct process *begin(struct events *events, const char *directory)
{
	const struct journal_entry *life = &events->entry;
	struct process *process = add_process(events, life);
	struct process *starter = NULL;

	if (!process)
		return NULL;
	if (life->record.head.op == JOURNAL_FORK)
		starter = find_process(events, life->process.starter);
	if (starter && starter != process)
		event_place_copy(&starter->place, &process->place);
	if (directory && directory[0] == '/')
		event_place_enter(&process->place, directory);
	return process;
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
	bool begins = is_life(entry);
	size_t length;

	*event = (struct event){
		.number = entry->number,
		.time_realtime_ns = record->time_realtime_ns,
		.op = record->head.op,
		.error = record->head.error,
		.vforked = record->marks & JOURNAL_VFORKED,
		.cut = record->marks & JOURNAL_CUT,
		.process = begins ? entry->number : record->process,
		.tid = record->tid,
		.role = -1,
		.path = copy_name(events, record->path, events->given),
		.directory = copy_name(events, record->directory, events->directory),
		.entry = entry,
	};
	if (event->directory && (event->directory[0] != '/' || !is_whole(event->directory, event)))
		event->directory = NULL; /* as getcwd(2) says of a folder that cannot be reached */
	if (copy_text(events, record->other_path, events->other, &length)) {
		event->other = events->other;
		event->other_bytes = length;
	}
	const char *current = event->directory;
	if (record->directory_fd >= 0)
		event->directory = resolve_open(events, record->directory, entry->number,
						FOLDERS_MAX, events->linked)
					   ? events->linked
					   : NULL;
	struct process *process = begins ? begin(events, current)
					 : process_of(events, record->process, entry->number);
	if (process) {
		event->pid = event->vforked ? record->tid : process->pid;
		event->parent_pid = event->vforked ? process->pid : process->parent_pid;
		event->role = process->role;
		event->scope_id = process->scope_id;
		event->epoch = process->epoch;
		event->executable = copy_name(events, process->executable, events->executable);
	} else if (!begins) {
		event->process = 0;
	}
	const struct event_place *place = place_of(process, event);
	if (event->op == JOURNAL_RENAME || event->op == JOURNAL_LINK)
		resolve_other(events, place, current, event);
	resolve(events, place, event);
	if (event->op == JOURNAL_START && begins)
		event->exec = announcement_of(events, entry->process.serial);
	else if (event->op == JOURNAL_EXEC_FAILED || event->op == JOURNAL_UNOBSERVED)
		event->exec = announcement_of(events, record->amount);
	follow(events, process, event);
	struct process *oldest = events->newest.newer;
	while (event_place_bytes > EVENTS_FOLDER_BYTES_MAX && oldest != process &&
	       oldest != &events->newest) {
		struct process *newer = oldest->newer;
		drop_process(events, oldest);
		oldest = newer;
	}
}

/* ---- the reader ---- */

int events_open(const char *path, bool follow_growth, struct events **ret_events)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events)
		return -ENOMEM;
	events->newest.newer = events->newest.older = &events->newest;
	events->path = strdup(path);
	int error = events->path ? journal_map_to_read(path, &events->journal) : -ENOMEM;
	if (error < 0) {
		events_close(events);
		return error;
	}
	events->follow = follow_growth;
	events->at = JOURNAL_UNITS_FIRST;
	events->end = journal_end(&events->journal);
	(void)copy_name(events, events->journal.header->workspace, events->workspace);
	*ret_events = events;
	return 0;
}

/* Maps what the file grew by.  Returns false when there is nothing new, or another file has its name. */
static bool map_more(struct events *events)
{
	uint64_t mapped = events->journal.mapped_units;
	return journal_map_more(events->path, &events->journal) == 0 &&
	       events->journal.mapped_units > mapped;
}

/* Counts, and tells what is no event for anybody. */
static bool is_event(struct events *events, const struct journal_entry *entry)
{
	unsigned op = entry->record.head.op;
	if (op == JOURNAL_ABANDONED)
		events->counts.undone++;
	return op != JOURNAL_ABANDONED && op != JOURNAL_TEXT;
}

enum events_found events_next(struct events *events, struct event *ret_event)
{
	for (;;) {
		if (!events->follow && events->at >= events->end)
			return EVENTS_END;
		switch (journal_next(&events->journal, &events->at, &events->entry)) {
		case JOURNAL_FOUND_END:
			if (!events->follow || !map_more(events))
				return EVENTS_END;
			break;
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
	uint64_t behind = journal_behind_undone(&events->journal, events->at);
	events->counts.undone += behind != events->at; /* else it was finished meanwhile */
	events->at = behind;
}

uint64_t events_position(const struct events *events)
{
	return events->at;
}

uint64_t events_end(const struct events *events)
{
	return journal_end(&events->journal);
}

const char *events_workspace(const struct events *events)
{
	return events->workspace[0] == '/' ? events->workspace : NULL;
}

struct events_counts events_counts(const struct events *events)
{
	struct events_counts counts = events->counts;
	counts.lost = __atomic_load_n(&events->journal.header->lost, __ATOMIC_RELAXED);
	return counts;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	for (struct process *process = events->newest.newer; process != &events->newest;) {
		struct process *newer = process->newer;
		free_process(process);
		process = newer;
	}
	journal_unmap(&events->journal);
	free(events->path);
	free(events);
}

const char *event_op_name(unsigned op)
{
	return op == EVENT_DAMAGED ? "damaged" : journal_op_name(op);
}
