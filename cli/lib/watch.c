/* The watcher: see watch.h. */
#include "cli/lib/watch.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/lib/living.h"
#include "cli/lib/message.h"
#include "tracker/baseline.h"
#include "tracker/file.h"
#include "tracker/guard.h"
#include "tracker/path.h"
#include "tracker/process.h"
#include "tracker/sys.h"
#include "tracker/version.h"

#define MILLISECOND_NS UINT64_C(1000000)

enum {
	TURN_MS = 20,         /* while something is to be looked at soon */
	IDLE_MS = 200,        /* else */
	LOOKS_MS = 20,        /* looks of one turn take so long at most, or one look */
	LAST_LOOKS_MS = 2000, /* those of a turn at the end of the run */
	SCAN_SLOTS = 32768,   /* of the table of files, in one turn */
	GHOSTS_MS = 500,      /* between looks at what has ended */
	RETRY_MS = 200,       /* a folder that is not there */
	POLL_MS = 500,        /* files whose folder is not watched */
	POLL_FILES = 1024,    /* of these, in one go */
	UNQUIET = 50, /* a file that is never left alone is looked at after so many times quiet_ms */
	LIVING_MS = 100,     /* the list of processes is so old at most where that is good enough */
	HELD_MS = 250,       /* one that a process of the session holds open to write to it */
	UNSETTLED_MS = 300,  /* one whose first read is too young to be a baseline ... */
	UNSETTLED_LOOKS = 5, /* ... so often, then what is there is taken for it */
	SLACK_MS = 2000,     /* between an event and what the session's process says of it */
	EMPTY_MS = 500,      /* a file that is empty now, or gone, is so still */
	PATIENCE = 2,        /* looks at what a living process left unfinished */
	NEW_FILES_MAX = 1024, /* at once */
	NAMES_MAX = 4096, /* of one folder; in one that holds more, new files are not looked for */
	ALIASES_MAX = 1024, /* files that are looked at to find another name of one */
	GHOSTS_MAX = 256,
	EVENTS_BYTES = 65536,
	READS_MAX = 64,  /* of the descriptor, in one turn */
	LAST_ROUNDS = 4, /* at the end of the run */
};

static const uint32_t EVENTS = IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO |
			       IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |
			       IN_DONT_FOLLOW;
static const uint32_t NAMES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
static const uint32_t NONE = UINT32_MAX;

/* From a key, never 0, to a number.  Nothing is taken out. */
struct map {
	uint64_t *keys;
	uint32_t *values;
	size_t capacity, used; /* a power of two */
};

/* A folder that holds files which are looked at, or one above it in the workspace. */
struct folder {
	char *path;
	size_t path_bytes;
	int wd;            /* -1: not watched */
	bool holds;        /* files that are looked at */
	bool listed;       /* the names in it are in watch.names */
	uint64_t retry_ns; /* not watched: to be tried again then */
};

/* When a name is to be looked at. */
struct due {
	uint64_t at_ns;    /* 0: not */
	uint64_t first_ns; /* of the events since the last look */
	bool suspect;      /* it was looked at, and is to be found so once more */
	unsigned looks;    /* that came to nothing */
	struct version suspected;
};

/* A file that some scope has a baseline of. */
struct file {
	uint64_t key;
	char *path;
	uint32_t folder;
	bool excluded;
	bool known;          /* what follows is what it was at the last look */
	struct version seen; /* none: there was no such file */
	uint32_t edits;
	uint64_t looked_realtime_ns, looked_ns;
	uint64_t holder; /* serial of a process of the session that had it open then to write to it; 0: there was none */
	struct stamp stamp;
	struct due due;
};

/* A name that appeared in a folder, or went, and that nobody has a baseline of. */
struct fresh {
	uint64_t key;
	char *path;
	bool was_there;                     /* before it went */
	uint64_t seen_realtime_ns, seen_ns; /* its first event */
	struct due due;
};

struct baseline {
	uint64_t key;
	struct version version;
};

/* A program that was not observed and has ended. */
struct ghost {
	uint64_t serial;
	uint64_t gone_ns; /* when that was noticed */
};

struct watch {
	const struct session *session;
	const struct segment *segment;
	struct journal *journal;
	pid_t left_out;
	int fd; /* inotify; -1: not made yet, or it could not be */
	bool tried, polls, said;
	uint64_t quiet_ns;
	uint64_t pid_ns;

	struct folder *folders;
	size_t folder_count, folder_capacity;
	struct file *files;
	size_t file_count, file_capacity;
	struct fresh *fresh;
	size_t fresh_count;
	struct map file_by_key, folder_by_key, folder_by_wd;
	struct map names; /* of the files in listed folders; value 1: it is there */

	uint64_t scan_at;       /* next slot of the table; 0: no round is under way */
	uint64_t files_changed; /* as of the beginning of that round */
	bool overflowed;
	bool has_retries, has_polled;
	size_t pending;
	size_t look_at; /* whose turn it is, where one turn does not suffice */
	uint64_t poll_ns;
	size_t poll_at;

	struct baseline *baselines; /* as of this turn */
	bool has_baselines;         /* asked for in this turn */
	size_t baseline_count, baseline_capacity;
	struct living_list living; /* as of living_ns */
	uint64_t living_ns;
	struct ghost ghosts[GHOSTS_MAX];
	size_t ghost_count;
	uint64_t ghosts_ns;
};

/* ---- tables ---- */

static uint64_t mixed(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return key ^ (key >> 29);
}

static size_t map_place(const struct map *map, uint64_t key)
{
	size_t at = mixed(key) & (map->capacity - 1);
	while (map->keys[at] && map->keys[at] != key)
		at = (at + 1) & (map->capacity - 1);
	return at;
}

static uint32_t map_get(const struct map *map, uint64_t key)
{
	size_t at = map->capacity ? map_place(map, key) : 0;
	return map->capacity && map->keys[at] ? map->values[at] : NONE;
}

static bool map_grow(struct map *map)
{
	struct map wider = { .capacity = map->capacity ? 2 * map->capacity : 64,
			     .used = map->used };

	wider.keys = calloc(wider.capacity, sizeof(*wider.keys));
	wider.values = calloc(wider.capacity, sizeof(*wider.values));
	if (!wider.keys || !wider.values) {
		free(wider.keys);
		free(wider.values);
		return false;
	}
	for (size_t i = 0; i < map->capacity; i++) {
		size_t at = map->keys[i] ? map_place(&wider, map->keys[i]) : 0;
		if (!map->keys[i])
			continue;
		wider.keys[at] = map->keys[i];
		wider.values[at] = map->values[i];
	}
	free(map->keys);
	free(map->values);
	*map = wider;
	return true;
}

