/*
 * Where the kernel has a directory: for undo (keep_name.h).
 *
 * Asking takes an open, a readlink in /proc and a close.  So the last answers are remembered by the directory's inode,
 * for two milliseconds, and until an observed process moves or removes a directory.  A process that is not observed
 * can move one meanwhile: as it could between the question and the call.
 */
#ifndef SEEN_KEEP_DIRECTORY_H
#define SEEN_KEEP_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

/* Until when an answer holds. */
struct keep_validity {
	uint64_t until_ns; /* CLOCK_MONOTONIC */
	uint64_t moves;    /* of directories */
};

/* keep_validity_init(): of an answer that is asked for next.  keep_validity_holds(): still? */
struct keep_validity keep_validity_init(const struct segment *segment);
bool keep_validity_holds(const struct segment *segment, const struct keep_validity *validity);

/* keep_directory_moved(): a directory was moved, or removed: its inode's number may be another's soon. */
void keep_directory_moved(const struct segment *segment);

/* keep_directory_find(): the path of a directory.
 * directory, path: as of openat(2); NULL: `directory` itself.  ret_path: SEGMENT_PATH_BYTES; may be written to in any
 * case.  Returns false where there is none. */
bool keep_directory_find(const struct segment *segment, int directory, const char *path,
			 char *ret_path);

/* keep_directory_reset(): in a copy that fork made. */
void keep_directory_reset(void);

/* keep_link(): the path of an open file.  keep_link_of_path(): of what open(2) finds with such flags.
 * ret_path: SEGMENT_PATH_BYTES. */
bool keep_link_of(int fd, char *ret_path);
bool keep_link_of_path(int directory, const char *path, int flags, char *ret_path);

#endif
