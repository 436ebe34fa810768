/* The index of instruction files: see instruction_index.h. */
#include "cli/run/instruction_index.h"

#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "tracker/answer/instruction.h"
#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

enum {
	TURN_MS = 20,    /* while it is being made */
	IDLE_MS = 200,   /* else */
	WORK_MS = 10,    /* of one turn */
	VALID_MS = 1000, /* beyond a turn */
	AGAIN_MS = 2000, /* between two walks */
	DIRECTORIES_MAX = 16384,
	EVENTS_BYTES = 65536,
};

#define MILLISECOND_NS UINT64_C(1000000)

static const uint32_t EVENTS = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
			       IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW;

/* A directory that is watched. */
struct directory {
	int wd; /* first: the tree is ordered by it */
	char path[];
};

struct instruction_index {
	const struct segment *segment;
	int fd;            /* inotify; -1: not made yet */
	void *directories; /* tsearch(3), by wd */
	size_t directory_count;
	char **open; /* directories that are to be gone into; owned */
	size_t open_count, open_capacity;
	uint64_t again_ns; /* the next walk begins then at the earliest */
	bool walks;        /* since the last walk began */
	bool given_up;     /* for this run */
};

static int by_wd(const void *a, const void *b)
{
	int one = *(const int *)a, other = *(const int *)b;
	return (one > other) - (one < other);
}

static struct directory *find(const struct instruction_index *index, int wd)
{
	void *node = tfind(&wd, &index->directories, by_wd);
	return node ? *(struct directory **)node : NULL;
}

static void forget(struct instruction_index *index, struct directory *directory)
{
	(void)tdelete(directory, &index->directories, by_wd);
	index->directory_count--;
	free(directory);
}

/* All that the walk found goes; what the table says stays, and is no longer taken for complete. */
static void drop(struct instruction_index *index)
{
	instruction_index_renew(index->segment, 0);
	tdestroy(index->directories, free);
	index->directories = NULL;
	index->directory_count = 0;
	while (index->open_count)
		free(index->open[--index->open_count]);
	if (index->fd >= 0)
		(void)close(index->fd);
	index->fd = -1;
	index->walks = false;
}

static void abandon(struct instruction_index *index)
{
	drop(index);
	index->given_up = true;
}

/* A directory that is to be gone into. */
static void push(struct instruction_index *index, const char *path)
{
	if (index->open_count == index->open_capacity) {
		size_t capacity = index->open_capacity ? 2 * index->open_capacity : 64;
		char **open = reallocarray(index->open, capacity, sizeof(*open));
		if (!open) {
			abandon(index);
			return;
		}
		index->open = open;
		index->open_capacity = capacity;
	}
	index->open[index->open_count] = strdup(path);
	if (index->open[index->open_count])
		index->open_count++;
	else
		abandon(index);
}

/* Watches a directory.  False: it is gone, or it may not be entered, or the index was given up. */
static bool watch_directory(struct instruction_index *index, const char *path)
{
	int wd = inotify_add_watch(index->fd, path, EVENTS);

	if (wd < 0) {
		/* One that cannot be listed may be gone into by those who know what it holds. */
		bool is_shut = errno == EACCES && access(path, X_OK) < 0;
		if (errno != ENOENT && errno != ENOTDIR && !is_shut)
			abandon(index);
		return false;
	}
	struct directory *directory = find(index, wd);
	if (directory && strcmp(directory->path, path) == 0)
		return true;
	/* One directory by two names: what happens there would be reported of one. */
	if (directory || index->directory_count == DIRECTORIES_MAX) {
		abandon(index);
		return false;
	}
	directory = malloc(sizeof(*directory) + strlen(path) + 1);
	if (directory) {
		directory->wd = wd;
		(void)strcpy(directory->path, path);
	}
	if (!directory || !tsearch(directory, &index->directories, by_wd)) {
		free(directory);
		abandon(index);
		return false;
	}
	index->directory_count++;
	return true;
}

static bool is_directory(int directory, const struct dirent *entry)
{
	struct stat stat;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return sys_fstatat(directory, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(stat.st_mode);
}

static void set_names(struct instruction_index *index, const char *path, uint64_t names)
{
	if (!index->given_up && instruction_index_set(index->segment, path, names) < 0)
		abandon(index);
}

/* Takes what is in a directory. */
static void walk_directory(struct instruction_index *index, const char *path)
{
	char below[SEGMENT_PATH_BYTES];
	uint64_t names = 0;

	/* Watched first: what comes while it is listed is reported. */
	DIR *stream = watch_directory(index, path) ? opendir(path) : NULL;
	if (!stream)
		return;
	for (struct dirent *entry; !index->given_up && (entry = readdir(stream));) {
		names |= instruction_names_bit(index->segment, entry->d_name);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    is_directory(dirfd(stream), entry) &&
		    path_normalize(path, entry->d_name, below, sizeof(below)) > 0 &&
		    !instruction_is_excluded(index->segment, below))
			push(index, below);
	}
	(void)closedir(stream);
	set_names(index, path, names);
}

