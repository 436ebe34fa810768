/* What need not be kept again: see kept.h. */
#include "tracker/content/kept.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BOUNDARY_BITS = 24 }; /* of a word; the others are of the key */

uint64_t kept_key(const struct pack_state *state)
{
	const uint64_t words[] = { state->dev, state->ino, (uint64_t)state->creation_ns };
	uint64_t key = XXH3_64bits(words, sizeof(words));
	return key ? key : 1;
}

uint64_t kept_key_of_path(const char *path, size_t length)
{
	uint64_t key = XXH3_64bits_withSeed(path, length, 1);
	return key ? key : 1;
}

static uint64_t word_of(const struct segment *segment, uint64_t key)
{
	const uint64_t mask = (UINT64_C(1) << BOUNDARY_BITS) - 1;
	uint64_t boundary = __atomic_load_n(&segment->header->undo_boundary, __ATOMIC_RELAXED);
	return (key & ~mask) | (boundary & mask);
}

static uint64_t *place_of(const struct segment *segment, uint64_t key)
{
	return segment_slot(segment, TABLE_KEPT, key % segment->capacity[TABLE_KEPT]);
}

bool kept_is_noted(const struct segment *segment, uint64_t key)
{
	const uint64_t *place = place_of(segment, key);
	return place && __atomic_load_n(place, __ATOMIC_RELAXED) == word_of(segment, key);
}

void kept_note(const struct segment *segment, uint64_t key)
{
	uint64_t *place = place_of(segment, key);

	if (place)
		__atomic_store_n(place, word_of(segment, key), __ATOMIC_RELAXED);
}
