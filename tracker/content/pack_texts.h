/*
 * Paths that the process put into records of packs lately (pack.h): the next records name the place where a path, or
 * its directory, stands, and do not have it once more.
 *
 * For strangers' processes, as pack_write.h says; also between vfork and exec.
 */
#ifndef SEEN_TRACKER_PACK_TEXTS_H
#define SEEN_TRACKER_PACK_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

/* How much of a path stands in a record. */
struct pack_text {
	uint64_t place; /* of that record; PACK_NO_PLACE: none */
	size_t bytes;   /* the whole path, or its directory with the slash behind it */
	uint32_t uses;  /* how many records name that directory, with this one */
};

/* pack_texts_find(): how much of it stands where.
 * pack_texts_note(): a record at `place` has it as its `path`.  directory: what it names for the directory; NULL: the
 * path stands there in full. */
struct pack_text pack_texts_find(const struct segment *segment, const char *path,
				 size_t path_bytes);
void pack_texts_note(const struct segment *segment, const char *path, size_t path_bytes,
		     uint64_t place, const struct pack_text *directory);

/* pack_texts_reset(): in a copy that fork made. */
void pack_texts_reset(void);

#endif
