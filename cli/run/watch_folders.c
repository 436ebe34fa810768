/* Which files the watcher looks at, and what the kernel tells of them: see watch_state.h. */
#include "cli/run/watch_folders.h"

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
	RETRY_MS = 200,     /* a folder that is not there */
	LIMITED_MS = 2000,  /* one that cannot be watched */
	POLL_MS = 500,      /* files whose folder is not watched */
	POLL_FILES = 1024,  /* of these, in one go */
	FRESH_MAX = 1024,   /* at once */
	NAMES_MAX = 4096, /* of one folder; in one that holds more, new files are not looked for */
	EVENTS_BYTES = 65536,
	READS_MAX = 64, /* of the descriptor, in one turn */
};

static const uint32_t EVENTS = IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO |
			       IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |
			       IN_DONT_FOLLOW;
static const uint32_t NAMES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

/* A watch descriptor, or a name in a listed folder. */
struct item {
	uint64_t key; /* first: trees are ordered by it */
	struct folder *folder;
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

void folders_free(struct watch *watch)
{
	tdestroy(watch->folder_by_key, free_none);
	tdestroy(watch->folder_by_wd, free);
	tdestroy(watch->names, free);
	for (size_t i = 0; i < watch->folder_count; i++) {
		free(watch->folders[i]->path);
		free(watch->folders[i]);
	}
	while (watch->file_count)
		file_forget(watch, watch->file_count - 1);
	free(watch->folders);
	free(watch->files);
}

/* ---- folders ---- */

static void say_once(struct watch *watch, const char *why)
{
	if (!watch->said && !watch->quiet)
		message("not all folders can be watched (%s); files there are looked at twice a "
			"second",
			why);
	watch->said = true;
}

/* The descriptor is made with the first folder. */
static bool has_descriptor(struct watch *watch)
{
	bool watches = watch->segment->settings->watch_mode == WATCH_MODE_AUTO;

	if (watch->fd < 0 && !watch->tried && watches) {
		watch->tried = true;
		watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (watch->fd < 0)
			say_once(watch, errno == EMFILE
						? "the limit of descriptors or inotify instances"
						: strerror(errno));
	}
	return watch->fd >= 0;
}

/* The names in a folder, so that a file can be told that is new there. */
static void list_folder(struct watch *watch, struct folder *folder)
{
	char path[SEGMENT_PATH_BYTES];
	unsigned names = 0;
	DIR *stream = folder->listed ? NULL : opendir(folder->path);

	if (!stream)
		return;
	folder->listed = true;
	for (struct dirent *entry; folder->listed && (entry = readdir(stream));) {
		if (entry->d_type == DT_DIR)
			continue;
		folder->listed = ++names <= NAMES_MAX && path_normalize(folder->path, entry->d_name,
									path, sizeof(path)) > 0;
		if (folder->listed)
			names_note(watch, path_key(watch->segment, path), true);
	}
	(void)closedir(stream);
}

static void attach(struct watch *watch, struct folder *folder)
{
	folder->retry_ns = sys_boottime_ns() + RETRY_MS * MILLISECOND_NS;
	if (!has_descriptor(watch))
		return;
	int wd = inotify_add_watch(watch->fd, folder->path, EVENTS);
	if (wd < 0) {
		if (errno != ENOSPC && errno != ENOMEM)
			return;
		say_once(watch, errno == ENOSPC ? "the limit of inotify watches" : strerror(errno));
		folder->retry_ns = sys_boottime_ns() + LIMITED_MS * MILLISECOND_NS;
		return;
	}
	struct item *item = item_of(&watch->folder_by_wd, (uint64_t)wd);
	if (item && item->folder && item->folder->wd == wd) {
		/* One folder by two names: events are told of one. */
		folder->retry_ns = sys_boottime_ns() + LIMITED_MS * MILLISECOND_NS;
		return;
	}
	if (!item) {
		(void)inotify_rm_watch(watch->fd, wd);
		return;
	}
	item->folder = folder;
	folder->wd = wd;
	if (folder->holds)
		list_folder(watch, folder);
	/* A change may have come before. */
	for (size_t i = 0; i < watch->file_count; i++)
		if (watch->files[i]->folder == folder)
			look_now(watch->files[i]);
}

/* The folder is no longer at its path, or may be another one. */
static void detach(struct watch *watch, struct folder *folder)
{
	if (folder->wd >= 0)
		(void)inotify_rm_watch(watch->fd, folder->wd);
	folder->wd = -1;
	folder->listed = false;
	folder->retry_ns = 0;
	watch->has_retries = true;
}

static struct folder *add_folder(struct watch *watch, const char *path, uint64_t key)
{
	struct folder *folder = calloc(1, sizeof(*folder));
	void *folders = one_more(watch->folders, watch->folder_count, &watch->folder_capacity);

