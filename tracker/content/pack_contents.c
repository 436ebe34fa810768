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

/* Does that content stand behind a record?  bytes: from the record on. */
static bool stands_in(const unsigned char *bytes, size_t room, uint64_t place,
		      const struct version *version, const char *content)
{
	struct pack_record record;

	return pack_decode(bytes, room, place, &record) && record.size_bytes <= room &&
	       record.held == PACK_INLINE && record.content_bytes == version->size_bytes &&
	       version_equal(&record.version, version) &&
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
	const uint64_t *slot = slot_of(segment, version);
	uint64_t word = slot ? __atomic_load_n(slot, __ATOMIC_RELAXED) : 0;
	uint64_t place = ((word & UNIT_MASK) - 1) * PACK_UNIT_BYTES;
	bool stands;

	if (!(word & UNIT_MASK) || ((word ^ version->high) & ~UNIT_MASK) ||
	    pack_part_of(place) != part)
		return PACK_NO_PLACE;
	if (!stands_in_memory(segment, place, version, content, &stands))
		stands = stands_in_part(segment, place, version, content);
	return stands ? place : PACK_NO_PLACE;
}

void pack_contents_note(const struct segment *segment, const struct version *version,
			uint64_t place)
{
	uint64_t *slot = slot_of(segment, version);
	uint64_t unit_1 = place / PACK_UNIT_BYTES + 1;

	if (slot && unit_1 <= UNIT_MASK)
		__atomic_store_n(slot, (version->high & ~UNIT_MASK) | unit_1, __ATOMIC_RELAXED);
}
