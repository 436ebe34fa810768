/* Files that supervised processes opened for writing: see written.h. */
#include "shim/supervise/written.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "shim/keep/keep_content.h"
#include "shim/keep/keep_directory.h"
#include "shim/keep/keep_name.h"
#include "shim/supervise/openers.h"
#include "tracker/content/kept.h"
#include "tracker/content/pack_write.h"
#include "tracker/path/path.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum {
	BUCKETS = 1024,
	FILES_MAX = 4096, /* that are followed at once */
	EVENTS_BYTES = 16384,
	HELD_MAX = 64, /* each takes a descriptor */
	WAIT_MS = 200,
};

/* A file, by the path that it was opened by; or held: that name of it went while it was open. */
struct written {
	struct written *next;  /* in its bucket */
	int held;              /* a descriptor for it, O_PATH; -1: it goes by its path */
	int watch;             /* of its directory, or of the held file; -1: none */
	unsigned opens;        /* whose close was not seen yet */
	unsigned pending;      /* of these, which may not be made yet */
	bool is_unsure;        /* a close was one of several, and some were pending */
	uint64_t ino;          /* 0: made by the open: not known yet */
	bool is_new;           /* made by the first of them */
	bool is_on_record;     /* how it was left */
	bool is_continued;     /* the first of them found it as the session had left it */
	uint32_t process, pid; /* of the last */
	struct openers openers;
	uint64_t boundary; /* at which its content is kept */
	char path[];
};

static struct {
	pthread_mutex_t lock;
	bool is_made;
	int events; /* -1: none */
	size_t count, held;
	struct written *buckets[BUCKETS];
} files = { .lock = PTHREAD_MUTEX_INITIALIZER, .events = -1 };

/* ---- the table, with its lock held ---- */

/* By the last name: an event has no more than that. */
static struct written **bucket_of(const char *path)
{
	uint64_t hash = 0;

	for (const char *at = path_base(path); *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return &files.buckets[(hash >> 32) % BUCKETS];
}

static struct written **find(const char *path)
{
	struct written **at = bucket_of(path);

	while (*at && ((*at)->held >= 0 || strcmp((*at)->path, path) != 0))
		at = &(*at)->next;
	return at;
}

static void release(struct written *file)
{
	(void)close(file->held);
	file->held = -1;
	files.held--;
}

static void drop(struct written **at)
{
	struct written *file = *at;

	*at = file->next;
	if (file->held >= 0)
		release(file);
	openers_free(&file->openers);
	free(file);
	files.count--;
}

/* Does another file need the watch of a directory? */
static bool is_watched(int watch)
{
	for (int i = 0; i < BUCKETS; i++)
		for (const struct written *file = files.buckets[i]; file; file = file->next)
			if (file->watch == watch)
				return true;
	return false;
}

/* Forgets files whose closes were all seen, and the watches that no other needs. */
static void forget_closed(bool only_held)
{
	for (int i = 0; i < BUCKETS; i++)
		for (struct written **at = &files.buckets[i]; *at;) {
			int watch = (*at)->watch;
			if ((*at)->opens || (only_held && (*at)->held < 0)) {
				at = &(*at)->next;
				continue;
			}
			drop(at);
			if (watch >= 0 && !is_watched(watch))
				(void)inotify_rm_watch(files.events, watch);
		}
}

static struct written *add(const char *path)
{
	size_t bytes = strlen(path) + 1;

	if (files.count >= FILES_MAX)
		forget_closed(false);
	struct written *file = files.count < FILES_MAX ? calloc(1, sizeof(*file) + bytes) : NULL;
	if (!file)
		return NULL;
	memcpy(file->path, path, bytes);
	file->held = file->watch = -1;
	struct written **bucket = bucket_of(path);
	file->next = *bucket;
	*bucket = file;
	files.count++;
	return file;
}

static int watch_directory(const char *path)
{
	char directory[PATH_MAX];
	size_t length = (size_t)(path_base(path) - path);

	if (files.events < 0 || length <= 1 || length > sizeof(directory))
		return -1;
	memcpy(directory, path, length - 1);
	directory[length - 1] = '\0';
	/* what has lost its name is not reported by it: another file may have it by then */
	return inotify_add_watch(files.events, directory,
				 IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK);
}

/* ---- records ---- */

static struct call_name name_of(const struct written *file)
{
	bool is_held = file->held >= 0;