static bool map_put(struct map *map, uint64_t key, uint32_t value)
{
	if (4 * (map->used + 1) > 3 * map->capacity && !map_grow(map))
		return false;
	size_t at = map_place(map, key);
	map->used += !map->keys[at];
	map->keys[at] = key;
	map->values[at] = value;
	return true;
}

static void map_free(struct map *map)
{
	free(map->keys);
	free(map->values);
}

/* Room for one more item.  Returns the items, NULL: there is none, they are as they were. */
static void *one_more(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
	if (count < *capacity)
		return items;
	size_t more = *capacity ? 2 * *capacity : 32;
	void *moved = reallocarray(items, more, item_bytes);
	if (moved)
		*capacity = more;
	return moved;
}

/* ---- when to look ---- */

/* Something happened to a name: it is looked at when it has been left alone. */
static void touch(const struct watch *watch, struct due *due, uint64_t now_ns)
{
	if (!due->at_ns || due->suspect || due->looks)
		due->first_ns = now_ns;
	due->suspect = false;
	due->looks = 0;
	due->at_ns = now_ns + watch->quiet_ns;
	uint64_t latest = due->first_ns + UNQUIET * watch->quiet_ns;
	if (due->at_ns > latest)
		due->at_ns = latest;
}

static void look_now(struct due *due, uint64_t now_ns)
{
	if (!due->at_ns || due->at_ns > now_ns)
		*due = (struct due){ .at_ns = now_ns, .first_ns = now_ns };
}

static void look_later(struct due *due, uint64_t when_ns)
{
	due->looks++;
	due->at_ns = when_ns;
}

static void look_while_held(struct due *due, uint64_t now_ns)
{
	look_later(due, now_ns + HELD_MS * MILLISECOND_NS * (due->looks < 8 ? due->looks + 1 : 8));
}

static void look_no_more(struct due *due)
{
	*due = (struct due){ .at_ns = 0 };
}

/* ---- folders ---- */

static void say_once(struct watch *watch, const char *why)
{
	if (!watch->said)
		message("not all folders can be watched (%s); files there are looked at twice a "
			"second",
			why);
	watch->said = true;
}

/* The descriptor is made with the first folder. */
static bool has_descriptor(struct watch *watch)
{
	if (watch->fd >= 0 || watch->tried)
		return watch->fd >= 0;
	watch->tried = true;
	if (watch->polls)
		return false;
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0)
		say_once(watch, errno == EMFILE ? "the limit of descriptors or inotify instances"
						: strerror(errno));
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
		folder->listed = ++names <= NAMES_MAX &&
				 path_normalize(folder->path, entry->d_name, path, sizeof(path)) >
					 0 &&
				 map_put(&watch->names, path_key(watch->segment, path), 1);
	}
	(void)closedir(stream);
}

static void look_at_folder(struct watch *watch, uint32_t index, uint64_t now_ns)
{
	for (size_t i = 0; i < watch->file_count; i++)
		if (watch->files[i].folder == index && !watch->files[i].excluded)
			look_now(&watch->files[i].due, now_ns);
}

static void attach(struct watch *watch, uint32_t index, uint64_t now_ns)
{
	struct folder *folder = &watch->folders[index];

	folder->retry_ns = now_ns + RETRY_MS * MILLISECOND_NS;
	if (!has_descriptor(watch))
		return;
	int wd = inotify_add_watch(watch->fd, folder->path, EVENTS);
	if (wd < 0) {
		if (errno == ENOSPC || errno == ENOMEM) {
			say_once(watch, errno == ENOSPC ? "the limit of inotify watches"
							: strerror(errno));
			folder->retry_ns = now_ns + 10 * RETRY_MS * MILLISECOND_NS;
		}
		return;
	}
	uint32_t other = map_get(&watch->folder_by_wd, (uint64_t)wd);
	if (other != NONE && other != index && watch->folders[other].wd == wd) {
		/* One folder by two names: events are told of one. */
		folder->retry_ns = now_ns + 10 * RETRY_MS * MILLISECOND_NS;
		return;
	}
	if (!map_put(&watch->folder_by_wd, (uint64_t)wd, index)) {
		(void)inotify_rm_watch(watch->fd, wd);
		return;
	}
	if (folder->wd == wd)
		return;
	folder->wd = wd;
	if (folder->holds)
		list_folder(watch, folder);
	/* A change may have come before. */
	look_at_folder(watch, index, now_ns);
}

/* The folder is no longer at its path, or may be another one. */
static void detach(struct watch *watch, struct folder *folder, uint64_t now_ns)
{
	if (folder->wd >= 0)
		(void)inotify_rm_watch(watch->fd, folder->wd);
	folder->wd = -1;
	folder->listed = false;
	folder->retry_ns = now_ns;
}

/* Finds or adds a folder of the workspace and those above it: one that is renamed takes all below it with it.  Returns its
 * index, or NONE. */
static uint32_t folder_at(struct watch *watch, const char *path, size_t path_bytes)
{
	char copy[SEGMENT_PATH_BYTES];

	for (size_t bytes = path_bytes; bytes > 0 && bytes < sizeof(copy); bytes--) {
		if (bytes != path_bytes && path[bytes] != '/')
			continue;
		memcpy(copy, path, bytes);
		copy[bytes] = '\0';
		if (!path_in_workspace(watch->segment, copy))
			break;
		uint64_t key = path_key(watch->segment, copy);
		if (map_get(&watch->folder_by_key, key) != NONE)
			break;
		void *items = one_more(watch->folders, watch->folder_count, &watch->folder_capacity,
				       sizeof(*watch->folders));
		if (!items)
			break;
		watch->folders = items;
		uint32_t index = (uint32_t)watch->folder_count;
		struct folder folder = { .path = strdup(copy), .path_bytes = bytes, .wd = -1 };
		if (!folder.path || !map_put(&watch->folder_by_key, key, index)) {
			free(folder.path);
			break;
		}
		watch->folders[watch->folder_count++] = folder;
		watch->has_retries = true;
	}
	if (path_bytes >= sizeof(copy))
		return NONE;
	memcpy(copy, path, path_bytes);
	copy[path_bytes] = '\0';
	return map_get(&watch->folder_by_key, path_key(watch->segment, copy));
}

/* ---- files ---- */

static uint64_t sum_quiet(const struct watch *watch, uint64_t now_ns)
{
	return now_ns + watch->quiet_ns;
}

