/*
 * Contents that stand in records of packs (pack.h), by their version: a record of the same content names the record
 * where it stands, and does not have it once more.
 *
 * For strangers' processes, as pack_write.h says; also between vfork and exec.
 */
#ifndef SEEN_TRACKER_PACK_CONTENTS_H
#define SEEN_TRACKER_PACK_CONTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "tracker/content/pack.h"
#include "tracker/segment/segment.h"

enum { PACK_CONTENTS_BYTES_MIN = 64 /* to name a place takes some bytes, too */ };

/* pack_contents_find(): the place of a record of a part behind which this content stands, byte for byte: they are
 * compared.  version: of the content, of at least PACK_CONTENTS_BYTES_MIN.  PACK_NO_PLACE: none is known. */
uint64_t pack_contents_find(const struct segment *segment, uint32_t part,
			    const struct version *version, const char *content);

/* pack_contents_find_file(): the same of what a file holds, which is read, and compared piece by piece.
 *
 * fd: readable.  chunk: CHUNK_BYTES of memory.  ret_version: of the content, where its place is known. */
uint64_t pack_contents_find_file(const struct segment *segment, uint32_t part, int fd,
				 uint64_t size_bytes, char *chunk, struct version *ret_version);

/* pack_contents_note(): such a record was written. */
void pack_contents_note(const struct segment *segment, const struct version *version,
			uint64_t place);

#endif
