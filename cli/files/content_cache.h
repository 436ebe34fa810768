/*
 * Contents of small files, kept in memory: a bounded number of them, bounded bytes in all, the
 * least recently used out first.
 * One that has changed is read again: what is kept belongs to a version.
 *
 * A cache can be left in a session's directory for the processes that come after, in a file of this
 * user's alone (STORE_INSTRUCTIONS in store_files.h), which is replaced as a whole.  Left is only what had not changed for two seconds when it
 * was read: a file changed within the tick of the clock would look as it was.
 */
#ifndef SEEN_CLI_CONTENT_CACHE_H
#define SEEN_CLI_CONTENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "tracker/content/version.h"

enum {
	CONTENT_CACHE_ENTRIES = 50,
	CONTENT_CACHE_BYTES = 1048576,
};

struct content_cache;

/* A content.  `bytes` has version.size_bytes bytes, and is the cache's until the next call with
 * it. */
struct cached_content {
	const char *bytes;
	struct version version;
	bool is_text; /* no NUL byte in it */
};

/* content_cache_new(): an empty one; entries_max, bytes_max: what it holds at most.  NULL: no
 * memory. */
struct content_cache *content_cache_new(size_t entries_max, size_t bytes_max);

/* content_cache_get(): the content of an open file, from memory where the file's stamp is that of
 * what is kept.
 *
 * fd: read by pread from 0, where it is read at all.  stat: of fd.  A file larger than bytes_max is
 * not read.
 * Returns 0; -EFBIG; -ENOMEM; -ESTALE when it changed while it was read; errors of pread(2). */
int content_cache_get(struct content_cache *cache, int fd, const struct stat *stat,
		      struct cached_content *ret_content);

/* content_cache_load(): takes over what was left in a session's directory, into an empty cache.  Where
 * that is nothing, or is damaged, nothing.  Bytes are read when they are asked for, and taken only if they
 * are what was left. */
void content_cache_load(struct content_cache *cache, const char *directory);

/* content_cache_leave(): leaves in a session's directory what is in it.  Where that cannot be, what was
 * left before stays. */
void content_cache_leave(struct content_cache *cache, const char *directory);

/* content_cache_entries(), content_cache_bytes(): what it holds. */
size_t content_cache_entries(const struct content_cache *cache);
size_t content_cache_bytes(const struct content_cache *cache);

/* content_cache_free(): accepts NULL. */
void content_cache_free(struct content_cache *cache);

#endif
