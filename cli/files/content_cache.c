/* Contents in memory: see content_cache.h. */
#include "cli/files/content_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/session/store_files.h"
#include "tracker/segment/segment.h"
#include "tracker/sys/sys.h"

/* What is on record of a content, in memory and in the session's file. */
struct description {
	struct stamp stamp; /* (dev, ino) say which file it is */
	struct version version;
	uint64_t is_text;
	uint64_t offset; /* of its bytes in the session's file */
	uint64_t check;  /* of all that is above, in the session's file */
	uint64_t used;   /* number of the last call that asked for it */
};

struct entry {
	struct description description;
	bool is_old;     /* it was changed so long before that another change has another stamp */
	bool is_in_file; /* the session's file holds it */
	/* owned; one more than there are, so that there always is something; NULL: they are in the
	 * session's file */
	char *bytes;
};

struct content_cache {
	size_t entries_max, bytes_max;
	size_t count, bytes;
	uint64_t calls;
	int fd;                 /* the session's file; -1: none */
	bool is_changed;        /* it is not what that file holds */
	bool is_used;           /* it is, but for what was used last */
	struct entry entries[]; /* entries_max */
};

/* The beginning of the session's file; its `count` descriptions follow, then their bytes. */
struct head {
	char magic[8];
	uint64_t count;
};
static const char MAGIC[8] = "seenins1";

/* A file's times are as coarse as the clock's ticks; on some file systems, seconds. */
#define OLD_NS UINT64_C(2000000000)

struct content_cache *content_cache_new(size_t entries_max, size_t bytes_max)
{
	struct content_cache *cache = calloc(1,
					     sizeof(*cache) + entries_max * sizeof(struct entry));
	if (cache) {
		cache->entries_max = entries_max;
		cache->bytes_max = bytes_max;
		cache->fd = -1;
	}
	return cache;
}

static void drop(struct content_cache *cache, struct entry *entry)
{
	cache->bytes -= entry->description.version.size_bytes;
	free(entry->bytes);
	cache->is_changed |= entry->is_in_file;
	*entry = cache->entries[--cache->count];
}

static struct entry *find(struct content_cache *cache, const struct stamp *stamp)
{
	for (size_t i = 0; i < cache->count; i++)
		if (cache->entries[i].description.stamp.dev == stamp->dev &&
		    cache->entries[i].description.stamp.ino == stamp->ino)
			return &cache->entries[i];
	return NULL;
}

static void make_room(struct content_cache *cache, size_t bytes)
{
	while (cache->count == cache->entries_max || cache->bytes + bytes > cache->bytes_max) {
		struct entry *oldest = &cache->entries[0];
		for (size_t i = 1; i < cache->count; i++)
			if (cache->entries[i].description.used < oldest->description.used)
				oldest = &cache->entries[i];
		drop(cache, oldest);
	}
}

/* Reads `size` bytes and checks whether there are more.  Returns 0 or as content_cache_get(). */
static int read_whole(int fd, char *bytes, size_t size)
{
	char more;

	ssize_t got = sys_pread_all(fd, bytes, size, 0);
	if (got < 0)
		return (int)got;
	ssize_t behind = got == (ssize_t)size ? sys_pread(fd, &more, 1, got) : 1;
	return behind > 0 ? -ESTALE : (int)behind;
}

static bool is_old(const struct stamp *stamp)
{
	return stamp->ctime_ns >= 0 && (uint64_t)stamp->ctime_ns + OLD_NS < sys_realtime_ns();
}

/* Reads the file into an entry that is in no cache yet. */
static int read_entry(int fd, const struct stat *stat, struct entry *ret_entry)
{
	size_t size = (size_t)stat->st_size;
	char *bytes = malloc(size + 1);
	struct stamp stamp = stamp_of(stat), later = { 0 };
	bool settled = is_old(&stamp);
	struct stat after;

	if (!bytes)
		return -ENOMEM;
	int error = read_whole(fd, bytes, size);
	if (error == 0 && sys_fstat(fd, &after) == 0)
		later = stamp_of(&after);
	if (error == 0 && !stamp_equal(&stamp, &later))
		error = -ESTALE;
	if (error < 0) {
		free(bytes);
		return error;
	}
	*ret_entry = (struct entry){ .description = { .stamp = stamp,
						      .version = version_of_bytes(bytes, size),
						      .is_text = !memchr(bytes, '\0', size) },
				     .is_old = settled,
				     .bytes = bytes };
	return 0;
}

/* Has an entry its bytes in memory?  Of those in the session's file only what it was is taken. */
static bool has_bytes(const struct content_cache *cache, struct entry *entry)
{
	size_t size = (size_t)entry->description.version.size_bytes;
	char *bytes = entry->bytes ? NULL : malloc(size + 1);

	if (bytes && sys_pread_all(cache->fd, bytes, size, (off_t)entry->description.offset) ==
			     (ssize_t)size) {
		struct version version = version_of_bytes(bytes, size);
		if (version_equal(&version, &entry->description.version)) {
			entry->bytes = bytes;
			bytes = NULL;
		}
	}
	free(bytes);
	return entry->bytes;
}

int content_cache_get(struct content_cache *cache, int fd, const struct stat *stat,
		      struct cached_content *ret_content)
{
	struct stamp stamp = stamp_of(stat);
	struct entry *entry = find(cache, &stamp), fresh;

