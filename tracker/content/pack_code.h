/*
 * A record of a pack (pack.h) as it is on disk, for its writers and its readers.  Pure functions.
 *
 * Behind the head come the record's fields, each a number in as few bytes as it needs, the lowest first: most are
 * small, or follow from others.
 */
#ifndef SEEN_TRACKER_PACK_CODE_H
#define SEEN_TRACKER_PACK_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/content/pack.h"

enum {
	PACK_FIELDS = 24,
	PACK_CODE_BYTES_MAX = sizeof(struct pack_head) + PACK_FIELDS * 8,
	PACK_VERSION_BYTES =
		16, /* of a version's hash, where there is one: the last of the fields */
};

/* pack_encode(): head and fields.
 *
 * record: all but `place`, `size_bytes` and `code_bytes` counts.  `version` does where content is held INLINE, as a
 * REFLINK or as a COPY.  Of these its hash
 * takes PACK_VERSION_BYTES, whatever it is: it may be set later.  ret_code: PACK_CODE_BYTES_MAX; its `size_bytes` and
 * `check` are the caller's to set.  Returns how many bytes they are. */
size_t pack_encode(const struct pack_record *record, unsigned char *ret_code);

/* pack_decode(): a record from its place in a part on.
 *
 * room: bytes that may be read; the caller holds `size_bytes` against what there is.  Its numbers are checked, its
 * `check` is not.  Returns whether there is one. */
bool pack_decode(const unsigned char *bytes, size_t room, uint64_t place,
		 struct pack_record *ret_record);

/* pack_check(): of head and fields, with the paths.  code: the head's `check` and `result` do not count. */
uint64_t pack_check(const unsigned char *code, const struct pack_record *record, const char *path,
		    size_t path_bytes, const char *other, size_t other_bytes);

/* pack_size_bytes(): of a record with paths and content, in whole units. */
static inline uint64_t pack_size_bytes(size_t code_bytes, size_t path_bytes, size_t other_bytes,
				       uint64_t content_bytes)
{
	return (code_bytes + path_bytes + other_bytes + content_bytes + PACK_UNIT_BYTES - 1) &
	       ~(uint64_t)(PACK_UNIT_BYTES - 1);
}

/* pack_content_offset(): where an INLINE content stands, from the record on. */
static inline size_t pack_content_offset(const struct pack_record *record)
{
	return record->code_bytes + (size_t)record->path_bytes + record->other_bytes;
}

#endif
