/* Events of a journal: see events.h. */
#include "cli/journal/events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/journal/journal_reader.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

enum {
	BUCKETS = 1 << 14,
	ANNOUNCEMENTS =
		4096, /* EXEC records whose program has not been heard of: the last with a serial's lowest bits */
	TEXTS = 4096, /* whose check was found to hold, likewise by number */
	TEXT_BYTES =
		122, /* of one that is kept: what was written long ago need not be read from the file again and again */
	FOLDERS_MAX = 1024, /* folders opened relative to each other that are followed */
	/* records behind an undone one that are asked when it was begun */
	BEHIND_UNDONE_MAX = 1024,
	STARTERS_MAX = 64, /* forks of forks that are followed to the program that runs in them */
	SKIP_LOOKS_MAX = 4096, /* units that are searched for the beginning of a record */
	RESOLVED_BYTES = 2 * JOURNAL_TEXT_BYTES_MAX + 2,
};

/* A child between vfork and exec that changed its folder.  The record's `process` is its
 * parent's. */
struct vforked {
	uint64_t process;
	uint32_t pid;
	/* an EXEC was its last word: unless EXEC_FAILED follows, its pid is free for another */
	bool leaving;
	char *folder; /* absolute; NULL: not known */
};

struct process {
	uint64_t number; /* of its START or FORK record */
	uint32_t pid, parent_pid;
	int role;         /* -1: not known */
	uint32_t context; /* enum context_flags */
	uint64_t scope_id, epoch;
	uint32_t executable; /* text */
	/* Its current folder, where its vforked children begin: as records tell one, or a CHDIR
	 * record. */
	uint32_t folder;
	int32_t folder_fd;
	bool children_dropped; /* where a vforked child is that is not remembered is not known */
	bool ended;
	struct process *next; /* in its bucket */
	struct process *newer, *older;
};

struct announcement {
	uint64_t serial, number;
};

struct text {
	uint32_t number; /* 0: none */
	uint16_t length; /* TEXT_BYTES + 1: it is longer, and was found to be good */
	char bytes[TEXT_BYTES];
};

struct events {
	struct journal_reader journal;
	bool follow;
	uint64_t at;
	uint64_t end; /* without follow: where it was when it was opened */
	struct events_counts counts;
	bool forgot; /* an epoch ended at some time */
	struct process *buckets[BUCKETS];
	struct process newest; /* ring: newest.older is the newest, newest.newer the oldest */
	struct process ended;  /* likewise of those that ended, by themselves */
	size_t ended_count;
	struct announcement announcements[ANNOUNCEMENTS];
	struct vforked vforked[EVENTS_VFORKED_MAX]; /* oldest first */
	size_t vforked_count;
	struct text texts[TEXTS];
	/* What the last event points to. */
	struct journal_entry entry;
	char workspace[JOURNAL_TEXT_BYTES_MAX + 1];
	char executable[JOURNAL_TEXT_BYTES_MAX + 1];
	char given[JOURNAL_TEXT_BYTES_MAX + 1];
	char directory[RESOLVED_BYTES];
	char resolved[RESOLVED_BYTES];
	char other[JOURNAL_TEXT_BYTES_MAX + 1];
	char other_directory[RESOLVED_BYTES];
	char other_resolved[RESOLVED_BYTES];
};

/* ---- texts ---- */

/* The bytes of a text whose check holds, until the next one is asked for.  Returns NULL when there
 * is none. */
static const char *text_bytes(struct events *events, uint32_t number, size_t *ret_size_bytes)
{
	struct text *text = &events->texts[number % TEXTS];
	struct journal_entry entry;
	uint64_t at = number;

	if (number == 0)
		return NULL;
	if (text->number == number && text->length <= TEXT_BYTES) {
		*ret_size_bytes = text->length;
		return text->bytes;
	}
	if (text->number != number &&
	    (journal_reader_next(&events->journal, &at, &entry) != JOURNAL_FOUND_RECORD ||
	     entry.record.head.op != JOURNAL_TEXT))
		return NULL;
	const char *bytes = journal_reader_bytes(&events->journal, number, ret_size_bytes);
	if (!bytes)
		return NULL;
	text->number = number;
	text->length = TEXT_BYTES + 1;
	if (*ret_size_bytes <= TEXT_BYTES) {
		text->length = (uint16_t)*ret_size_bytes;
		memcpy(text->bytes, bytes, *ret_size_bytes);
	}
	return bytes;
}

