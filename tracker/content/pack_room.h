/*
 * The files of a session's packs (pack.h), and how much they hold: [undo] max_bytes, max_file_bytes, reserve.
 * As pack_write.h says: for strangers' processes.
 */
#ifndef SEEN_TRACKER_PACK_ROOM_H
#define SEEN_TRACKER_PACK_ROOM_H

#include <stdint.h>

#include "tracker/segment/segment.h"

/* What is copied from another file system than the store's: such a copy costs a program its time. */
enum {
	PACK_FAR_FILE_BYTES_MAX = 16777216,  /* of one file */
	PACK_FAR_STEP_BYTES_MAX = 268435456, /* between two boundaries */
};

/* pack_open_part(): opens a part to read and write, made where it is not there.  Returns a descriptor, which the
 * caller closes; -ENOENT: the session keeps nothing, or has dropped that part; -ENOSPC: less is free than is to stay so;
 * errors of open(2). */
int pack_open_part(const struct segment *segment, uint32_t part);

/* pack_open_files(): opens the directory of a part's contents, likewise.  ret_name: of the record's content
 * in it, PACK_FILE_NAME_BYTES. */
int pack_open_files(const struct segment *segment, uint64_t place, char *ret_name);

/* pack_drop_file(): removes the content of a record that could not be written. */
void pack_drop_file(const struct segment *segment, uint64_t place);

/* pack_make_room(): drops the oldest parts until so many bytes more may be kept.  Returns 0, or -ENOSPC. */
int pack_make_room(const struct segment *segment, uint64_t more_bytes);

/* pack_may_copy(): may a copy of a file be made?  from: the file; to: in the directory of packs.  Where these are
 * on two file systems, or on two mounts of one, PACK_FAR_FILE_BYTES_MAX and PACK_FAR_STEP_BYTES_MAX hold, too.
 * Returns 0, and counts it; -EFBIG; -ENOSPC; -EXDEV: too large to be copied from another file system. */
int pack_may_copy(const struct segment *segment, uint64_t size_bytes, int from, int to);

/* pack_add_bytes(): so many more are kept. */
void pack_add_bytes(const struct segment *segment, uint64_t size_bytes);

#endif
