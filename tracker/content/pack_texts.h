/*
 * Paths that the process put into records of packs lately (pack.h): the next records name the place where a path
 * stands, and do not have it once more.
 *
 * For strangers' processes, as pack_write.h says; also between vfork and exec.
 */
#ifndef SEEN_TRACKER_PACK_TEXTS_H
#define SEEN_TRACKER_PACK_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

/* pack_texts_find(): the place of a record that has it as its `path`; PACK_NO_PLACE.
 * pack_texts_note(): such a record was written. */
uint64_t pack_texts_find(const struct segment *segment, const char *path, size_t path_bytes);
void pack_texts_note(const struct segment *segment, const char *path, size_t path_bytes,
		     uint64_t place);

/* pack_texts_reset(): in a copy that fork made. */
void pack_texts_reset(void);

#endif