/* The same for a path or a name, which no NUL is part of. */
static const char *name_bytes(struct events *events, uint32_t number, size_t *ret_length)
{
	const char *bytes = text_bytes(events, number, ret_length);
	return bytes && !memchr(bytes, '\0', *ret_length) ? bytes : NULL;
}

/* Ends bytes by NUL.  ret_text: JOURNAL_TEXT_BYTES_MAX + 1 bytes.  Returns ret_text; NULL for no
 * bytes, or too many. */
static const char *copy(const char *bytes, size_t length, char *ret_text)
{
	if (!bytes || length > JOURNAL_TEXT_BYTES_MAX)
		return NULL;
	memcpy(ret_text, bytes, length);
	ret_text[length] = '\0';
	return ret_text;
}

static const char *copy_name(struct events *events, uint32_t number, char *ret_text)
{
	size_t length = 0;
	const char *bytes = name_bytes(events, number, &length);
	return copy(bytes, length, ret_text);
}

/* ---- processes ---- */

static bool is_life(const struct journal_entry *entry)
{
	return (entry->record.head.op == JOURNAL_START || entry->record.head.op == JOURNAL_FORK) &&
	       entry->record.head.units == 1 + sizeof(struct journal_process) / JOURNAL_UNIT_BYTES;
}

/* The START or FORK record with this number, that stands before `below`. */
static bool read_life(struct events *events, uint64_t number, uint64_t below,
		      struct journal_entry *ret_entry)
{
	uint64_t at = number;
	return number < below &&
	       journal_reader_next(&events->journal, &at, ret_entry) == JOURNAL_FOUND_RECORD &&
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
	struct process *ring = process->ended ? &events->ended : &events->newest;
	process->newer = ring;
	process->older = ring->older;
	process->older->newer = process;
	ring->older = process;
}

static struct process *find_process(struct events *events, uint64_t number)
{
	struct process *process = *bucket_of(events, number);
	while (process && process->number != number)
		process = process->next;
	return process;
}

static void drop_process(struct events *events, struct process *process)
{
	struct process **link = bucket_of(events, process->number);
	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	unlink_age(process);
	events->ended_count -= process->ended;
	free(process);
	events->counts.processes--;
}

/* The one heard of last longest ago; those that ended are the first to go. */
static void drop_oldest(struct events *events)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is dropped was unlinked from both
	 * rings */
	drop_process(events, events->ended_count ? events->ended.newer : events->newest.newer);
}

/* It is kept for records that come late (a fork's first). */
static void end_process(struct events *events, struct process *process)
{
	unlink_age(process);
	events->ended_count += !process->ended;
	process->ended = true;
	make_newest(events, process);
	if (events->ended_count > EVENTS_ENDED_MAX)
		drop_process(events, events->ended.newer);
}

static void forget_processes(struct events *events)
{
	while (events->counts.processes)
		drop_oldest(events);
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
		drop_oldest(events);
	process->number = life->number;
	process->pid = details->pid;
	process->parent_pid = details->parent_pid;
	process->role = details->role < ROLE_COUNT ? (int)details->role : -1;
	process->context = details->context;
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
	/* It was dropped, or passed over before it was done.  What became of it since is not
	 * known. */
	process = add_process(events, &life);
	if (process) {
		process->epoch = events->forgot ? 0 : process->epoch;
		process->children_dropped = true;
	}
	return process;
}

/* ---- folders ---- */

