/* Contents in memory: see content_cache.h. */
#include "cli/files/content_cache.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/sys/sys.h"

struct entry {
	struct stamp stamp; /* (dev, ino) say which file it is */
	struct version version;
	bool is_text;
	char *bytes;   /* owned; one more than there are, so that there always is something */
	uint64_t used; /* number of the last call that asked for it */
};

struct content_cache {
	size_t entries_max, bytes_max;
	size_t count, bytes;
	uint64_t calls;
	struct entry entries[]; /* entries_max */
};

struct content_cache *content_cache_new(size_t entries_max, size_t bytes_max)
{
	struct content_cache *cache = calloc(1,
					     sizeof(*cache) + entries_max * sizeof(struct entry));
	if (cache) {
		cache->entries_max = entries_max;
		cache->bytes_max = bytes_max;
	}
	return cache;
}

static void drop(struct content_cache *cache, struct entry *entry)
{
	cache->bytes -= entry->version.size_bytes;
	free(entry->bytes);
	*entry = cache->entries[--cache->count];
}

static struct entry *find(struct content_cache *cache, const struct stamp *stamp)
{
	for (size_t i = 0; i < cache->count; i++)
		if (cache->entries[i].stamp.dev == stamp->dev &&
		    cache->entries[i].stamp.ino == stamp->ino)
			return &cache->entries[i];
	return NULL;
}

static void make_room(struct content_cache *cache, size_t bytes)
{
	while (cache->count == cache->entries_max || cache->bytes + bytes > cache->bytes_max) {
		struct entry *oldest = &cache->entries[0];
		for (size_t i = 1; i < cache->count; i++)
			if (cache->entries[i].used < oldest->used)
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

/* Reads the file into an entry that is in no cache yet. */
static int read_entry(int fd, const struct stat *stat, struct entry *ret_entry)
{
	size_t size = (size_t)stat->st_size;
	char *bytes = malloc(size + 1);
	struct stat after;

	if (!bytes)
		return -ENOMEM;
	int error = read_whole(fd, bytes, size);
	struct stamp stamp = stamp_of(stat), later = { 0 };
	if (error == 0 && sys_fstat(fd, &after) == 0)
		later = stamp_of(&after);
	if (error == 0 && !stamp_equal(&stamp, &later))
		error = -ESTALE;
	if (error < 0) {
		free(bytes);
		return error;
	}
	*ret_entry = (struct entry){ .stamp = stamp,
				     .version = version_of_bytes(bytes, size),
				     .is_text = !memchr(bytes, '\0', size),
				     .bytes = bytes };
	return 0;
}

int content_cache_get(struct content_cache *cache, int fd, const struct stat *stat,
		      struct cached_content *ret_content)
{
	struct stamp stamp = stamp_of(stat);
	struct entry *entry = find(cache, &stamp), fresh;

	if (entry && !stamp_equal(&entry->stamp, &stamp)) {
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
		make_room(cache, fresh.version.size_bytes);
		entry = &cache->entries[cache->count++];
		*entry = fresh;
		cache->bytes += fresh.version.size_bytes;
	}
	entry->used = ++cache->calls;
	*ret_content = (struct cached_content){ entry->bytes, entry->version, entry->is_text };
	return 0;
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
	free(cache);
}
