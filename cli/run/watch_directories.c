/* Which files the watcher inspects, and what the kernel reports of them: see watch_state.h. */
#include "cli/run/watch_directories.h"

#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/run/watch_due.h"
#include "cli/run/watch_state.h"
#include "tracker/content/file.h"
#include "tracker/guard/guard.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	SCAN_SLOTS = 32768, /* of the table of files, in one turn */
	RETRY_MS = 200,     /* a directory that is not there */
	LIMITED_MS = 2000,  /* one that cannot be watched */
	POLL_MS = 500,      /* files whose directory is not watched */
	POLL_FILES = 1024,  /* of these, in one go */
	FRESH_MAX = 1024,   /* at once */
	/* of one directory; in one that holds more, new files are not looked for */
	NAMES_MAX = 4096,
	EVENTS_BYTES = 65536,
	READS_MAX = 64, /* of the descriptor, in one turn */
};

static const uint32_t EVENTS = IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO |
			       IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |
			       IN_DONT_FOLLOW;
static const uint32_t NAMES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

/* A watch descriptor, or a name in a listed directory. */
struct item {
	uint64_t key; /* first: trees are ordered by it */
	struct directory *directory;
	bool is_there;
};

/* ---- tables ---- */

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
	return one < other ? -1 : one > other;
}

static void *find(void *const *tree, uint64_t key)
{
	void *node = tfind(&key, tree, compare);
	return node ? *(void **)node : NULL;
}

/* The item of a key, made where there is none; NULL: no memory. */
static struct item *item_of(void **tree, uint64_t key)
{
	struct item *item = find(tree, key);

	if (item || !(item = calloc(1, sizeof(*item))))
		return item;
	item->key = key;
	if (tsearch(item, tree, compare))
		return item;
	free(item);
	return NULL;
}

bool names_has(const struct watch *watch, uint64_t key)
{
	const struct item *name = find(&watch->names, key);
	return name && name->is_there;
}

void names_note(struct watch *watch, uint64_t key, bool is_there)
{
	struct item *name = item_of(&watch->names, key);
	if (name)
		name->is_there = is_there;
}

/* Room for one more pointer.  Returns the pointers, NULL: there is none, they are as they were. */
static void *one_more(void *items, size_t count, size_t *capacity)
{
	if (count < *capacity)
		return items;
	size_t more = *capacity ? 2 * *capacity : 32;
	void *moved = reallocarray(items, more, sizeof(void *));
	if (moved)
		*capacity = more;
	return moved;
}

void file_forget(struct watch *watch, size_t index)
{
	struct file *file = watch->files[index];

	(void)tdelete(file, &watch->file_by_key, compare);
	watch->fresh_count -= file->fresh;
	watch->files[index] = watch->files[--watch->file_count];
	free(file->path);
	free(file);
}

static void free_none(void *item)
{
	(void)item;
}

void directories_free(struct watch *watch)
{
	tdestroy(watch->directory_by_key, free_none);
	tdestroy(watch->directory_by_wd, free);
	tdestroy(watch->names, free);
	for (size_t i = 0; i < watch->directory_count; i++) {
		free(watch->directories[i]->path);
		free(watch->directories[i]);
	}
	while (watch->file_count)
		file_forget(watch, watch->file_count - 1);
	free(watch->directories);
	free(watch->files);
	free(watch->file_by_slot);
}

/* ---- directories ---- */

static void warn_once(struct watch *watch, const char *why)
{
	if (!watch->said && !watch->quiet)
		message("not all directories can be watched (%s); files there are inspected twice "
			"a "
			"second",
			why);
	watch->said = true;
}

/* The descriptor is made with the first directory. */
static bool has_descriptor(struct watch *watch)
{
	bool watches = watch->segment->settings->watch_mode == WATCH_MODE_AUTO;

	if (watch->fd < 0 && !watch->tried && watches) {
		watch->tried = true;
		watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (watch->fd < 0)
			warn_once(watch, errno == EMFILE
						 ? "the limit of descriptors or inotify instances"
						 : strerror(errno));
	}
	return watch->fd >= 0;
}