/* An OPEN or LIST record of a folder, or a CHDIR record into it, that stands before `below`. */
static bool read_entrance(struct events *events, uint64_t number, uint64_t below,
			  struct journal_entry *ret_entry)
{
	const struct journal_record *record = &ret_entry->record;
	uint64_t at = number;
	return number < below &&
	       journal_reader_next(&events->journal, &at, ret_entry) == JOURNAL_FOUND_RECORD &&
	       (record->head.op == JOURNAL_OPEN || record->head.op == JOURNAL_LIST ||
		record->head.op == JOURNAL_CHDIR) &&
	       !record->head.error && !(record->marks & JOURNAL_PATTERN);
}

/* The absolute path of a folder as a record tells it, that stands at `below`: with AT_FDCWD a text,
 * else the record that entered it.  ret_path: RESOLVED_BYTES.  Returns ret_path or NULL. */
static const char *resolve_folder(struct events *events, int fd, uint64_t number, uint64_t below,
				  char *ret_path)
{
	char joined[RESOLVED_BYTES]; /* filled from its end */
	size_t at = sizeof(joined) - 1;
	struct journal_entry entry;
	size_t length;

	joined[at] = '\0';
	for (int hops = 0; hops < FOLDERS_MAX && number && number <= UINT32_MAX; hops++) {
		if (fd != AT_FDCWD && !read_entrance(events, number, below, &entry))
			break;
		uint32_t text = fd == AT_FDCWD ? (uint32_t)number : entry.record.path;
		const char *name = name_bytes(events, text, &length);
		/* nobody knows what a path names that was cut */
		if (!name || length == 0 || length >= PATH_MAX || length >= at)
			break;
		at -= length;
		memcpy(joined + at, name, length);
		if (name[0] == '/')
			return path_normalize(NULL, joined + at, ret_path, RESOLVED_BYTES) < 0
				       ? NULL
				       : ret_path;
		if (fd == AT_FDCWD) /* as getcwd(2) says of a folder that cannot be reached */
			break;
		joined[--at] = '/';
		below = number;
		fd = entry.record.directory_fd;
		number = entry.record.directory;
	}
	return NULL;
}

/* ---- children between vfork and exec ---- */

static struct vforked *find_vforked(struct events *events, const struct event *event)
{
	for (size_t i = 0; event->vforked && i < events->vforked_count; i++)
		if (events->vforked[i].pid == event->pid &&
		    events->vforked[i].process == event->process)
			return &events->vforked[i];
	return NULL;
}

static void drop_vforked(struct events *events, struct vforked *child)
{
	size_t index = (size_t)(child - events->vforked);
	free(child->folder);
	events->vforked_count--;
	memmove(child, child + 1, (events->vforked_count - index) * sizeof(*child));
}

/* Room for one more. */
static void make_room(struct events *events)
{
	size_t oldest = 0;

	if (events->vforked_count < EVENTS_VFORKED_MAX)
		return;
	while (oldest < EVENTS_VFORKED_MAX && !events->vforked[oldest].leaving)
		oldest++;
	if (oldest == EVENTS_VFORKED_MAX) {
		oldest = 0;
		struct process *parent = find_process(events, events->vforked[0].process);
		if (parent)
			parent->children_dropped = true;
	}
	drop_vforked(events, &events->vforked[oldest]);
}

static void enter_vforked(struct events *events, const struct event *event)
{
	struct vforked *child = find_vforked(events, event);

	if (!child) {
		make_room(events);
		child = &events->vforked[events->vforked_count++];
		*child = (struct vforked){ .process = event->process, .pid = event->pid };
	}
	free(child->folder);
	child->folder = event->resolved ? strdup(event->resolved) : NULL;
}

/* Where the writer of a record is. */
static const char *folder_of_vforked(struct events *events, const struct process *process,
				     const struct event *event, char *ret_path)
{
	const struct vforked *child = find_vforked(events, event);
	if (child && child->folder) /* a CHDIR ends it */
		return strcpy(ret_path, child->folder);
	if (child || !process || process->children_dropped)
		return NULL;
	return resolve_folder(events, process->folder_fd, process->folder, event->number, ret_path);
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

/* The folder that a name is relative to, as the event's record tells it.  Returns ret_path or
 * NULL. */
static const char *base_of(struct events *events, const struct process *process,
			   const struct event *event, int fd, uint64_t number, char *ret_path)
{
	if (event->vforked && fd == AT_FDCWD && !number && !is_of_descriptor(&event->entry->record))
		return folder_of_vforked(events, process, event, ret_path);
	return resolve_folder(events, fd, number, event->number, ret_path);
}

/* Nobody knows what a path names that was cut.  Where some text of a record was, one that the
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
	return path_normalize(directory, path, ret_path, RESOLVED_BYTES) < 0 ? NULL : ret_path;
}

static bool is_path(const struct event *event)
{
	if (event->entry->record.marks & JOURNAL_PATTERN)
		return false;
	if (event->op == JOURNAL_EXEC || event->op == JOURNAL_START)
		return event->path &&
		       strchr(event->path, '/'); /* else found through PATH, or not */
	return true;
}