/* An instruction file came or went: what is there now? */
static void scan_again(struct instruction_index *index, const char *path)
{
	const struct segment *segment = index->segment;
	char file[SEGMENT_PATH_BYTES];
	const char *name = NULL;
	uint64_t names = 0;
	struct stat stat;

	while ((name = segment_text(segment, segment->settings->context_files, name)))
		if (path_normalize(path, name, file, sizeof(file)) > 0 &&
		    sys_fstatat(AT_FDCWD, file, &stat, AT_SYMLINK_NOFOLLOW) == 0)
			names |= instruction_names_bit(segment, name);
	set_names(index, path, names);
}

/* Returns false when the events behind this one are of no use any more. */
static bool handle_event(struct instruction_index *index, const struct inotify_event *event)
{
	char path[SEGMENT_PATH_BYTES];
	struct directory *directory = find(index, event->wd);
	bool is_directory = event->mask & IN_ISDIR;

	if ((event->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) ||
	    (directory && (event->mask & IN_MOVE_SELF)) ||
	    (directory && is_directory && (event->mask & IN_MOVED_FROM))) {
		drop(index); /* and start() looks for everything anew */
		return false;
	}
	if (!directory)
		return true;
	if (event->mask & IN_IGNORED) {
		forget(index, directory);
		return true;
	}
	if (event->len == 0)
		return true;
	if (!is_directory && instruction_names_bit(index->segment, event->name))
		scan_again(index, directory->path);
	else if (is_directory && (event->mask & (IN_CREATE | IN_MOVED_TO)) &&
		 path_normalize(directory->path, event->name, path, sizeof(path)) > 0 &&
		 !instruction_is_excluded(index->segment, path))
		push(index, path);
	return !index->given_up;
}

static void read_events(struct instruction_index *index)
{
	static _Alignas(struct inotify_event) char bytes[EVENTS_BYTES];
	ssize_t got;

	while (index->fd >= 0 && (got = read(index->fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(const void *)(bytes + at);
			if (!handle_event(index, event))
				return;
			at += (ssize_t)(sizeof(*event) + event->len);
		}
}

/* Begins a walk at the workspace's root. */
static void start(struct instruction_index *index)
{
	const char *root = segment_text(index->segment, index->segment->settings->paths_workspace,
					NULL);
	uint64_t now_ns = sys_boottime_ns();

	if (now_ns < index->again_ns)
		return;
	index->again_ns = now_ns + AGAIN_MS * MILLISECOND_NS;
	index->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (index->fd < 0 || !root) {
		abandon(index);
		return;
	}
	index->walks = true;
	push(index, root);
}

struct instruction_index *instruction_index_start(const struct segment *segment)
{
	const struct settings *settings = segment->settings;

	if (settings->context_inject != CONTEXT_INJECT_VIEWERS ||
	    settings->session_mode != SESSION_MODE_SUBSTITUTE ||
	    settings->watch_mode != WATCH_MODE_AUTO)
		return NULL;
	struct instruction_index *index = calloc(1, sizeof(*index));
	if (index) {
		index->segment = segment;
		index->fd = -1;
	}
	return index;
}

unsigned instruction_index_tick(struct instruction_index *index)
{
	if (!index || index->given_up)
		return IDLE_MS;
	if (!index->walks)
		start(index);
	read_events(index);
	uint64_t until_ns = sys_boottime_ns() + WORK_MS * MILLISECOND_NS;
	while (index->open_count && sys_boottime_ns() < until_ns) {
		char *path = index->open[--index->open_count];
		walk_directory(index, path);
		free(path);
	}
	if (index->given_up || !index->walks)
		return IDLE_MS;
	if (index->open_count) {
		instruction_index_renew(index->segment, 0);
		return TURN_MS;
	}
	instruction_index_renew(index->segment, VALID_MS * MILLISECOND_NS);
	return IDLE_MS;
}

void instruction_index_finish(struct instruction_index *index)
{
	if (!index)
		return;
	drop(index);
	free(index->open);
	free(index);
}