/* The names in a directory, so that a new file there is recognized. */
static void list_directory(struct watch *watch, struct directory *directory)
{
	char path[SEGMENT_PATH_BYTES];
	unsigned names = 0;
	DIR *stream = directory->listed ? NULL : opendir(directory->path);

	if (!stream)
		return;
	directory->listed = true;
	for (struct dirent *entry; directory->listed && (entry = readdir(stream));) {
		if (entry->d_type == DT_DIR)
			continue;
		directory->listed = ++names <= NAMES_MAX &&
				    path_normalize(directory->path, entry->d_name, path,
						   sizeof(path)) > 0;
		if (directory->listed)
			names_note(watch, path_key(watch->segment, path), true);
	}
	(void)closedir(stream);
}

static void attach(struct watch *watch, struct directory *directory)
{
	directory->retry_ns = sys_boottime_ns() + RETRY_MS * MILLISECOND_NS;
	if (!has_descriptor(watch))
		return;
	int wd = inotify_add_watch(watch->fd, directory->path, EVENTS);
	if (wd < 0) {
		if (errno != ENOSPC && errno != ENOMEM)
			return;
		warn_once(watch,
			  errno == ENOSPC ? "the limit of inotify watches" : strerror(errno));
		directory->retry_ns = sys_boottime_ns() + LIMITED_MS * MILLISECOND_NS;
		return;
	}
	struct item *item = item_of(&watch->directory_by_wd, (uint64_t)wd);
	if (item && item->directory && item->directory->wd == wd) {
		/* One directory by two names: events are reported of one. */
		directory->retry_ns = sys_boottime_ns() + LIMITED_MS * MILLISECOND_NS;
		return;
	}
	if (!item) {
		(void)inotify_rm_watch(watch->fd, wd);
		return;
	}
	item->directory = directory;
	directory->wd = wd;
	if (directory->holds)
		list_directory(watch, directory);
	/* A change may have come before. */
	for (size_t i = 0; i < watch->file_count; i++)
		if (watch->files[i]->directory == directory)
			due_now(watch->files[i]);
}

/* The directory is no longer at its path, or may be another one. */
static void detach(struct watch *watch, struct directory *directory)
{
	if (directory->wd >= 0)
		(void)inotify_rm_watch(watch->fd, directory->wd);
	directory->wd = -1;
	directory->listed = false;
	directory->retry_ns = 0;
	watch->has_retries = true;
}

static struct directory *add_directory(struct watch *watch, const char *path, uint64_t key)
{
	struct directory *directory = calloc(1, sizeof(*directory));
	void *directories = one_more(watch->directories, watch->directory_count,
				     &watch->directory_capacity);

	if (directories)
		watch->directories = directories;
	if (directory)
		*directory = (struct directory){ .key = key, .path = strdup(path), .wd = -1 };
	if (!directories || !directory || !directory->path ||
	    !tsearch(directory, &watch->directory_by_key, compare)) {
		if (directory)
			free(directory->path);
		free(directory);
		return NULL;
	}
	watch->directories[watch->directory_count++] = directory;
	watch->has_retries = true;
	return directory;
}

/* The directory of a file of the workspace, and those above it: one that is renamed takes all below
 * it with it.  NULL: none. */
static struct directory *directory_of(struct watch *watch, const char *path)
{
	char copy[SEGMENT_PATH_BYTES];
	struct directory *lowest = NULL;

	(void)strcpy(copy, path);
	for (char *slash; (slash = strrchr(copy, '/'));) {
		slash[slash == copy] = '\0';
		if (!path_in_workspace(watch->segment, copy))
			break;
		uint64_t key = path_key(watch->segment, copy);
		struct directory *directory = find(&watch->directory_by_key, key);
		bool is_new = !directory;
		if (is_new)
			directory = add_directory(watch, copy, key);
		lowest = lowest ? lowest : directory;
		if (!is_new || !directory || slash == copy)
			break;
	}
	return lowest;
}

/* ---- files ---- */

static struct file *add_file(struct watch *watch, const char *path, uint64_t key)
{
	struct file *file = calloc(1, sizeof(*file));
	void *files = one_more(watch->files, watch->file_count, &watch->file_capacity);

