/*
 * Files of the workspace that this process opened for writing, or was handed open: what is in them is kept before the
 * first change through a descriptor, and what they are afterwards goes on record when it is closed (keep.h).
 *
 * Async-signal-safe; any thread.  A child between vfork and exec only asks.
 */
#ifndef SEEN_SHIM_KEEP_FILE_H
#define SEEN_SHIM_KEEP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/call/call.h"
#include "shim/preload/state.h"

/* keep_any(): did this process ever have such a file? */
extern unsigned keep_files_end HIDDEN;
static inline bool keep_any(void)
{
	return __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED) != 0;
}

/* keep_may_have(): may a descriptor be one?  Others cost no more than this. */
static inline bool keep_may_have(int fd)
{
	return (unsigned)fd < __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED);
}

/* keep_boundary(): the last one. */
static inline uint64_t keep_boundary(void)
{
	return __atomic_load_n(&shim.segment.header->undo_boundary, __ATOMIC_RELAXED);
}

/* keep_open(): a file is about to be opened for writing.  keep_opened(): it was, as call->descriptor; or
 * could not be, then nothing is done. */
void keep_open(struct call *call);
void keep_opened(struct call *call);

/* keep_opened_path(): where the file is that was opened last for writing, as the kernel knew it: as long as such an
 * answer holds (keep_directory.h).  False: it is another one, or too long ago.  ret_path: SEGMENT_PATH_BYTES. */
bool keep_opened_path(uint64_t dev, uint64_t ino, char *ret_path);

/* keep_changing_by(): what is in a descriptor's file is about to be changed.  is_mapped: by stores to memory. */
void keep_changing_by(int fd, bool is_mapped);

/* keep_is_modified(): was it, since the last boundary?  Then what it is goes on record when it is closed. */
bool keep_is_modified(int fd);

/* keep_is_new(): was it made since the last boundary?  Then there is nothing to go back to. */
bool keep_is_new(int fd);

/* keep_file_of(): which file a descriptor was opened for.  False: it is not followed.
 * keep_descriptor_of(): the other way round; -1: none is open. */
bool keep_file_of(int fd, uint64_t *ret_dev, uint64_t *ret_ino);
int keep_descriptor_of(uint64_t dev, uint64_t ino);

/* keep_stream(): a stream writes to a descriptor, by calls that are not seen. */
void keep_stream(int fd);

/* keep_queues(): from now on the process may write through a queue that is not seen (io_uring): what is open, and
 * what it opens for writing, is kept at once. */
void keep_queues(void);

/* keep_closing(): a descriptor, or the descriptors from `first` to `last`, are about to be closed.
 * keep_stream_closing(): a stream: returns the path, in scratch, for keep_stream_closed(), which lets it go;
 * NULL: nothing is due. */
void keep_closing(unsigned first, unsigned last);
char *keep_stream_closing(int fd);
void keep_stream_closed(char *path);

/* keep_duplicated(): a descriptor is now the same file as another; copy < 0: it could not be. */
void keep_duplicated(int fd, int copy);

/* keep_received(): descriptors came with a message (unix(7), SCM_RIGHTS): those of files that may be written to are followed. */
struct msghdr;
void keep_received(const struct msghdr *message);

/* keep_files_handed_on(): a program is about to be started that gets this process's descriptors.  replaces: in
 * its place.  Returns the first descriptors, a bit each, that are such files.
 * keep_files_inherit(): this program was handed these. */
uint32_t keep_files_handed_on(bool replaces);
void keep_files_inherit(uint32_t descriptors);

/* keep_files_finish(): the process ends.  flushed: what streams hold is not written any more.
 * keep_files_fork(): in a copy that fork made. */
void keep_files_finish(bool flushed);
void keep_files_fork(void);

#endif