/* A file with a baseline, or with an unfinished write, is in the table of the session. */
static void add_file(struct watch *watch, const struct file_slot *slot, uint64_t now_ns)
{
	char path[SEGMENT_PATH_BYTES];
	const struct segment *segment = watch->segment;
	int length = file_path(segment, slot, path, sizeof(path));
	void *items = one_more(watch->files, watch->file_count, &watch->file_capacity,
			       sizeof(*watch->files));

	if (length <= 0 || !items)
		return;
	watch->files = items;
	struct file file = { .key = slot->key, .path = strdup(path), .folder = NONE };
	uint32_t index = (uint32_t)watch->file_count;
	if (!file.path || !map_put(&watch->file_by_key, file.key, index)) {
		free(file.path);
		return;
	}
	file.excluded = !path_is_tracked(segment, path) ||
			path_matches_list(segment, segment->settings->watch_exclude, path);
	watch->files[watch->file_count++] = file;
	if (file.excluded || segment->settings->watch_mode == WATCH_MODE_OFF)
		return;
	const char *slash = strrchr(path, '/');
	uint32_t folder = folder_at(watch, path,
				    slash && slash > path ? (size_t)(slash - path) : 1);
	struct file *added = &watch->files[index];
	added->folder = folder;
	if (folder != NONE && !watch->folders[folder].holds) {
		watch->folders[folder].holds = true;
		if (watch->folders[folder].wd >= 0)
			list_folder(watch, &watch->folders[folder]);
	}
	look_now(&added->due, now_ns);
}

/* One slot of the table of files. */
static void scan_slot(struct watch *watch, uint64_t at, uint64_t now_ns)
{
	const struct file_slot *slot = segment_slot(watch->segment, TABLE_FILES, at);
	uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
	struct file_slot copy;

	if (!key)
		return;
	bool unfinished = __atomic_load_n(&slot->writer, __ATOMIC_RELAXED) != 0;
	if (!unfinished && !(__atomic_load_n(&slot->flags, __ATOMIC_RELAXED) & FILE_HAS_BASELINE))
		return;
	uint32_t index = map_get(&watch->file_by_key, key);
	if (index == NONE) {
		if (slot_read(slot, &copy, sizeof(copy)) && copy.key == key)
			add_file(watch, &copy, now_ns);
		index = map_get(&watch->file_by_key, key);
	}
	if (unfinished && index != NONE && !watch->files[index].due.at_ns)
		watch->files[index].due = (struct due){ .at_ns = sum_quiet(watch, now_ns),
							.first_ns = now_ns };
}

/* Goes through the table of files, some of it at a time.  whole: all of it, now. */
static void scan(struct watch *watch, bool whole, uint64_t now_ns)
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
		scan_slot(watch, watch->scan_at++, now_ns);
	if (watch->scan_at >= capacity)
		watch->scan_at = 0;
}

/* ---- events ---- */

static bool is_below(const char *path, const char *folder, size_t folder_bytes)
{
	return strncmp(path, folder, folder_bytes) == 0 &&
	       (path[folder_bytes] == '/' || path[folder_bytes] == '\0');
}

/* A folder came, went or was renamed: what lies below its name is other than it was. */
static void folder_changed(struct watch *watch, const char *path, uint64_t now_ns)
{
	size_t bytes = strlen(path);

	for (size_t i = 0; i < watch->folder_count; i++)
		if (is_below(watch->folders[i].path, path, bytes))
			detach(watch, &watch->folders[i], now_ns);
	for (size_t i = 0; i < watch->file_count; i++)
		if (!watch->files[i].excluded && is_below(watch->files[i].path, path, bytes))
			touch(watch, &watch->files[i].due, now_ns);
	watch->has_retries = true;
}

static void drop_fresh(struct watch *watch, size_t index)
{
	free(watch->fresh[index].path);
	watch->fresh[index] = watch->fresh[--watch->fresh_count];
}

/* A name that nobody has a baseline of came or went. */
static void name_changed(struct watch *watch, const char *path, uint64_t key, uint64_t now_ns)
{
	for (size_t i = 0; i < watch->fresh_count; i++)
		if (watch->fresh[i].key == key) {
			touch(watch, &watch->fresh[i].due, now_ns);
			return;
		}
	if (watch->fresh_count == NEW_FILES_MAX || !path_is_tracked(watch->segment, path) ||
	    path_matches_list(watch->segment, watch->segment->settings->watch_exclude, path))
		return;
	if (!watch->fresh)
		watch->fresh = calloc(NEW_FILES_MAX, sizeof(*watch->fresh));
	if (!watch->fresh)
		return;
	struct fresh *fresh = &watch->fresh[watch->fresh_count];
	*fresh = (struct fresh){ .key = key,
				 .path = strdup(path),
				 .was_there = map_get(&watch->names, key) == 1,
				 .seen_realtime_ns = sys_realtime_ns(),
				 .seen_ns = now_ns };
	if (!fresh->path)
		return;
	touch(watch, &fresh->due, now_ns);
	watch->fresh_count++;
}

static void file_touched(struct watch *watch, struct file *file, uint32_t mask, uint64_t now_ns)
{
	uint32_t knows;

	if (file->excluded)
		return;
	touch(watch, &file->due, now_ns);
	/* Nobody will say what came of it: the sooner that is known the better. */
	if ((mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) &&
	    guard_unfinished(watch->segment, file->key, &knows))
		file->due.at_ns = now_ns + MILLISECOND_NS;
}

static void on_event(struct watch *watch, const struct inotify_event *event, uint64_t now_ns)
{
	char path[SEGMENT_PATH_BYTES];

	if (event->mask & IN_Q_OVERFLOW) {
		watch->overflowed = true;
		return;
	}
	uint32_t index = map_get(&watch->folder_by_wd, (uint64_t)event->wd);
	if (index == NONE || watch->folders[index].wd != event->wd)
		return;
	struct folder *folder = &watch->folders[index];
	if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		if (event->mask & IN_IGNORED)
			folder->wd = -1;
		folder_changed(watch, folder->path, now_ns);
		return;
	}
	if (event->len == 0 || path_normalize(folder->path, event->name, path, sizeof(path)) < 0)
		return;
	if (event->mask & IN_ISDIR) {
		if (event->mask & NAMES)
			folder_changed(watch, path, now_ns);
		return;
	}
	uint64_t key = path_key(watch->segment, path);
	uint32_t file = map_get(&watch->file_by_key, key);
	if (file != NONE)
		file_touched(watch, &watch->files[file], event->mask, now_ns);
	else if ((event->mask & NAMES) && folder->listed)
		name_changed(watch, path, key, now_ns);
}

