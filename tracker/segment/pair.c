/* Tables of pairs: see pair.h. */
#include "tracker/segment/pair.h"

#include <string.h>

enum { PROBES = 32 };

static uint64_t index_of(const struct segment *segment, const struct pair_table *table,
			 uint64_t scope_id, uint64_t key, unsigned probe)
{
	uint64_t hash = (key ^ (scope_id >> 7)) * 0x9e3779b97f4a7c15u;
	return ((hash >> 20) + probe) % segment->capacity[table->table];
}

static bool is_of(const struct pair_slot *slot, uint64_t scope_id, uint64_t key)
{
	return __atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED) == scope_id &&
	       __atomic_load_n(&slot->key, __ATOMIC_RELAXED) == key;
}

/* The slot that holds the pair, else in ret_place an empty one or the oldest of those probed. */
static struct pair_slot *find(const struct segment *segment, const struct pair_table *table,
			      uint64_t scope_id, uint64_t key, struct pair_slot **ret_place)
{
	struct pair_slot *place = NULL;
	uint64_t oldest = UINT64_MAX;

	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t index = index_of(segment, table, scope_id, key, probe);
		struct pair_slot *slot = segment_slot(segment, table->table, index);
		bool is_used = segment_is_used(segment, table->table, index);
		if (is_used && is_of(slot, scope_id, key))
			return slot;
		if (!is_used || __atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED) == 0) {
			place = slot;
			break;
		}
		const uint64_t *time = (const void *)((const char *)slot + table->time_offset);
		uint64_t last = __atomic_load_n(time, __ATOMIC_RELAXED);
		if (last < oldest) {
			oldest = last;
			place = slot;
		}
	}
	if (ret_place)
		*ret_place = place;
	return NULL;
}

bool pair_read(const struct segment *segment, const struct pair_table *table, uint64_t scope_id,
	       uint64_t key, void *ret_slot)
{
	const struct pair_slot *slot = scope_id && key ? find(segment, table, scope_id, key, NULL)
						       : NULL;
	return slot && slot_read(slot, ret_slot, table->slot_bytes) &&
	       is_of(ret_slot, scope_id, key);
}

void *pair_hold(const struct segment *segment, const struct pair_table *table, uint64_t scope_id,
		uint64_t key, bool make, void *ret_copy)
{
	struct pair_slot *copy = ret_copy;

	for (unsigned attempt = 0; attempt < table->attempts && scope_id && key; attempt++) {
		struct pair_slot *place = NULL;
		struct pair_slot *slot = find(segment, table, scope_id, key, &place);
		if (!slot && make)
			slot = place;
		if (!slot && !make)
			return NULL;
		if (make && slot && !segment_use(segment, table->table, slot))
			return NULL;
		if (!slot || !slot_acquire(slot, copy, table->slot_bytes))
			continue;
		if (is_of(copy, scope_id, key))
			return slot;
		if (make) {
			if (copy->scope_id && table->counts_displaced)
				segment_count(segment, table->displaced, 1);
			memset(copy + 1, 0, table->slot_bytes - sizeof(*copy));
			copy->scope_id = scope_id;
			copy->key = key;
			return slot;
		}
		slot_abandon(slot, copy, table->slot_bytes);
	}
	return NULL;
}
