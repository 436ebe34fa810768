/* Contents that stand in records of packs: see pack_contents.h. */
#include "tracker/content/pack_contents.h"

#include <string.h>

#include "tracker/content/pack_code.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_room.h"
#include "tracker/content/pack_window.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum {
	UNIT_BITS = 37, /* of a word: where the record begins, in units, and one more; 0: empty */
	USUAL_PATHS_BYTES = 1024, /* of a record whose paths are longer, nothing is read */
};

static const uint64_t UNIT_MASK = (UINT64_C(1) << UNIT_BITS) - 1;

static uint64_t *slot_of(const struct segment *segment, const struct version *version)
{
	return segment_slot(segment, TABLE_KNOWN, version->low % segment->capacity[TABLE_KNOWN]);
}

/* Where a content with this version may stand.  PACK_NO_PLACE: nowhere in that part. */
static uint64_t place_of(const struct segment *segment, uint32_t part,
			 const struct version *version)
{
	const uint64_t *slot = slot_of(segment, version);
	uint64_t word = slot ? __atomic_load_n(slot, __ATOMIC_RELAXED) : 0;
	uint64_t place = ((word & UNIT_MASK) - 1) * PACK_UNIT_BYTES;

	return !(word & UNIT_MASK) || ((word ^ version->high) & ~UNIT_MASK) ||
			       pack_part_of(place) != part
		       ? PACK_NO_PLACE
		       : place;
}

/* Is there a record that says it has a content of this version?  bytes: from its place on. */
static bool is_record_of(const unsigned char *bytes, size_t room, uint64_t place,
			 const struct version *version, struct pack_record *ret_record)
{
	return pack_decode(bytes, room, place, ret_record) && ret_record->held == PACK_INLINE &&
	       ret_record->content_bytes == version->size_bytes &&
	       version_equal(&ret_record->version, version);
}

/* Does that content stand behind a record?  bytes: from the record on. */
static bool stands_in(const unsigned char *bytes, size_t room, uint64_t place,
		      const struct version *version, const char *content)
{
	struct pack_record record;

	return is_record_of(bytes, room, place, version, &record) && record.size_bytes <= room &&
	       memcmp(bytes + pack_content_offset(&record), content, record.content_bytes) == 0;
}

/* Where this process has the record in its memory. */
static bool stands_in_memory(const struct segment *segment, uint64_t place,
			     const struct version *version, const char *content, bool *ret_stands)
{
	const char *head = pack_window_acquire(segment, place, sizeof(struct pack_head), false);

	if (!head)
		return false;
	uint32_t size_bytes = ((const struct pack_head *)(const void *)head)->size_bytes;
	pack_window_release();
	const char *bytes = pack_window_acquire(segment, place, size_bytes, false);
	if (!bytes)
		return false;
	*ret_stands = stands_in((const unsigned char *)bytes, size_bytes, place, version, content);
	pack_window_release();
	return true;
}

static bool stands_in_part(const struct segment *segment, uint64_t place,
			   const struct version *version, const char *content)
{
	size_t most = PACK_CODE_BYTES_MAX + USUAL_PATHS_BYTES + (size_t)version->size_bytes;
	char *chunk = most <= CHUNK_BYTES ? chunk_acquire() : NULL;
	int fd = chunk ? pack_open_part(segment, pack_part_of(place)) : -1;
	ssize_t got = fd < 0 ? fd
			     : sys_pread_all(fd, chunk, most, (off_t)(place % PACK_PART_BYTES));
	bool stands = got > 0 &&
		      stands_in((const unsigned char *)chunk, (size_t)got, place, version, content);

	if (fd >= 0)
		(void)sys_close(fd);
	chunk_release(chunk);
	return stands;
}

uint64_t pack_contents_find(const struct segment *segment, uint32_t part,
			    const struct version *version, const char *content)
{
	uint64_t place = place_of(segment, part, version);
	bool stands;

	if (place == PACK_NO_PLACE)
		return PACK_NO_PLACE;
	if (!stands_in_memory(segment, place, version, content, &stands))
		stands = stands_in_part(segment, place, version, content);
	return stands ? place : PACK_NO_PLACE;
}

/* Has the file the bytes that a part has from an offset on? */
static bool is_same(int fd, int part, off_t offset, uint64_t size_bytes, char *chunk)
{
	enum { HALF = CHUNK_BYTES / 2 };

	for (uint64_t at = 0; at < size_bytes; at += HALF) {
		ssize_t wanted = (ssize_t)(size_bytes - at < HALF ? size_bytes - at : HALF);
		if (sys_pread_all(fd, chunk, (size_t)wanted, (off_t)at) != wanted ||
		    sys_pread_all(part, chunk + HALF, (size_t)wanted, offset + (off_t)at) !=
			    wanted ||
		    memcmp(chunk, chunk + HALF, (size_t)wanted) != 0)
			return false;
	}
	return true;
}

/* Does a part have behind the record at a place what the file has?  version: of the file. */
static bool stands_as_file(const struct segment *segment, uint64_t place,
			   const struct version *version, int fd, char *chunk)
{
	int part = pack_open_part(segment, pack_part_of(place));
	off_t offset = (off_t)(place % PACK_PART_BYTES);
	struct pack_record record;

	if (part < 0)
		return false;
	ssize_t got = sys_pread_all(part, chunk, PACK_CODE_BYTES_MAX, offset);
	bool stands = got > 0 &&
		      is_record_of((const unsigned char *)chunk, (size_t)got, place, version,
				   &record) &&
		      is_same(fd, part, offset + (off_t)pack_content_offset(&record),
			      version->size_bytes, chunk);
	(void)sys_close(part);
	return stands;
}

uint64_t pack_contents_find_file(const struct segment *segment, uint32_t part, int fd,
				 uint64_t size_bytes, char *chunk, struct version *ret_version)
{
	struct version_stream stream;

	version_stream_init(&stream);
	while (stream.size_bytes < size_bytes) {
		uint64_t left = size_bytes - stream.size_bytes;
		ssize_t got = sys_pread_all(fd, chunk,
					    left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES,
					    (off_t)stream.size_bytes);
		if (got <= 0)
			return PACK_NO_PLACE;
		version_stream_add(&stream, chunk, (uint64_t)got);
	}
	const struct version version = version_stream_finish(&stream);
	uint64_t place = place_of(segment, part, &version);
	if (place == PACK_NO_PLACE || !stands_as_file(segment, place, &version, fd, chunk))
		return PACK_NO_PLACE;
	*ret_version = version;
	return place;
}

void pack_contents_note(const struct segment *segment, const struct version *version,
			uint64_t place)
{
	uint64_t *slot = slot_of(segment, version);
	uint64_t unit_1 = place / PACK_UNIT_BYTES + 1;

	if (slot && unit_1 <= UNIT_MASK)
		__atomic_store_n(slot, (version->high & ~UNIT_MASK) | unit_1, __ATOMIC_RELAXED);
}