static void read_events(struct watch *watch, uint64_t now_ns)
{
	static _Alignas(struct inotify_event) char bytes[EVENTS_BYTES];

	for (int i = 0; watch->fd >= 0 && i < READS_MAX; i++) {
		ssize_t got = read(watch->fd, bytes, sizeof(bytes));
		if (got <= 0)
			break;
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(const void *)(bytes + at);
			on_event(watch, event, now_ns);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	if (!watch->overflowed)
		return;
	/* Events were lost: of any folder and any file. */
	watch->overflowed = false;
	for (uint32_t i = 0; i < watch->folder_count; i++) {
		detach(watch, &watch->folders[i], now_ns);
		attach(watch, i, now_ns);
	}
	for (size_t i = 0; i < watch->file_count; i++)
		if (!watch->files[i].excluded)
			touch(watch, &watch->files[i].due, now_ns);
}

static void retry_folders(struct watch *watch, uint64_t now_ns)
{
	watch->has_retries = watch->has_polled = false;
	for (uint32_t i = 0; i < watch->folder_count; i++) {
		struct folder *folder = &watch->folders[i];
		if (folder->wd < 0 && !watch->polls && folder->retry_ns <= now_ns)
			attach(watch, i, now_ns);
		watch->has_retries = watch->has_retries || folder->wd < 0;
		watch->has_polled = watch->has_polled || (folder->wd < 0 && folder->holds);
	}
}

/* Looks at stamps where nothing tells of changes. */
static void poll_files(struct watch *watch, uint64_t now_ns)
{
	size_t looks = POLL_FILES;

	if (!watch->has_polled || now_ns < watch->poll_ns)
		return;
	for (size_t i = 0; i < watch->file_count && looks > 0; i++) {
		struct file *file = &watch->files[watch->poll_at++ % watch->file_count];
		struct stat stat;
		if (file->folder == NONE || file->excluded || watch->folders[file->folder].wd >= 0)
			continue;
		looks--;
		struct stamp stamp = { 0 };
		if (sys_stat(file->path, &stat) == 0 && S_ISREG(stat.st_mode))
			stamp = stamp_of(&stat);
		if (stamp_equal(&stamp, &file->stamp))
			continue;
		file->stamp = stamp;
		touch(watch, &file->due, now_ns);
	}
	watch->poll_ns = now_ns + POLL_MS * MILLISECOND_NS;
}

/* What a look is allowed to put off. */
enum phase {
	PHASE_RUNS,
	PHASE_ENDS, /* the run is over: as little as can be */
	PHASE_LAST, /* nothing */
};

/* ---- what is there ---- */

/* What a name stands for now. */
struct sight {
	struct version version; /* none: no regular file */
	struct stat stat;       /* of it */
};

/* Returns 0, or a negative errno: it cannot be told; -EAGAIN: it is being changed. */
static int look_at(const struct watch *watch, const char *path, struct sight *ret_sight)
{
	struct content content;
	struct stat after;

	*ret_sight = (struct sight){ .version = { 0 } };
	int error = sys_stat(path, &ret_sight->stat);
	if (error == -ENOENT || error == -ENOTDIR || error == -ELOOP)
		return 0;
	if (error < 0)
		return error;
	if (!S_ISREG(ret_sight->stat.st_mode))
		return 0;
	/* A lease, or what replaced it meanwhile, is not waited for. */
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd == -ENOENT ? -EAGAIN : fd;
	error = sys_fstat(fd, &ret_sight->stat);
	if (error == 0)
		error = S_ISREG(ret_sight->stat.st_mode)
				? content_of_descriptor(
					  fd, watch->segment->settings->content_max_file_bytes,
					  &content)
				: -EAGAIN;
	if (error == 0)
		error = sys_fstat(fd, &after);
	(void)sys_close(fd);
	if (error < 0)
		return error;
	struct stamp first = stamp_of(&ret_sight->stat), last = stamp_of(&after);
	ret_sight->version = content.version;
	return stamp_equal(&first, &last) ? 0 : -EAGAIN;
}

static uint64_t changed_realtime_ns(const struct stat *stat)
{
	return (uint64_t)stat->st_ctim.tv_sec * 1000000000u + (uint64_t)stat->st_ctim.tv_nsec;
}

static int compare_baselines(const void *a, const void *b)
{
	const struct baseline *one = a, *other = b;
	return one->key < other->key ? -1 : one->key > other->key;
}

static int take_baseline(uint64_t scope_id, uint64_t file_key, const struct version *version,
			 void *data)
{
	struct watch *watch = data;
	void *items = one_more(watch->baselines, watch->baseline_count, &watch->baseline_capacity,
			       sizeof(*watch->baselines));

	(void)scope_id;
	if (!items)
		return 1;
	watch->baselines = items;
	watch->baselines[watch->baseline_count++] = (struct baseline){ file_key, *version };
	return 0;
}

/* Is that version one that a scope takes the file for?  ret_any: one of those, if there are any. */
static bool is_baseline(struct watch *watch, uint64_t key, const struct version *version,
			struct version *ret_any)
{
	size_t low = 0, high;
	bool found = false;

	*ret_any = (struct version){ 0 };
	if (!watch->has_baselines) {
		watch->has_baselines = true;
		watch->baseline_count = 0;
		(void)baseline_each(watch->segment, take_baseline, watch);
		if (watch->baseline_count)
			qsort(watch->baselines, watch->baseline_count, sizeof(*watch->baselines),
			      compare_baselines);
	}
	for (high = watch->baseline_count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (watch->baselines[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < watch->baseline_count && watch->baselines[low].key == key; low++) {
		*ret_any = watch->baselines[low].version;
		found = found || version_equal(&watch->baselines[low].version, version);
	}
	return found;
}

static bool is_same_file(const char *path, const struct stat *stat)
{
	struct stat other;
	return sys_stat(path, &other) == 0 && other.st_dev == stat->st_dev &&
	       other.st_ino == stat->st_ino;
}

static bool stat_folder_of(const char *path, struct stat *ret_stat)
{
	char folder[SEGMENT_PATH_BYTES];
	const char *slash = strrchr(path, '/');
	size_t bytes = slash && slash > path ? (size_t)(slash - path) : 1;

	if (bytes >= sizeof(folder))
		return false;
	memcpy(folder, path, bytes);
	folder[bytes] = '\0';
	return sys_stat(folder, ret_stat) == 0;
}

/* Did a process of the session change the file by another name, or a folder above it, since then?  That is noted under the name
 * that it used. */
static bool is_noted_elsewhere(const struct watch *watch, const char *path,
			       const struct sight *sight, uint64_t since_realtime_ns)
{
	const struct segment *segment = watch->segment;
	char other[SEGMENT_PATH_BYTES];
	struct stat folder, other_folder;
	bool exists = !version_is_none(&sight->version);
	bool has_folder = !exists && stat_folder_of(path, &folder);
	int looks = ALIASES_MAX;

	for (uint64_t i = 0; i < segment->capacity[TABLE_FILES] && looks > 0; i++) {
		const struct file_slot *slot = segment_slot(segment, TABLE_FILES, i);
		struct file_slot copy;
		if (!__atomic_load_n(&slot->key, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&slot->last_edit_realtime_ns, __ATOMIC_RELAXED) <
			    since_realtime_ns ||
		    !slot_read(slot, &copy, sizeof(copy)))
			continue;
		int bytes = file_path(segment, &copy, other, sizeof(other));
		if (bytes <= 0 || strcmp(other, path) == 0)
			continue;
		if (is_below(path, other, (size_t)bytes))
			return true;
		looks--;
		if (exists ? is_same_file(other, &sight->stat)
			   : (has_folder && strcmp(path_base(other), path_base(path)) == 0 &&
			      stat_folder_of(other, &other_folder) &&
			      folder.st_dev == other_folder.st_dev &&
			      folder.st_ino == other_folder.st_ino))
			return true;
	}
	return false;
}

/* ---- whose a change is ---- */

/* Programs that nobody observed and that have ended, and when that was noticed: they may have made a change before. */
static void note_ghosts(struct watch *watch, uint64_t now_ns)
{
	const struct segment *segment = watch->segment;

	if (now_ns < watch->ghosts_ns)
		return;
	watch->ghosts_ns = now_ns + GHOSTS_MS * MILLISECOND_NS;
	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		const struct process_slot *slot = segment_slot(segment, TABLE_PROCESSES, i);
		struct process_slot copy;
		bool noted = false;
		if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) != PROCESS_ANNOUNCED)
			continue;
		uint64_t serial = __atomic_load_n(&slot->serial, __ATOMIC_RELAXED);
		for (size_t j = 0; j < watch->ghost_count && !noted; j++)
			noted = watch->ghosts[j].serial == serial;
		if (noted || !process_read(segment, i, &copy) || copy.state != PROCESS_ANNOUNCED ||
		    !process_is_gone(&copy))
			continue;
		/* Where there are more, the oldest gives way, and is taken for one that has only just ended. */
		if (watch->ghost_count == GHOSTS_MAX)
			memmove(watch->ghosts, watch->ghosts + 1,
				--watch->ghost_count * sizeof(*watch->ghosts));
		watch->ghosts[watch->ghost_count++] = (struct ghost){ serial, now_ns };
	}
}