static void resolve_names(struct events *events, const struct process *process, struct event *event)
{
	const struct journal_record *record = &event->entry->record;

	event->directory = base_of(events, process, event, record->directory_fd, record->directory,
				   events->directory);
	if (is_path(event))
		event->resolved = resolve(event, event->directory, event->path, events->resolved);
	if ((event->op != JOURNAL_RENAME && event->op != JOURNAL_LINK) || !event->other ||
	    strlen(event->other) != event->other_bytes)
		return;
	event->other_resolved = resolve(event,
					base_of(events, process, event, record->fd, record->amount,
						events->other_directory),
					event->other, events->other_resolved);
}

/* ---- whose change it is ---- */

/* Is it about a call that changes a file or a name, when it succeeds? */
static bool is_change(const struct event *event)
{
	const struct journal_record *record = &event->entry->record;

	switch (event->op) {
	case JOURNAL_OPEN:
		return !(record->flags & O_PATH) &&
		       ((record->flags & O_ACCMODE) != O_RDONLY || (record->flags & O_TRUNC));
	case JOURNAL_MAP:
		return (record->flags & JOURNAL_MAP_SHARED) && (record->flags & PROT_WRITE);
	case JOURNAL_WRITE:
	case JOURNAL_WRITE_TOTAL:
	case JOURNAL_CREATE:
	case JOURNAL_DELETE:
	case JOURNAL_RENAME:
	case JOURNAL_LINK:
	case JOURNAL_SYMLINK:
	case JOURNAL_TRUNCATE:
		return true;
	default:
		return false;
	}
}

static bool is_in_workspace(const struct events *events, const char *resolved)
{
	const char *root = events_workspace(events);
	size_t length = root ? strlen(root) : 0;

	if (!resolved || length == 0)
		return false;
	return length == 1 || (strncmp(resolved, root, length) == 0 &&
			       (resolved[length] == '/' || resolved[length] == '\0'));
}

static enum source source_of(const struct events *events, const struct process *process,
			     const struct event *event)
{
	uint8_t told = event->entry->record.decision;

	switch (event->op) {
	case JOURNAL_GIVEN:
		return SOURCE_READ;
	case JOURNAL_MENTIONED:
		return SOURCE_MENTIONED;
	case JOURNAL_EDITED:
	case JOURNAL_CHANGED:
		return told < SOURCE_COUNT ? (enum source)told : SOURCE_NONE;
	default:
		break;
	}
	if (!process || process->role < 0 || event->error || !is_change(event) ||
	    (!is_in_workspace(events, event->resolved) &&
	     !is_in_workspace(events, event->other_resolved)))
		return SOURCE_NONE;
	return source_of_process(process->context, (uint32_t)process->role);
}

/* ---- what an event changes in what is known ---- */

/* scope_id: 0: of every scope. */
static void forget_epochs(struct process *ring, uint64_t scope_id)
{
	for (struct process *process = ring->older; process != ring; process = process->older)
		if (scope_id == 0 || scope_id == process->scope_id)
			process->epoch = 0;
}

static void follow_forgotten(struct events *events, const struct journal_record *record)
{
	if (record->path)
		return; /* some files: the epoch goes on */
	events->forgot = true;
	forget_epochs(&events->newest, record->amount);
	forget_epochs(&events->ended, record->amount);
}

