/*
 * The content store's directory (contents.h): how it is opened, and what is written in it.  For the
 * files of the store.
 *
 * Functions return 0 or a negative errno, unless they state another result.
 */
#ifndef SEEN_TRACKER_CONTENTS_DIRECTORY_H
#define SEEN_TRACKER_CONTENTS_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

/* Of functions with a piece of memory on their stack: two of them are never on it at once. */
#define CONTENTS_APART __attribute__((noinline))

/* On the stack, where all chunks are in use. */
enum { CONTENTS_SMALL_CHUNK_BYTES = 2048 };

/* contents_directory_open(): opens the session's store, which is this user's.  Returns a descriptor,
 * which the caller closes; -ENOENT: there is none; -EPERM: it is another user's. */
int contents_directory_open(const struct segment *segment);

/* contents_directory_open_path(): the same of any store.  path: NULL: there is none. */
int contents_directory_open_path(const char *path);

/* contents_is_whole(): is it a regular file of the version's size? */
bool contents_is_whole(const struct stat *stat, const struct version *version);

/* contents_allocate(): allocates the blocks of a file, without changing its size.  Returns 0 also
 * where the file system cannot: then each write tells.
 * ret_is_sure: they are there. */
int contents_allocate(int fd, uint64_t size_bytes, bool *ret_is_sure);

/* contents_write(): writes all the bytes at the file's offset, and accounts for them
 * (sys_wrote_aside()). */
int contents_write(int fd, const char *bytes, size_t size_bytes);

#endif