enum unobserved {
	UNOBSERVED_NO,
	UNOBSERVED_STARTING, /* one is about to say that it is observed, or never will */
	UNOBSERVED_YES,
};

/* May a program of the session that nobody observes have changed something since then? */
static enum unobserved lived_unobserved(const struct watch *watch, uint64_t since_ns,
					uint64_t now_ns)
{
	const struct segment *segment = watch->segment;
	enum unobserved found = UNOBSERVED_NO;

	if (segment_counter(segment, COUNTER_lost_processes) || guard_lives_unobserved(segment))
		return UNOBSERVED_YES;
	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		const struct process_slot *slot = segment_slot(segment, TABLE_PROCESSES, i);
		struct process_slot copy;
		if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) != PROCESS_ANNOUNCED ||
		    !process_read(segment, i, &copy) || copy.state != PROCESS_ANNOUNCED)
			continue;
		uint64_t gone_ns = now_ns;
		for (size_t j = 0; j < watch->ghost_count; j++)
			if (watch->ghosts[j].serial == copy.serial)
				gone_ns = watch->ghosts[j].gone_ns;
		if (gone_ns < since_ns)
			continue;
		if (copy.pid && process_is_gone(&copy))
			return UNOBSERVED_YES;
		if (now_ns - copy.time_ns < UINT64_C(1000000000))
			found = UNOBSERVED_STARTING;
	}
	return found;
}

static void write_record(struct watch *watch, enum journal_op op, const char *path, uint32_t flags,
			 enum source source, uint32_t tid, const struct version *before,
			 const struct sight *sight)
{
	struct journal_record record = journal_blank(op);
	struct journal_details details = { .dev = sight->stat.st_dev,
					   .ino = sight->stat.st_ino,
					   .size_bytes = sight->version.size_bytes,
					   .before = *before,
					   .after = sight->version };

	if (!watch->journal->header || !path_is_recorded(watch->segment, true, path))
		return;
	record.tid = tid;
	record.path = journal_text(watch->journal, path, strlen(path), true);
	record.flags = flags;
	record.decision = (uint8_t)source;
	record.marks = JOURNAL_DETAILS;
	record.amount = sight->version.size_bytes;
	(void)journal_write(watch->journal, &record, &details, sizeof(details), true);
}

/* The file is known as it is now. */
static void settle(struct file *file, const struct file_slot *slot, const struct sight *sight,
		   uint64_t now_ns)
{
	file->known = true;
	file->seen = sight->version;
	file->edits = slot->edits;
	file->looked_ns = now_ns;
	file->looked_realtime_ns = sys_realtime_ns();
	file->stamp = (struct stamp){ 0 };
	if (!version_is_none(&sight->version))
		file->stamp = stamp_of(&sight->stat);
	look_no_more(&file->due);
}

enum hold {
	HOLD_NONE,
	HOLD_OPEN,    /* a process of the session may write to it at any moment */
	HOLD_CHANGED, /* it is no longer what was seen */
};

/* May the session's processes still change what was seen? */
static enum hold hold_of(struct watch *watch, const char *path, const struct sight *sight)
{
	struct sight again;

	if (version_is_none(&sight->version))
		return HOLD_NONE;
	living_take(watch->session, watch->left_out, &watch->living);
	watch->living_ns = sys_boottime_ns();
	if (living_writer(&watch->living, sight->stat.st_dev, sight->stat.st_ino))
		return HOLD_OPEN;
	/* One that closed it a moment ago may have written after it was seen. */
	bool same = look_at(watch, path, &again) == 0 &&
		    version_equal(&again.version, &sight->version);
	return same ? HOLD_NONE : HOLD_CHANGED;
}

static void look_when_free(const struct watch *watch, struct due *due, enum hold hold,
			   uint64_t now_ns)
{
	if (hold == HOLD_OPEN)
		look_while_held(due, now_ns);
	else
		look_later(due, sum_quiet(watch, now_ns));
}