	if (entry &&
	    (!stamp_equal(&entry->description.stamp, &stamp) || !has_bytes(cache, entry))) {
		drop(cache, entry);
		entry = NULL;
	}
	if (!entry) {
		if (!cache->entries_max || stat->st_size < 0 ||
		    (uint64_t)stat->st_size > cache->bytes_max)
			return -EFBIG;
		int error = read_entry(fd, stat, &fresh);
		if (error < 0)
			return error;
		make_room(cache, fresh.description.version.size_bytes);
		entry = &cache->entries[cache->count++];
		*entry = fresh;
		cache->bytes += fresh.description.version.size_bytes;
		cache->is_changed |= fresh.is_old;
	}
	entry->description.used = ++cache->calls;
	cache->is_used = true;
	*ret_content = (struct cached_content){ entry->bytes, entry->description.version,
						entry->description.is_text };
	return 0;
}

/* ---- in the session ---- */

/* Where it is, or, with an end, where one is built. */
static bool file_path(const char *directory, const char *end, char *ret_path)
{
	return snprintf(ret_path, SEGMENT_PATH_BYTES, "%s/" STORE_INSTRUCTIONS "%s", directory,
			end) < SEGMENT_PATH_BYTES;
}

/* A file of this user's alone. */
static int open_own(const char *path, struct stat *ret_stat)
{
	const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = open(path, O_RDWR | flags);

	if (fd < 0) /* a sandbox shows sessions to read alone */
		fd = open(path, O_RDONLY | flags);
	if (fd >= 0 && (fstat(fd, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode) ||
			ret_stat->st_uid != geteuid() || (ret_stat->st_mode & 022))) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

static uint64_t check_of(const struct description *description)
{
	return version_of_bytes(description, offsetof(struct description, check)).low;
}

/* Takes one over that the file names; false: it cannot be. */
static bool add_from_file(struct content_cache *cache, const struct description *description,
			  uint64_t end)
{
	uint64_t size = description->version.size_bytes;

	if (description->check != check_of(description) || size > cache->bytes_max - cache->bytes ||
	    description->offset > end || size > end - description->offset ||
	    find(cache, &description->stamp))
		return false;
	cache->entries[cache->count++] = (struct entry){ .description = *description,
							 .is_old = true,
							 .is_in_file = true };
	cache->bytes += (size_t)size;
	if (cache->calls < description->used)
		cache->calls = description->used;
	return true;
}

void content_cache_load(struct content_cache *cache, const char *directory)
{
	char path[SEGMENT_PATH_BYTES];
	struct stat stat;
	struct head head;
	struct description description;

	if (cache->count || cache->fd >= 0 || !file_path(directory, "", path) ||
	    (cache->fd = open_own(path, &stat)) < 0)
		return;
	cache->is_changed = sys_pread_all(cache->fd, &head, sizeof(head), 0) != sizeof(head) ||
			    memcmp(head.magic, MAGIC, sizeof(MAGIC)) != 0 ||
			    head.count > cache->entries_max;
	for (uint64_t i = 0; !cache->is_changed && i < head.count; i++)
		cache->is_changed = sys_pread_all(
					    cache->fd, &description, sizeof(description),
					    (off_t)(sizeof(head) + i * sizeof(description))) !=
					    (ssize_t)sizeof(description) ||
				    !add_from_file(cache, &description, (uint64_t)stat.st_size);
}

/* Drops what is not to be left, and, where the file is written anew, what cannot be. */
static void drop_transient(struct content_cache *cache)
{
	for (size_t i = cache->count; i > 0; i--)
		if (!cache->entries[i - 1].is_old ||
		    (cache->is_changed && !has_bytes(cache, &cache->entries[i - 1])))
			drop(cache, &cache->entries[i - 1]);
}

/* Writes the beginning of the file.  Returns whether it was. */
static bool write_descriptions(const struct content_cache *cache, int fd)
{
	struct head head = { .count = cache->count };
	bool is_written;

	memcpy(head.magic, MAGIC, sizeof(MAGIC));
	is_written = pwrite(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head);
	for (size_t i = 0; i < cache->count && is_written; i++)
		is_written = pwrite(fd, &cache->entries[i].description, sizeof(struct description),
				    (off_t)(sizeof(head) + i * sizeof(struct description))) ==
			     (ssize_t)sizeof(struct description);
	return is_written;
}

static bool write_all(struct content_cache *cache, int fd)
{
	uint64_t at = sizeof(struct head) + cache->count * sizeof(struct description);
	bool is_written = true;

	for (size_t i = 0; i < cache->count && is_written; i++) {
		struct entry *entry = &cache->entries[i];
		size_t size = (size_t)entry->description.version.size_bytes;
		entry->description.offset = at;
		entry->description.check = check_of(&entry->description);
		is_written = pwrite(fd, entry->bytes, size, (off_t)at) == (ssize_t)size;
		at += size;
	}
	return is_written && write_descriptions(cache, fd);
}

void content_cache_leave(struct content_cache *cache, const char *directory)
{
	char path[SEGMENT_PATH_BYTES], built[SEGMENT_PATH_BYTES], end[64];

	drop_transient(cache);
	if (!cache->is_changed) {
		if (cache->is_used && cache->fd >= 0)
			(void)write_descriptions(cache, cache->fd);
		return;
	}
	(void)snprintf(end, sizeof(end), ".%d.%" PRIx64, (int)getpid(), sys_boottime_ns());
	if (!file_path(directory, "", path) || !file_path(directory, end, built))
		return;
	int fd = open(built, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	bool is_written = write_all(cache, fd);
	(void)close(fd);
	if (!is_written || rename(built, path) < 0)
		(void)unlink(built);
}

size_t content_cache_entries(const struct content_cache *cache)
{
	return cache->count;
}

size_t content_cache_bytes(const struct content_cache *cache)
{
	return cache->bytes;
}

void content_cache_free(struct content_cache *cache)
{
	while (cache && cache->count)
		drop(cache, &cache->entries[cache->count - 1]);
	if (cache && cache->fd >= 0)
		(void)close(cache->fd);
	free(cache);
}