	if (files)
		watch->files = files;
	if (file)
		*file = (struct file){ .key = key, .path = strdup(path) };
	if (!files || !file || !file->path || !tsearch(file, &watch->file_by_key, compare)) {
		if (file)
			free(file->path);
		free(file);
		return NULL;
	}
	watch->files[watch->file_count++] = file;
	return file;
}

static bool is_excluded(const struct watch *watch, const char *path)
{
	const struct segment *segment = watch->segment;
	return !path_is_tracked(segment, path) ||
	       path_matches_list(segment, segment->settings->watch_exclude, path);
}

/* A file with a baseline, or with an unfinished write, is in the session's table. */
static void track_file(struct watch *watch, const struct file_slot *slot)
{
	char path[SEGMENT_PATH_BYTES];
	struct file *file = find(&watch->file_by_key, slot->key);

	if ((file && !file->fresh) || file_path(watch->segment, slot, path, sizeof(path)) <= 0)
		return;
	if (!file)
		file = add_file(watch, path, slot->key);
	if (!file)
		return;
	watch->fresh_count -= file->fresh;
	file->fresh = false;
	file->excluded = is_excluded(watch, path);
	if (file->excluded || watch->segment->settings->watch_mode == WATCH_MODE_OFF)
		return;
	file->directory = directory_of(watch, path);
	if (file->directory && !file->directory->holds) {
		file->directory->holds = true;
		if (file->directory->wd >= 0)
			list_directory(watch, file->directory);
	}
	due_now(file);
}

static void scan_slot(struct watch *watch, uint64_t at)
{
	const struct file_slot *slot = segment_slot(watch->segment, TABLE_FILES, at);
	uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
	struct file_slot copy;

	if (!key)
		return;
	bool unfinished = __atomic_load_n(&slot->writer, __ATOMIC_RELAXED) != 0;
	if (!unfinished && !(__atomic_load_n(&slot->flags, __ATOMIC_RELAXED) & FILE_HAS_BASELINE))
		return;
	struct file *file = watch->file_by_slot ? watch->file_by_slot[at] : NULL;
	if (!file || file->key != key) {
		if (slot_read(slot, &copy, sizeof(copy)) && copy.key == key)
			track_file(watch, &copy);
		file = find(&watch->file_by_key, key);
		if (file && !file->fresh && watch->file_by_slot)
			watch->file_by_slot[at] = file;
	}
	if (unfinished && file && !file->due_ns)
		due_soon(watch, file);
}

void directories_scan(struct watch *watch, bool whole)
{
	uint64_t capacity = watch->segment->capacity[TABLE_FILES];
	uint64_t slots = whole ? capacity : SCAN_SLOTS;

	if (!watch->file_by_slot)
		watch->file_by_slot = calloc(capacity, sizeof(struct file *));
	if (whole)
		watch->scan_at = 0;
	if (!watch->scan_at) {
		uint64_t changed = __atomic_load_n(&watch->segment->header->files_changed,
						   __ATOMIC_RELAXED);
		if (!whole && changed == watch->files_changed)
			return;
		watch->files_changed = changed;
	}
	for (; slots > 0 && (watch->scan_at = segment_next_used(watch->segment, TABLE_FILES,
								watch->scan_at)) < capacity;
	     slots--)
		scan_slot(watch, watch->scan_at++);
	if (watch->scan_at >= capacity)
		watch->scan_at = 0;
}

/* ---- events ---- */

static bool is_below(const char *path, const char *directory, size_t directory_bytes)
{
	return strncmp(path, directory, directory_bytes) == 0 &&
	       (path[directory_bytes] == '/' || path[directory_bytes] == '\0');
}

/* A directory went or was renamed: what lies below its name is other than it was. */
static void directory_changed(struct watch *watch, const char *path)
{
	size_t bytes = strlen(path);

	for (size_t i = 0; i < watch->directory_count; i++)
		if (is_below(watch->directories[i]->path, path, bytes))
			detach(watch, watch->directories[i]);
	for (size_t i = 0; i < watch->file_count; i++)
		if (watch->files[i]->directory && is_below(watch->files[i]->path, path, bytes))
			due_soon(watch, watch->files[i]);
}