static bool find_process(const struct segment *segment, uint64_t serial,
			 struct process_slot *ret_process)
{
	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		const struct process_slot *slot = segment_slot(segment, TABLE_PROCESSES, i);
		if (__atomic_load_n(&slot->serial, __ATOMIC_RELAXED) == serial &&
		    process_read(segment, i, ret_process) && ret_process->serial == serial)
			return true;
	}
	return false;
}

/* Serial of the program that runs in a process, UINT64_MAX where it has no slot. */
static uint64_t serial_of(const struct segment *segment, uint32_t pid)
{
	uint64_t serial = UINT64_MAX, newest_ns = 0;
	struct process_slot copy;

	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		const struct process_slot *slot = segment_slot(segment, TABLE_PROCESSES, i);
		if (__atomic_load_n(&slot->pid, __ATOMIC_RELAXED) != pid ||
		    !process_read(segment, i, &copy) || copy.pid != pid || copy.time_ns < newest_ns)
			continue;
		newest_ns = copy.time_ns;
		serial = copy.serial;
	}
	return serial;
}

/* After a change by the session: has another of its processes the file open still, so that the next change may be its own?  The slot
 * has room for one writer alone. */
static void note_holder(struct watch *watch, struct file *file, const struct sight *sight,
			uint64_t now_ns)
{
	file->holder = 0;
	if (version_is_none(&sight->version))
		return;
	if (!watch->living.items || now_ns - watch->living_ns > LIVING_MS * MILLISECOND_NS) {
		living_take(watch->session, watch->left_out, &watch->living);
		watch->living_ns = now_ns;
	}
	uint32_t pid = living_writer(&watch->living, sight->stat.st_dev, sight->stat.st_ino);
	if (pid)
		file->holder = serial_of(watch->segment, pid);
}

/* Says for a process of the session what came of its write.  serial: of its slot. */
static void end_write(struct watch *watch, struct file *file, const struct file_slot *slot,
		      const struct sight *sight, uint64_t serial, uint32_t knows, uint64_t now_ns)
{
	struct process_slot process = { .pid = 0 };

	(void)find_process(watch->segment, serial, &process);
	struct guard_writer writer = { .scope_id = baseline_scope(&process.context, NULL),
				       .serial = serial,
				       .context = &process.context,
				       .role = process.context.role };
	struct file_slot after = *slot;
	if (file->known && version_equal(&file->seen, &sight->version)) {
		guard_cancel(watch->segment, &writer, file->key);
	} else {
		guard_end(watch->segment, &writer, file->key, &sight->version, knows);
		write_record(watch, JOURNAL_EDITED, file->path, 0,
			     guard_source(writer.context, writer.role), process.pid,
			     file->known ? &file->seen : &slot->written, sight);
		(void)file_find(watch->segment, file->key, &after);
	}
	note_holder(watch, file, sight, now_ns);
	settle(file, &after, sight, now_ns);
}

/* A process of the session writes to the file, or has left without a word: says it for it when it is done. */
static void finish(struct watch *watch, struct file *file, const struct file_slot *slot,
		   const struct sight *sight, enum phase phase, uint64_t now_ns)
{
	struct process_slot process;
	uint32_t knows;

	enum hold hold = hold_of(watch, file->path, sight);
	if (hold != HOLD_NONE && phase == PHASE_LAST) {
		look_no_more(&file->due);
		return;
	}
	if (hold != HOLD_NONE) {
		look_when_free(watch, &file->due, hold, now_ns);
		return;
	}
	/* One that lives is about to say it. */
	if (phase != PHASE_LAST && file->due.looks < PATIENCE &&
	    find_process(watch->segment, slot->writer, &process) &&
	    process.state == PROCESS_ATTACHED && !process_is_gone(&process)) {
		look_later(&file->due, sum_quiet(watch, now_ns));
		return;
	}
	if (guard_unfinished(watch->segment, file->key, &knows) != slot->writer)
		look_later(&file->due, sum_quiet(watch, now_ns));
	else
		end_write(watch, file, slot, sight, slot->writer, knows, now_ns);
}

/* A change that nobody said anything about, of a file that a process of the session had open: the session's own.  False: it had not. */
static bool finish_for_holder(struct watch *watch, struct file *file, const struct file_slot *slot,
			      const struct sight *sight, enum phase phase, uint64_t now_ns)
{
	bool edited = slot->edits != file->edits;

	if (!file->known || !file->holder || version_is_none(&sight->version))
		return false;
	enum hold hold = hold_of(watch, file->path, sight);
	if (hold != HOLD_NONE && phase != PHASE_LAST) {
		look_when_free(watch, &file->due, hold, now_ns);
		return true;
	}
	bool ours = !version_is_none(&slot->written) &&
		    (edited || version_equal(&file->seen, &slot->written));
	end_write(watch, file, slot, sight, file->holder, ours ? GUARD_KNEW : 0, now_ns);
	return true;
}

/* Is what is there the session's own, or known already? */
static bool is_known(struct watch *watch, const struct file *file, const struct file_slot *slot,
		     const struct sight *sight, struct version *ret_baseline)
{
	const struct version *version = &sight->version;
	bool none = version_is_none(version);
	bool edited = file->known ? slot->edits != file->edits
				  : slot->edits && (slot->source == SOURCE_AGENT ||
						    slot->source == SOURCE_TOOL);
	bool baseline = is_baseline(watch, file->key, version, ret_baseline) && !none;

	if (none ? (slot->flags & FILE_REMOVED) != 0 : version_equal(version, &slot->written))
		return true;
	if (file->known && !edited && version_equal(version, &file->seen))
		return true;
	/* Nobody touched it since the session's last word.  What that was is not told where it wrote over somebody else's
	 * change. */
	if (edited && !none && changed_realtime_ns(&sight->stat) <= slot->last_edit_realtime_ns)
		return true;
	/* A write that was not guarded (it is not to be, or the file is too large): all that is known of it is that it was begun. */
	if (!edited && file->known && slot->last_edit_realtime_ns > file->looked_realtime_ns)
		return true;
	if (!edited && !file->known && !none &&
	    changed_realtime_ns(&sight->stat) <=
		    slot->last_edit_realtime_ns + SLACK_MS * MILLISECOND_NS)
		return true;
	/* What comes behind the session's own version is a change, though it be an old version that comes back. */
	if (edited || (file->known && !version_is_none(&slot->written) &&
		       version_equal(&file->seen, &slot->written)))
		return false;
	if (none)
		return !file->known && version_is_none(&slot->outside) &&
		       (slot->source == SOURCE_USER || slot->source == SOURCE_UNATTRIBUTED);
	return baseline || version_equal(version, &slot->outside);
}