	if (folders)
		watch->folders = folders;
	if (folder)
		*folder = (struct folder){ .key = key, .path = strdup(path), .wd = -1 };
	if (!folders || !folder || !folder->path ||
	    !tsearch(folder, &watch->folder_by_key, compare)) {
		if (folder)
			free(folder->path);
		free(folder);
		return NULL;
	}
	watch->folders[watch->folder_count++] = folder;
	watch->has_retries = true;
	return folder;
}

/* The folder of a file of the workspace, and those above it: one that is renamed takes all below it with it.  NULL: none. */
static struct folder *folder_of(struct watch *watch, const char *path)
{
	char copy[SEGMENT_PATH_BYTES];
	struct folder *lowest = NULL;

	(void)strcpy(copy, path);
	for (char *slash; (slash = strrchr(copy, '/'));) {
		slash[slash == copy] = '\0';
		if (!path_in_workspace(watch->segment, copy))
			break;
		uint64_t key = path_key(watch->segment, copy);
		struct folder *folder = find(&watch->folder_by_key, key);
		bool is_new = !folder;
		if (is_new)
			folder = add_folder(watch, copy, key);
		lowest = lowest ? lowest : folder;
		if (!is_new || !folder || slash == copy)
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
static void take_file(struct watch *watch, const struct file_slot *slot)
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
	file->folder = folder_of(watch, path);
	if (file->folder && !file->folder->holds) {
		file->folder->holds = true;
		if (file->folder->wd >= 0)
			list_folder(watch, file->folder);
	}
	look_now(file);
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
	struct file *file = find(&watch->file_by_key, key);
	if ((!file || file->fresh) && slot_read(slot, &copy, sizeof(copy)) && copy.key == key)
		take_file(watch, &copy);
	file = find(&watch->file_by_key, key);
	if (unfinished && file && !file->due_ns)
		look_soon(watch, file);
}

void folders_scan(struct watch *watch, bool whole)
{
	uint64_t capacity = watch->segment->capacity[TABLE_FILES];
	uint64_t slots = whole ? capacity : SCAN_SLOTS;

	if (whole)
		watch->scan_at = 0;
	if (!watch->scan_at) {
		uint64_t changed = __atomic_load_n(&watch->segment->header->files_changed,
						   __ATOMIC_RELAXED);
		if (!whole && changed == watch->files_changed)
			return;
		watch->files_changed = changed;
	}
	for (; slots > 0 && watch->scan_at < capacity; slots--)
		scan_slot(watch, watch->scan_at++);
	if (watch->scan_at >= capacity)
		watch->scan_at = 0;
}

/* ---- events ---- */

static bool is_below(const char *path, const char *folder, size_t folder_bytes)
{
	return strncmp(path, folder, folder_bytes) == 0 &&
	       (path[folder_bytes] == '/' || path[folder_bytes] == '\0');
}

/* A folder went or was renamed: what lies below its name is other than it was. */
static void folder_changed(struct watch *watch, const char *path)
{
	size_t bytes = strlen(path);

	for (size_t i = 0; i < watch->folder_count; i++)
		if (is_below(watch->folders[i]->path, path, bytes))
			detach(watch, watch->folders[i]);
	for (size_t i = 0; i < watch->file_count; i++)
		if (watch->files[i]->folder && is_below(watch->files[i]->path, path, bytes))
			look_soon(watch, watch->files[i]);
}

/* A name that nobody has a baseline of came or went. */
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
	file->looked_ns = sys_boottime_ns();
	file->looked_realtime_ns = sys_realtime_ns();
	look_soon(watch, file);
}

static void file_touched(struct watch *watch, struct file *file, uint32_t mask)
{
	uint32_t knows;

	look_soon(watch, file);
	/* Nobody may say what came of it: what somebody else does to it afterwards is to be told from that. */
	if ((mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) &&
	    guard_unfinished(watch->segment, file->key, &knows))
		look_now(file);
}

/* Events were lost: of any folder and any file. */
static void overflowed(struct watch *watch)
{
	for (size_t i = 0; i < watch->folder_count; i++)
		detach(watch, watch->folders[i]);
	for (size_t i = 0; i < watch->file_count; i++)
		if (watch->files[i]->folder)
			look_soon(watch, watch->files[i]);
}

static void on_event(struct watch *watch, const struct inotify_event *event)
{
	char path[SEGMENT_PATH_BYTES];

	if (event->mask & IN_Q_OVERFLOW) {
		overflowed(watch);
		return;
	}
	struct item *item = find(&watch->folder_by_wd, (uint64_t)event->wd);
	struct folder *folder = item ? item->folder : NULL;
	if (!folder || folder->wd != event->wd)
		return;
	if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		if (event->mask & IN_IGNORED)
			folder->wd = -1;
		folder_changed(watch, folder->path);
		return;
	}
	if ((event->mask & IN_ISDIR) || event->len == 0 ||
	    path_normalize(folder->path, event->name, path, sizeof(path)) < 0)
		return;
	uint64_t key = path_key(watch->segment, path);
	struct file *file = find(&watch->file_by_key, key);
	if (file && !file->excluded)
		file_touched(watch, file, event->mask);
	else if (!file && (event->mask & NAMES) && folder->listed)
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

static void retry_folders(struct watch *watch)
{
	uint64_t now_ns = sys_boottime_ns();

	watch->has_retries = watch->has_polled = false;
	for (size_t i = 0; i < watch->folder_count; i++) {
		struct folder *folder = watch->folders[i];
		if (folder->wd < 0 && folder->retry_ns <= now_ns)
			attach(watch, folder);
		watch->has_retries = watch->has_retries || folder->wd < 0;
		watch->has_polled = watch->has_polled || (folder->wd < 0 && folder->holds);
	}
}

/* Looks at stamps where nothing tells of changes. */
static void poll_files(struct watch *watch)
{
	size_t looks = POLL_FILES;
	uint64_t now_ns = sys_boottime_ns();

	if (!watch->has_polled || now_ns < watch->poll_ns)
		return;
	for (size_t i = 0; i < watch->file_count && looks > 0; i++) {
		struct file *file = watch->files[watch->poll_at++ % watch->file_count];
		struct stat stat;
		if (!file->folder || file->folder->wd >= 0)
			continue;
		looks--;
		struct stamp stamp = { 0 };
		if (sys_stat(file->path, &stat) == 0 && S_ISREG(stat.st_mode))
			stamp = stamp_of(&stat);
		if (stamp_equal(&stamp, &file->stamp))
			continue;
		file->stamp = stamp;
		look_soon(watch, file);
	}
	watch->poll_ns = now_ns + POLL_MS * MILLISECOND_NS;
}

void folders_events(struct watch *watch)
{
	if (watch->has_retries)
		retry_folders(watch);
	read_events(watch);
	poll_files(watch);
}