/* A name that no scope has a baseline of came or went. */
static void name_changed(struct watch *watch, const char *path, uint64_t key)
{
	struct file *file = watch->fresh_count < FRESH_MAX && !is_excluded(watch, path)
				    ? add_file(watch, path, key)
				    : NULL;
	if (!file)
		return;
	watch->fresh_count++;
	file->fresh = true;
	file->was_there = names_has(watch, key);
	file->checked_ns = sys_boottime_ns();
	file->checked_realtime_ns = sys_realtime_ns();
	due_soon(watch, file);
}

static void file_touched(struct watch *watch, struct file *file, uint32_t mask)
{
	uint32_t knows;

	due_soon(watch, file);
	/* Its result may never be reported: what an external writer does to it afterwards is to be
	 * told apart from that. */
	if ((mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) &&
	    guard_unfinished(watch->segment, file->key, &knows))
		due_now(file);
}

/* Events were lost: of any directory and any file. */
static void overflowed(struct watch *watch)
{
	for (size_t i = 0; i < watch->directory_count; i++)
		detach(watch, watch->directories[i]);
	for (size_t i = 0; i < watch->file_count; i++)
		if (watch->files[i]->directory)
			due_soon(watch, watch->files[i]);
}

static void on_event(struct watch *watch, const struct inotify_event *event)
{
	char path[SEGMENT_PATH_BYTES];

	if (event->mask & IN_Q_OVERFLOW) {
		overflowed(watch);
		return;
	}
	struct item *item = find(&watch->directory_by_wd, (uint64_t)event->wd);
	struct directory *directory = item ? item->directory : NULL;
	if (!directory || directory->wd != event->wd)
		return;
	if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		if (event->mask & IN_IGNORED)
			directory->wd = -1;
		directory_changed(watch, directory->path);
		return;
	}
	if ((event->mask & IN_ISDIR) || event->len == 0 ||
	    path_normalize(directory->path, event->name, path, sizeof(path)) < 0)
		return;
	uint64_t key = path_key(watch->segment, path);
	struct file *file = find(&watch->file_by_key, key);
	if (file && !file->excluded)
		file_touched(watch, file, event->mask);
	else if (!file && (event->mask & NAMES) && directory->listed)
		name_changed(watch, path, key);
}

static void read_events(struct watch *watch)
{
	static _Alignas(struct inotify_event) char bytes[EVENTS_BYTES];

	watch->is_busy = false;
	for (int i = 0; watch->fd >= 0 && i < READS_MAX; i++) {
		ssize_t got = read(watch->fd, bytes, sizeof(bytes));
		if (got <= 0)
			break;
		watch->is_busy = true;
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(const void *)(bytes + at);
			on_event(watch, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
}

static void retry_directories(struct watch *watch)
{
	uint64_t now_ns = sys_boottime_ns();

	watch->has_retries = watch->has_polled = false;
	for (size_t i = 0; i < watch->directory_count; i++) {
		struct directory *directory = watch->directories[i];
		if (directory->wd < 0 && directory->retry_ns <= now_ns)
			attach(watch, directory);
		watch->has_retries = watch->has_retries || directory->wd < 0;
		watch->has_polled = watch->has_polled || (directory->wd < 0 && directory->holds);
	}
}

/* Inspects stamps where no event reports changes. */
static void poll_files(struct watch *watch)
{
	size_t checks = POLL_FILES;
	uint64_t now_ns = sys_boottime_ns();

	if (!watch->has_polled || now_ns < watch->poll_ns)
		return;
	for (size_t i = 0; i < watch->file_count && checks > 0; i++) {
		struct file *file = watch->files[watch->poll_at++ % watch->file_count];
		struct stat stat;
		if (!file->directory || file->directory->wd >= 0)
			continue;
		checks--;
		struct stamp stamp = { 0 };
		if (sys_stat(file->path, &stat) == 0 && S_ISREG(stat.st_mode))
			stamp = stamp_of(&stat);
		if (stamp_equal(&stamp, &file->stamp))
			continue;
		file->stamp = stamp;
		due_soon(watch, file);
	}
	watch->poll_ns = now_ns + POLL_MS * MILLISECOND_NS;
}

void directories_events(struct watch *watch)
{
	if (watch->has_retries)
		retry_directories(watch);
	read_events(watch);
	poll_files(watch);
}
