/* Tables that are filled from the front: see index.h. */
#include "tracker/segment/index.h"

#include "tracker/segment/tables.h"

_Static_assert((int)TABLE_FILE_INDEX - (int)TABLE_FILES ==
		       (int)TABLE_INODE_INDEX - (int)TABLE_INODES,
	       "the words of a table are found by its number");

static enum segment_table words_of(enum segment_table table)
{
	return table + (TABLE_FILE_INDEX - TABLE_FILES);
}

static uint64_t *given_at(const struct segment *segment, enum segment_table table)
{
	struct segment_header *header = segment->header;

	return table == TABLE_FILES ? &header->files_given : &header->inodes_given;
}

static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> (64 - 8)) << INDEX_SLOT_BITS;
}

static uint64_t index_of(const struct segment *segment, enum segment_table words, uint64_t hash,
			 unsigned probe)
{
	uint64_t capacity = segment->capacity[words], index = hash % capacity + probe;

	return index < capacity ? index : index % capacity;
}

/* segment_is_used(), without a call: of each word that is inspected, and each slot. */
static inline bool is_used(const struct segment *segment, enum segment_table table, uint64_t index)
{
	const struct used_slot *used = (const void *)segment->tables[TABLE_USED];
	uint64_t part = index >> segment->part_shift[table];

	return __atomic_load_n(&used[table].parts[part / 64], __ATOMIC_ACQUIRE) >> part % 64 & 1;
}

static inline uint32_t load(const struct segment *segment, enum segment_table words, uint64_t index)
{
	const uint32_t *all = (const void *)segment->tables[words];

	return is_used(segment, words, index) ? __atomic_load_n(&all[index], __ATOMIC_ACQUIRE) : 0;
}

void *index_next(const struct segment *segment, enum segment_table table,
		 struct index_search *search)
{
	enum { SLOT_MASK = (1 << INDEX_SLOT_BITS) - 1 };
	const enum segment_table words = words_of(table);
	const uint64_t capacity = segment->capacity[words];
	const uint32_t tag = tag_of(search->hash);
	uint64_t index = index_of(segment, words, search->hash, search->probe);

	for (; search->probe < INDEX_PROBES; search->probe++) {
		uint32_t word = load(segment, words, index), number = word & SLOT_MASK;
		index = index + 1 < capacity ? index + 1 : 0;
		if (number == 0) {
			if (!search->free)
				search->free = search->probe + 1;
			if (word == 0)
				return NULL;
		} else if ((word ^ number) == tag && number <= segment->capacity[table] &&
			   is_used(segment, table, number - 1)) {
			search->probe++;
			return segment->tables[table] + (number - 1) * SEGMENT_SLOT_BYTES[table];
		}
	}
	return NULL;
}

/* A slot for something new.  ret_full: the table is full, and this is where the search for what has to give way begins.
 * Returns the slot's number; it may be touched.  The table's capacity: there is no memory for it. */
static uint64_t next_slot(const struct segment *segment, enum segment_table table, bool *ret_full)
{
	uint64_t *given = given_at(segment, table), capacity = segment->capacity[table];
	uint64_t number = __atomic_load_n(given, __ATOMIC_RELAXED), more, slot;

	/* Behind the last one the number goes on: it tells where to look for what has to give way. */
	do {
		*ret_full = number >= capacity;
		more = *ret_full ? INDEX_PROBES : 1;
		slot = number % capacity;
		if (!segment_use(segment, table, segment_slot(segment, table, slot)))
			return capacity;
	} while (!__atomic_compare_exchange_n(given, &number, number + more, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return slot;
}

/* Writes the word of a slot.  False: another process wrote there meanwhile, or there is no room. */
static bool note(const struct segment *segment, enum segment_table table,
		 const struct index_search *search, uint64_t slot)
{
	const enum segment_table words = words_of(table);

	if (!search->free)
		return false;
	uint64_t index = index_of(segment, words, search->hash, search->free - 1);
	uint32_t *word = segment_slot(segment, words, index);
	if (!segment_use(segment, words, word))
		return false;
	uint32_t before = __atomic_load_n(word, __ATOMIC_RELAXED);
	return (before == 0 || before == INDEX_GONE) &&
	       __atomic_compare_exchange_n(word, &before,
					   tag_of(search->hash) | (uint32_t)(slot + 1), false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void *index_place(const struct segment *segment, enum segment_table table,
		  const struct index_search *search, size_t time_offset)
{
	const uint64_t capacity = segment->capacity[table];
	uint64_t oldest_ns = UINT64_MAX, place;
	bool is_full;
	uint64_t first = place = next_slot(segment, table, &is_full);

	if (first == capacity)
		return NULL;
	for (unsigned i = 0; is_full && i < INDEX_PROBES; i++) {
		uint64_t index = (first + i) % capacity;
		const unsigned char *slot = segment_slot(segment, table, index);
		uint64_t time_ns = is_used(segment, table, index)
					   ? __atomic_load_n(
						     (const uint64_t *)(const void *)(slot +
										      time_offset),
						     __ATOMIC_RELAXED)
					   : UINT64_MAX;
		if (time_ns < oldest_ns) {
			oldest_ns = time_ns;
			place = index;
		}
	}
	return note(segment, table, search, place) ? segment_slot(segment, table, place) : NULL;
}

void index_remove(const struct segment *segment, enum segment_table table, uint64_t hash,
		  uint64_t slot)
{
	const enum segment_table words = words_of(table);
	const uint32_t wanted = tag_of(hash) | (uint32_t)(slot + 1);

	for (unsigned probe = 0; probe < INDEX_PROBES; probe++) {
		uint64_t index = index_of(segment, words, hash, probe);
		uint32_t word = load(segment, words, index);
		if (word == 0)
			return;
		if (word == wanted) {
			(void)__atomic_compare_exchange_n(
				(uint32_t *)segment_slot(segment, words, index), &word,
				(uint32_t)INDEX_GONE, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
			return;
		}
	}
}

void index_prepare(const struct segment *segment)
{
	enum { SLOTS = 256, PATH_BYTES = 64 };
	static const enum segment_table TABLES[] = { TABLE_FILES, TABLE_INODES };

	if (!segment->grows)
		return;
	for (size_t i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]); i++) {
		const enum segment_table table = TABLES[i], words = words_of(table);
		uint64_t given = __atomic_load_n(given_at(segment, table), __ATOMIC_RELAXED);
		for (uint64_t at = 0; at < segment->capacity[words];
		     at += UINT64_C(1) << segment->part_shift[words])
			(void)segment_use(segment, words, segment_slot(segment, words, at));
		for (uint64_t at = given; at < given + SLOTS; at++)
			(void)segment_use(
				segment, table,
				segment_slot(segment, table, at % segment->capacity[table]));
	}
	segment_reserve(segment, (uint64_t)SLOTS * PATH_BYTES);
}