/* Where a process is. */
static void follow_folder(struct events *events, struct process *process, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;

	if (event->op == JOURNAL_CHDIR && !event->error) {
		if (event->vforked) {
			enter_vforked(events, event);
		} else {
			process->folder = (uint32_t)event->number;
			process->folder_fd = -1;
		}
	} else if (!event->vforked && record->directory && record->directory_fd == AT_FDCWD &&
		   !is_of_descriptor(record)) {
		process->folder = record->directory;
		process->folder_fd = AT_FDCWD;
	}
}

static void follow(struct events *events, struct process *process, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct vforked *child = find_vforked(events, event);

	if (process)
		follow_folder(events, process, event);
	switch (event->op) {
	case JOURNAL_EXEC:
		if (record->amount)
			events->announcements[record->amount % ANNOUNCEMENTS] =
				(struct announcement){ record->amount, event->number };
		__attribute__((fallthrough));
	case JOURNAL_EXEC_FAILED:
		if (child)
			child->leaving = event->op == JOURNAL_EXEC;
		break;
	case JOURNAL_EXIT:
		if (child)
			drop_vforked(events, child);
		else if (process && !event->vforked)
			end_process(events, process);
		break;
	case JOURNAL_FORGOTTEN:
		follow_forgotten(events, record);
		break;
	default:
		break;
	}
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
	const char *name = copy_name(events, record->path, events->given);
	*(event->op == JOURNAL_UNOBSERVED ? &event->program : &event->path) = name;
	const char *other = text_bytes(events, record->other_path, &length);
	event->other = copy(other, length, events->other);
	event->other_bytes = event->other ? length : 0;
	struct process *process = begins ? add_process(events, entry)
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
	struct vforked *child = find_vforked(events, event);
	if (child && child->leaving && event->op != JOURNAL_EXEC_FAILED)
		/* It became another program, and this is a new child with its number. */
		drop_vforked(events, child);
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
	events->newest.newer = events->newest.older = &events->newest;
	events->ended.newer = events->ended.older = &events->ended;
	int error = journal_reader_open(path, &events->journal);
	if (error < 0) {
		events_close(events);
		return error;
	}
	events->follow = follow_growth;
	events->at = JOURNAL_UNITS_FIRST;
	events->end = journal_reader_end(&events->journal);
	(void)copy_name(events, events->journal.head.header->workspace, events->workspace);
	*ret_events = events;
	return 0;
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
	return journal_reader_end(&events->journal);
}

uint64_t events_skip(struct events *events, uint64_t number)
{
	struct journal_entry entry;
	uint64_t from = events->at;

	if (number > events_end_unit(events))
		number = events_end_unit(events);
	if (number <= from)
		return 0;
	/* What lies inside a record looks like none, but by chance of one in four billion. */
	for (uint64_t i = 0; i < SKIP_LOOKS_MAX; i++) {
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
	forget_processes(events);
	while (events->vforked_count)
		drop_vforked(events, &events->vforked[0]);
	events->forgot = true;
	return number - from;
}

uint64_t events_undone_since(struct events *events)
{
	struct journal_entry entry;
	uint64_t at = events->at;

	for (int i = 0; i < BEHIND_UNDONE_MAX; i++) {
		switch (journal_reader_next(&events->journal, &at, &entry)) {
		case JOURNAL_FOUND_END:
			return 0;
		case JOURNAL_FOUND_UNDONE:
			at = journal_reader_behind_undone(&events->journal, at);
			break;
		case JOURNAL_FOUND_RECORD:
			if (entry.record.time_realtime_ns)
				return entry.record.time_realtime_ns;
			break;
		case JOURNAL_FOUND_DAMAGED:
			break;
		}
	}
	return 0;
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
	counts.lost = __atomic_load_n(&events->journal.head.header->lost, __ATOMIC_RELAXED);
	return counts;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	forget_processes(events);
	for (size_t i = 0; i < events->vforked_count; i++)
		free(events->vforked[i].folder);
	journal_reader_close(&events->journal);
	free(events);
}

const char *event_op_name(unsigned op)
{
	return op == EVENT_DAMAGED ? "damaged" : journal_op_name(op);
}