	return (struct call_name){ .path = is_held ? NULL : file->path,
				   .directory = is_held ? file->held : AT_FDCWD };
}

static char *path_of(struct written *file, char *own)
{
	return file->held < 0 ? file->path : keep_link_of(file->held, own) ? own : NULL;
}

/* False: the file has lost its name, or another one has it. */
static bool state_of(const struct written *file, struct pack_state *ret_state)
{
	const struct call_name name = name_of(file);

	return keep_name_state(&name, ret_state) == 0 && S_ISREG(ret_state->mode) &&
	       (!file->ino || file->ino == ret_state->ino);
}

static void record(const struct segment *segment, struct written *file,
		   const struct pack_state *state, bool is_known)
{
	const struct keeper keeper = { .segment = segment,
				       .process = file->process,
				       .pid = file->pid };
	const struct call_name name = name_of(file);
	char path[SEGMENT_PATH_BYTES];
	struct pack_note note = {
		.kind = PACK_AFTER,
		.process = file->process,
		.pid = file->pid,
		.flags = is_known && file->is_continued ? PACK_CONTINUED : 0,
		.boundary =
			file->boundary, /* a process closes its files when it has ended: behind the next one */
		.before = *state,
		.path = path_of(file, path),
	};

	if (!note.path)
		return;
	if (file->held >= 0)
		note.flags |= keep_flags_of_descriptor(note.path, state);
	if (!is_known || file->held >= 0 || !keep_left(&keeper, &note, &name, -1))
		(void)pack_write(segment, &note, PACK_NOT_TAKEN, NULL, 0);
}

/* How it was left is not known: no later state is that one. */
static void record_unknown(const struct segment *segment, struct written *file)
{
	struct pack_state state;

	if (!state_of(file, &state))
		return;
	state.size_bytes = PACK_SIZE_UNKNOWN;
	state.mtime_ns = state.ctime_ns = 0;
	record(segment, file, &state, false);
}

/* Of a held file an event may be of an external program's close: then one that only reads it has it open no more. */
static bool is_open_by_any(const struct written *file, const struct pack_state *state)
{
	return openers_have(&file->openers, state->dev, state->ino, file->held >= 0);
}

/* What is there is what the session left. */
static void record_left(const struct segment *segment, struct written *file,
			const struct pack_state *state)
{
	file->is_on_record = true;
	if (file->is_new)
		kept_note(segment, kept_key(state));
	record(segment, file, state, true);
	file->is_continued = false;
}

/* A close was reported.  The kernel makes one event of several closes that were not read yet.  Of a held file it may be
 * of another name. */
static void count_close(struct written *file)
{
	struct pack_state state;

	if (file->held >= 0) {
		if (!state_of(file, &state) || !is_open_by_any(file, &state))
			file->opens = 0;
		return;
	}
	bool is_last = file->opens == 1 || !state_of(file, &state);
	bool is_open = !is_last && is_open_by_any(file, &state);

	file->is_unsure = !is_last && !is_open && file->pending;
	file->opens = is_open || file->is_unsure ? file->opens - 1 : 0;
}

/* What others write while the session has it open counts as the session's. */
static void closed(const struct segment *segment, struct written *file)
{
	struct pack_state state;

	if (!file->opens)
		return;
	count_close(file);
	/* behind that: one that was open until then may have written to it */
	if (state_of(file, &state))
		record_left(segment, file, &state);
}

static void keep_open(const struct segment *segment, struct written *file)
{
	const struct call_name by_name = name_of(file);
	const struct keeper keeper = { .segment = segment,
				       .process = file->process,
				       .pid = file->pid };
	char path[SEGMENT_PATH_BYTES];
	struct keep_name name = { .name = &by_name, .path = path_of(file, path) };

	if (!name.path || !state_of(file, &name.state))
		return;
	if (file->held >= 0 && !name.state.nlink)
		file->opens = 0; /* no name is left that undo could give its content back */
	else
		(void)keep_changing(&keeper, &name, -1, PACK_SHARED);
}

/* What a descriptor writes to goes on changing behind a boundary. */
static void cross_boundary(const struct segment *segment)
{
	static uint64_t crossed;
	uint64_t boundary = __atomic_load_n(&segment->header->undo_boundary, __ATOMIC_RELAXED);

	if (crossed == boundary)
		return;
	crossed = boundary;
	for (int i = 0; i < BUCKETS; i++)
		for (struct written *file = files.buckets[i]; file; file = file->next) {
			if (file->opens && file->boundary != boundary)
				keep_open(segment, file);
			file->boundary = boundary;
		}
	forget_closed(true);
}

/* Events were lost. */
static void lose_all(const struct segment *segment)
{
	for (int i = 0; i < BUCKETS; i++)
		for (struct written *file = files.buckets[i]; file; file = file->next) {
			record_unknown(segment, file);
			file->opens = 0;
			file->is_on_record = false;
		}
	forget_closed(true);
}

static void closed_held(const struct segment *segment, int watch)
{
	for (int i = 0; i < BUCKETS && files.held; i++)
		for (struct written *file = files.buckets[i]; file; file = file->next)
			if (file->held >= 0 && file->watch == watch)
				closed(segment, file);
	forget_closed(true);
}

static void apply_event(const struct segment *segment, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		lose_all(segment);
	if (!(event->mask & IN_CLOSE_WRITE))
		return;
	if (!event->len)
		closed_held(segment, event->wd);
	for (struct written *file = event->len ? *bucket_of(event->name) : NULL; file;
	     file = file->next)
		if (file->held < 0 && file->watch == event->wd &&
		    strcmp(path_base(file->path), event->name) == 0)
			closed(segment, file);
}

static void read_events(const struct segment *segment)
{
	_Alignas(struct inotify_event) char events[EVENTS_BYTES];
	ssize_t got;

	while (files.events >= 0 && (got = sys_read(files.events, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(events + at);
			apply_event(segment, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	cross_boundary(segment);
}

/* ---- for others ---- */

int written_descriptor(void)
{
	(void)pthread_mutex_lock(&files.lock);
	if (!files.is_made)
		files.events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	files.is_made = true;
	(void)pthread_mutex_unlock(&files.lock);
	return files.events;
}

void written_opens(const struct keeper *keeper, const char *path, const struct pack_state *found)
{
	uint64_t ino = found ? found->ino : 0;
	struct pack_state state;

	(void)pthread_mutex_lock(&files.lock);
	read_events(keeper->segment); /* of those that were opened before */
	struct written *file = *find(path);
	if (!file)
		file = add(path);
	if (file) {
		if (!ino && file->opens && state_of(file, &state))
			ino = file->ino; /* another call made it since it was looked for */
		if (file->ino && file->ino != ino) { /* another file had the name before */
			file->opens = 0;
			file->is_on_record = false;
		}
		if (!file->opens)
			file->is_continued = found && keep_is_as_left(found);
		file->is_new = !found || (file->is_new && file->opens);
		file->ino = ino;
		file->watch = watch_directory(path);
		openers_note(&file->openers, keeper->pid);
		file->opens++;
		file->pending++;
		file->process = keeper->process;
		file->pid = keeper->pid;
		file->boundary = __atomic_load_n(&keeper->segment->header->undo_boundary,
						 __ATOMIC_RELAXED);
	}
	(void)pthread_mutex_unlock(&files.lock);
}

/* An open has ended.  Closes of which the kernel made one event are over where nothing has the file open any more. */
static void complete(struct written *file)
{
	struct pack_state state;

	if (file->pending)
		file->pending--;
	if (file->pending || !file->is_unsure)
		return;
	if (!state_of(file, &state) || !is_open_by_any(file, &state))
		file->opens = 0;
	file->is_unsure = false;
}

void written_opens_not(const struct segment *segment, const char *path)
{
	(void)pthread_mutex_lock(&files.lock);
	read_events(segment);
	struct written **at = find(path);
	if (*at)
		complete(*at);
	if (*at && (*at)->opens && --(*at)->opens == 0 && !(*at)->is_on_record)
		drop(at);
	(void)pthread_mutex_unlock(&files.lock);
}

void written_opened(const struct segment *segment, const char *path, uint64_t ino)
{
	(void)pthread_mutex_lock(&files.lock);
	read_events(segment);
	struct written *file = *find(path);
	if (file && file->opens && !file->ino) {
		struct pack_state state;
		file->ino = ino;
		if (file->is_new && state_of(file, &state)) /* there is nothing to go back to */
			kept_note(segment, kept_key(&state));
	}
	if (file)
		complete(file);
	if (file && file->opens && file->watch < 0) { /* its close will not be seen */
		record_unknown(segment, file);
		file->opens = 0;
	}
	(void)pthread_mutex_unlock(&files.lock);
}

bool written_is_open(const struct segment *segment, const char *path)
{
	(void)pthread_mutex_lock(&files.lock);
	read_events(segment);
	const struct written *file = *find(path);
	bool is_open = file && file->opens;
	(void)pthread_mutex_unlock(&files.lock);
	return is_open;
}

/* Adds a file by another name to a list of those that are to have one. */
static struct written *moved_new(const struct written *file, const char *path, struct written *list)
{
	struct written *moved = malloc(sizeof(*moved) + strlen(path) + 1);

	if (!moved) /* how it is left is not known then */
		return list;
	*moved = *file;
	strcpy(moved->path, path);
	moved->next = list;
	return moved;
}

/* Takes the files at and below a name from the table, to be those of another name. */
static struct written *rename_below(const char *from, const char *to, struct written *list)
{
	char path[PATH_MAX];

	for (int i = 0; i < BUCKETS; i++)
		for (struct written **at = &files.buckets[i]; *at;) {
			struct written *file = *at;
			const char *rest = path_below(file->path, from);
			if (!rest || !file->opens || file->held >= 0 ||
			    snprintf(path, sizeof(path), "%s%s", to, rest) >= (int)sizeof(path)) {
				at = &file->next;
				continue;
			}
			if (!*rest)
				file->watch = watch_directory(path);
			struct written *more = moved_new(file, path, list);
			if (more != list) /* it has them now */
				file->openers.pids = NULL;
			list = more;
			drop(at);
		}
	return list;
}

static void store_moved(struct written *list)
{
	while (list) {
		struct written *moved = list;
		list = moved->next;
		struct written **taken = find(moved->path);
		if (*taken) /* what was there goes */
			drop(taken);
		struct written *file = add(moved->path);
		if (file) {
			moved->next = file->next;
			*file = *moved; /* but for the path, which it has */
		} else {
			openers_free(&moved->openers);
		}
		free(moved);
	}
}

/* A name is about to go.  A file that has others is watched itself: that tells each close of it, by any name. */
static void hold(const char *path)
{
	struct written *file = *find(path);
	struct pack_state state;
	char own[PROC_PATH_BYTES];
	bool is_open = file && file->opens && file->ino && files.held < HELD_MAX;
	int watch = -1, fd = is_open ? sys_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0) : -1;

	if (fd < 0)
		return;
	file->held = fd;
	files.held++;
	subject_path(SUBJECT_SELF, fd, own);
	if (state_of(file, &state) && state.nlink > 1 && is_open_by_any(file, &state))
		watch = inotify_add_watch(files.events, own, IN_CLOSE_WRITE);
	if (watch < 0)
		release(file);
	else
		file->watch = watch;
}

void written_goes(const struct segment *segment, const char *path)
{
	(void)pthread_mutex_lock(&files.lock);
	read_events(segment);
	hold(path);
	(void)pthread_mutex_unlock(&files.lock);
}

void written_moves(const struct segment *segment, const char *from, const char *to, bool exchanges)
{
	(void)pthread_mutex_lock(&files.lock);
	read_events(segment);
	if (!exchanges)
		hold(to);
	struct written *list = rename_below(from, to, NULL);
	store_moved(exchanges ? rename_below(to, from, list) : list);
	(void)pthread_mutex_unlock(&files.lock);
}

void written_tend(const struct segment *segment)
{
	(void)pthread_mutex_lock(&files.lock);
	read_events(segment);
	(void)pthread_mutex_unlock(&files.lock);
}

/* Is a file open whose close an event will tell? */
static bool is_any_awaited(void)
{
	struct pack_state state;

	for (int i = 0; i < BUCKETS; i++)
		for (const struct written *file = files.buckets[i]; file; file = file->next)
			if (file->opens && file->watch >= 0 && state_of(file, &state))
				return true;
	return false;
}

/* Linux 6.11 lets go of a process's filter before it closes what that has open. */
static void await_closes(const struct segment *segment)
{
	struct pollfd events = { .fd = files.events, .events = POLLIN };
	uint64_t end_ns = sys_boottime_ns() + WAIT_MS * UINT64_C(1000000);

	do
		read_events(segment);
	while (is_any_awaited() && sys_boottime_ns() < end_ns && poll(&events, 1, WAIT_MS) > 0);
}

void written_finish(const struct segment *segment)
{
	(void)pthread_mutex_lock(&files.lock);
	await_closes(segment);
	for (int i = 0; i < BUCKETS; i++)
		for (struct written *file = files.buckets[i]; file; file = file->next) {
			if (file->opens && !file->is_on_record)
				record_unknown(segment, file);
			file->opens = 0;
		}
	(void)pthread_mutex_unlock(&files.lock);
}
