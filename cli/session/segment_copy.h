/*
 * A copy in memory of a segment that was cut (session_cut.h).  Of its mapped file, tmpfs would allocate
 * each page that is read, and raise SIGBUS where it has no room.
 */
#ifndef SEEN_CLI_SEGMENT_COPY_H
#define SEEN_CLI_SEGMENT_COPY_H

#include <stdbool.h>

#include "tracker/segment/segment.h"

/* segment_copy_cut(): copies a segment that has not all its blocks.
 *
 * if_full: only where the file system has no room for them; then a line on stderr says that changes
 * are not kept.  ret_segment: segment_unmap() it; set only on success.
 * Returns 0; -ENODATA: it has all its blocks, or need not be copied; -ENOMEM; as segment_map(). */
int segment_copy_cut(const char *path, bool if_full, struct segment *ret_segment);

#endif
