/* The check of a record of a pack (pack.h), for its writer and its readers.  Pure functions. */
#ifndef SEEN_TRACKER_PACK_CHECK_H
#define SEEN_TRACKER_PACK_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "tracker/content/pack.h"

/* pack_check(): of a record, with its paths.  record: all but `check` and `result` counts. */
uint64_t pack_check(const struct pack_record *record, const char *path, const char *other);

/* pack_size_bytes(): of a record with paths and content, in whole units. */
static inline uint64_t pack_size_bytes(size_t path_bytes, size_t other_bytes,
				       uint64_t content_bytes)
{
	return (sizeof(struct pack_record) + path_bytes + other_bytes + content_bytes +
		PACK_UNIT_BYTES - 1) &
	       ~(uint64_t)(PACK_UNIT_BYTES - 1);
}

#endif