struct outside {
	const struct version *version;
	enum source source;
	uint32_t edits;
	uint64_t since_realtime_ns; /* what was told before is another change */
	bool *ret_stale;            /* a process of the session came first */
	bool *ret_told;             /* another run told it already */
};

static void note_outside(struct file_slot *file, const void *data)
{
	const struct outside *outside = data;
	bool is_outside = file->source == SOURCE_USER || file->source == SOURCE_UNATTRIBUTED;

	*outside->ret_stale = file->edits != outside->edits || file->writer;
	*outside->ret_told = is_outside && version_equal(&file->outside, outside->version) &&
			     file->user_edit_realtime_ns >= outside->since_realtime_ns;
	if (*outside->ret_stale || *outside->ret_told)
		return;
	file_note_outside(file, outside->version, outside->source, sys_realtime_ns());
	file->flags &= ~(uint32_t)FILE_REMOVED;
}

/* Somebody else's change. */
static void report(struct watch *watch, struct file *file, const struct file_slot *slot,
		   const struct sight *sight, enum source source, const struct version *baseline,
		   uint64_t now_ns)
{
	bool stale = false, told = false, none = version_is_none(&sight->version);
	struct outside outside = { .version = &sight->version,
				   .source = source,
				   .edits = slot->edits,
				   .since_realtime_ns = file->known ? file->looked_realtime_ns : 0,
				   .ret_stale = &stale,
				   .ret_told = &told };
	const struct version *before = file->known ? &file->seen : baseline;

	if (file_change_known(watch->segment, file->key, note_outside, &outside) < 0 || stale) {
		look_later(&file->due, sum_quiet(watch, now_ns));
		return;
	}
	if (!told) {
		uint32_t flags = none ? JOURNAL_CHANGED_DELETED : 0;
		if (!none && file->known && version_is_none(&file->seen))
			flags = JOURNAL_CHANGED_ADDED;
		segment_count(watch->segment, COUNTER_edits_outside, 1);
		write_record(watch, JOURNAL_CHANGED, file->path, flags, source, 0, before, sight);
	}
	file->holder = 0;
	settle(file, slot, sight, now_ns);
}

/* Is the same found for the second time, with quiet_ms between?  A process of the session may be between a call and what it says
 * of it. */
static bool is_confirmed(const struct watch *watch, struct due *due, const struct version *version,
			 uint64_t now_ns)
{
	if (due->suspect && version_equal(&due->suspected, version))
		return true;
	due->suspect = true;
	due->suspected = *version;
	/* An empty file, or none, is what there is for a moment where one is written anew, and that may take long (a truncation waits
	 * for what is being written to the disk). */
	due->at_ns = now_ns + EMPTY_MS * MILLISECOND_NS;
	if (version->size_bytes || due->at_ns < sum_quiet(watch, now_ns))
		due->at_ns = sum_quiet(watch, now_ns);
	return false;
}

/* Whose is a change that no process of the session owns to?  since_ns: it came later.  False: not to be told yet; `due` says
 * when. */
static bool find_source(struct watch *watch, const char *path, struct due *due,
			const struct sight *sight, uint64_t since_ns, enum phase phase,
			uint64_t now_ns, enum source *ret_source)
{
	bool last = phase == PHASE_LAST;

	if (!is_confirmed(watch, due, &sight->version, now_ns) && !last)
		return false;
	enum hold hold = hold_of(watch, path, sight);
	if (hold != HOLD_NONE && !last) {
		look_when_free(watch, due, hold, now_ns);
		return false;
	}
	enum unobserved unobserved = lived_unobserved(watch, since_ns, now_ns);
	if (unobserved == UNOBSERVED_STARTING && !last) {
		look_later(due, sum_quiet(watch, now_ns));
		return false;
	}
	*ret_source = hold == HOLD_OPEN || unobserved != UNOBSERVED_NO ? SOURCE_UNATTRIBUTED
								       : SOURCE_USER;
	return true;
}

static void look_at_file(struct watch *watch, struct file *file, enum phase phase, uint64_t now_ns)
{
	struct file_slot before, slot;
	struct sight sight;
	struct version baseline;
	enum source source;

	if (file_find(watch->segment, file->key, &before) < 0) {
		/* The table gave its place away; it comes back when it is read again. */
		file->known = false;
		look_no_more(&file->due);
		return;
	}
	int error = look_at(watch, file->path, &sight);
	if (error == -EAGAIN || (error == 0 && file_find(watch->segment, file->key, &slot) < 0)) {
		look_later(&file->due, sum_quiet(watch, now_ns));
		return;
	}
	if (error < 0) { /* too large, or not to be read: nothing can be said */
		look_no_more(&file->due);
		return;
	}
	if (before.edits != slot.edits || before.writer != slot.writer ||
	    before.last_edit_realtime_ns != slot.last_edit_realtime_ns) {
		look_later(&file->due, sum_quiet(watch, now_ns));
		return;
	}
	if (slot.writer) {
		finish(watch, file, &slot, &sight, phase, now_ns);
		return;
	}
	if (file->excluded || watch->segment->settings->watch_mode == WATCH_MODE_OFF ||
	    is_known(watch, file, &slot, &sight, &baseline)) {
		/* It may have closed it meanwhile. */
		if (file->known && (slot.edits != file->edits || file->holder) && !file->excluded)
			note_holder(watch, file, &sight, now_ns);
		settle(file, &slot, &sight, now_ns);
		return;
	}
	if (finish_for_holder(watch, file, &slot, &sight, phase, now_ns))
		return;
	if (!file->known && version_is_none(&baseline) && slot.edits == 0) {
		/* What was read first is too young to count. */
		if (file->due.looks < UNSETTLED_LOOKS && phase == PHASE_RUNS)
			look_later(&file->due, now_ns + UNSETTLED_MS * MILLISECOND_NS);
		else
			settle(file, &slot, &sight, now_ns);
		return;
	}
	uint64_t since_realtime_ns = file->known ? file->looked_realtime_ns - watch->quiet_ns
						 : (slot.last_read_realtime_ns >
								    slot.last_edit_realtime_ns
							    ? slot.last_read_realtime_ns
							    : slot.last_edit_realtime_ns);
	if (is_noted_elsewhere(watch, file->path, &sight, since_realtime_ns)) {
		settle(file, &slot, &sight, now_ns);
		return;
	}
	if (find_source(watch, file->path, &file->due, &sight,
			file->known ? file->looked_ns : slot.last_read_ns, phase, now_ns,
			&source)) {
		/* Processes of the session that are only supervised may have written it both at once, of whom one was heard. */
		if (file->known && slot.edits != file->edits &&
		    segment_counter(watch->segment, COUNTER_processes_supervised))
			source = SOURCE_UNATTRIBUTED;
		report(watch, file, &slot, &sight, source, &baseline, now_ns);
	}
}

/* A name that nobody has a baseline of.  Returns whether it is done with. */
static bool look_at_fresh(struct watch *watch, struct fresh *fresh, enum phase phase,
			  uint64_t now_ns)
{
	static const struct version NOTHING;
	struct file_slot slot;
	struct sight sight;
	enum source source;

	if (map_get(&watch->file_by_key, fresh->key) != NONE)
		return true;
	int error = look_at(watch, fresh->path, &sight);
	if (error == -EAGAIN && phase != PHASE_LAST) {
		look_later(&fresh->due, sum_quiet(watch, now_ns));
		return false;
	}
	if (error < 0)
		return true;
	bool exists = !version_is_none(&sight.version);
	(void)map_put(&watch->names, fresh->key, exists);
	if (!exists || fresh->was_there)
		return true;
	uint64_t since_realtime_ns = fresh->seen_realtime_ns - SLACK_MS * MILLISECOND_NS;
	if ((file_find(watch->segment, fresh->key, &slot) == 0 &&
	     slot.last_edit_realtime_ns >= since_realtime_ns) ||
	    is_noted_elsewhere(watch, fresh->path, &sight, since_realtime_ns))
		return true;
	if (!find_source(watch, fresh->path, &fresh->due, &sight, fresh->seen_ns - watch->quiet_ns,
			 phase, now_ns, &source))
		return false;
	segment_count(watch->segment, COUNTER_edits_outside, 1);
	write_record(watch, JOURNAL_CHANGED, fresh->path, JOURNAL_CHANGED_ADDED, source, 0,
		     &NOTHING, &sight);
	return true;
}

/* Looks at what has been left alone long enough, and, when the run is over, at all that is to be looked at. */
static void look(struct watch *watch, enum phase phase, uint64_t start_ns)
{
	uint64_t now_ns = start_ns;
	uint64_t end_ns = start_ns +
			  (phase == PHASE_RUNS ? LOOKS_MS : LAST_LOOKS_MS) * MILLISECOND_NS;
	size_t first = watch->look_at;

	watch->pending = 0;
	watch->has_baselines = false;
	for (size_t i = 0; i < watch->file_count; i++) {
		struct file *file = &watch->files[(first + i) % watch->file_count];
		if (!file->due.at_ns)
			continue;
		if ((phase != PHASE_RUNS || file->due.at_ns <= now_ns) && now_ns < end_ns) {
			look_at_file(watch, file, phase, now_ns);
			now_ns = sys_boottime_ns();
			if (now_ns >= end_ns) /* the next one is the first in the next turn */
				watch->look_at = (size_t)(file - watch->files) + 1;
		}
		watch->pending += file->due.at_ns != 0;
	}
	for (size_t i = 0; i < watch->fresh_count;) {
		struct fresh *fresh = &watch->fresh[i];
		bool done = (phase != PHASE_RUNS || fresh->due.at_ns <= now_ns) &&
			    now_ns < end_ns && look_at_fresh(watch, fresh, phase, now_ns);
		if (done)
			drop_fresh(watch, i);
		else
			i++;
		now_ns = sys_boottime_ns();
	}
	watch->pending += watch->fresh_count;
}

/* ---- from outside ---- */

struct watch *watch_start(const struct session *session, struct journal *journal)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->session = session;
	watch->segment = &session->segment;
	watch->journal = journal;
	watch->fd = -1;
	watch->polls = watch->segment->settings->watch_mode != WATCH_MODE_AUTO;
	watch->quiet_ns = watch->segment->settings->watch_quiet_ms * MILLISECOND_NS;
	return watch;
}

void watch_leave_out(struct watch *watch, pid_t pid)
{
	if (watch)
		watch->left_out = pid;
}

/* Is any file on record? */
static bool is_anything_tracked(const struct watch *watch)
{
	return __atomic_load_n(&watch->segment->header->files_changed, __ATOMIC_RELAXED) != 0;
}

unsigned watch_tick(struct watch *watch)
{
	if (!watch || !is_anything_tracked(watch))
		return IDLE_MS;
	uint64_t now_ns = sys_boottime_ns();
	/* All of it at the first time: the files of a session that is resumed are looked at at once. */
	scan(watch, !watch->files_changed, now_ns);
	if (!watch->file_count)
		return watch->scan_at ? TURN_MS : IDLE_MS;
	note_ghosts(watch, now_ns);
	if (watch->has_retries)
		retry_folders(watch, now_ns);
	read_events(watch, now_ns);
	poll_files(watch, now_ns);
	look(watch, PHASE_RUNS, now_ns);
	return watch->pending || watch->scan_at ? TURN_MS : IDLE_MS;
}

int watch_descriptor(const struct watch *watch)
{
	/* While something is open, what comes is read at every turn. */
	return watch && !watch->pending ? watch->fd : -1;
}

void watch_end(struct watch *watch)
{
	if (!watch)
		return;
	if (is_anything_tracked(watch)) {
		struct timespec pause = { .tv_nsec = (long)(watch->quiet_ns % 1000000000u) };
		if (watch->quiet_ns > 100 * MILLISECOND_NS)
			pause.tv_nsec = 100 * MILLISECOND_NS;
		scan(watch, true, sys_boottime_ns());
		read_events(watch, sys_boottime_ns());
		look(watch, PHASE_ENDS, sys_boottime_ns());
		/* What asks for a second look gets it; what is not told by then is told as it is. */
		for (int i = 0; i < LAST_ROUNDS && watch->pending; i++) {
			(void)nanosleep(&pause, NULL);
			read_events(watch, sys_boottime_ns());
			look(watch, i < LAST_ROUNDS - 1 ? PHASE_ENDS : PHASE_LAST,
			     sys_boottime_ns());
		}
	}
	if (watch->fd >= 0)
		(void)close(watch->fd);
	for (size_t i = 0; i < watch->folder_count; i++)
		free(watch->folders[i].path);
	for (size_t i = 0; i < watch->file_count; i++)
		free(watch->files[i].path);
	for (size_t i = 0; i < watch->fresh_count; i++)
		free(watch->fresh[i].path);
	map_free(&watch->file_by_key);
	map_free(&watch->folder_by_key);
	map_free(&watch->folder_by_wd);
	map_free(&watch->names);
	free(watch->folders);
	free(watch->files);
	free(watch->fresh);
	free(watch->baselines);
	free(watch->living.items);
	free(watch);
}
