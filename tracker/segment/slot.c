/* Slots: see slot.h for the protocol. */
#include "tracker/segment/slot.h"

enum {
	SPINS_BEFORE_STEALING =
		20000, /* some ten microseconds: far longer than any writer holds a slot */
	READ_ATTEMPTS = 64,
};

/* The check value: FNV-1a over the body's 64-bit words, folded.  Zero for an all-zero body, so that
 * fresh memory is valid. */
static uint32_t slot_check(const uint64_t *words, size_t count)
{
	uint64_t hash = 0;
	for (size_t i = 1; i < count; i++) {
		hash ^= words[i];
		hash *= 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash ^ (hash >> 32));
}

static struct slot_head *head_of(void *slot)
{
	return slot;
}

static void copy_out(const uint64_t *shared, uint64_t *copy, size_t count)
{
	for (size_t i = 1; i < count; i++)
		copy[i] = __atomic_load_n(&shared[i], __ATOMIC_RELAXED);
}

bool slot_read(const void *slot, void *ret_copy, size_t size_bytes)
{
	const struct slot_head *head = slot;
	struct slot_head *copy = ret_copy;

	for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
		uint32_t before = __atomic_load_n(&head->sequence, __ATOMIC_ACQUIRE);
		if (before & 1)
			continue;
		copy_out(slot, ret_copy, size_bytes / 8);
		copy->check = __atomic_load_n(&head->check, __ATOMIC_RELAXED);
		copy->sequence = before;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&head->sequence, __ATOMIC_RELAXED) == before)
			return copy->check == slot_check(ret_copy, size_bytes / 8);
	}
	return false;
}

bool slot_acquire(void *slot, void *ret_copy, size_t size_bytes)
{
	struct slot_head *head = head_of(slot);
	struct slot_head *copy = ret_copy;
	uint32_t before = __atomic_load_n(&head->sequence, __ATOMIC_RELAXED);

	for (int spins = 0; (before & 1) && spins < SPINS_BEFORE_STEALING; spins++) {
		uint32_t now = __atomic_load_n(&head->sequence, __ATOMIC_RELAXED);
		if (now != before)
			before = now, spins = 0;
	}
	uint32_t held = (before & 1) ? before + 2 : before + 1;
	if (!__atomic_compare_exchange_n(&head->sequence, &before, held, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	copy_out(slot, ret_copy, size_bytes / 8);
	copy->sequence = held;
	copy->check = __atomic_load_n(&head->check, __ATOMIC_RELAXED);
	if (copy->check != slot_check(ret_copy, size_bytes / 8)) {
		uint64_t *words = ret_copy;
		for (size_t i = 1; i < size_bytes / 8; i++)
			words[i] = 0;
	}
	return true;
}

bool slot_acquire_surely(void *slot, void *ret_copy, size_t size_bytes)
{
	enum { ATTEMPTS = 64 };

	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
		if (slot_acquire(slot, ret_copy, size_bytes))
			return true;
	return false;
}

/* Lets go only what is still ours: after a steal the thief's number stands there, and this is
 * false. */
static bool let_go(struct slot_head *head, uint32_t held)
{
	return __atomic_compare_exchange_n(&head->sequence, &held, held + 1, false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void slot_commit(void *slot, void *copy, size_t size_bytes)
{
	struct slot_head *head = head_of(slot);
	uint64_t *shared = slot;
	const uint64_t *words = copy;
	uint32_t held = ((struct slot_head *)copy)->sequence;

	/* Stolen meanwhile: what the thief wrote (a forget, say) stands. */
	if (__atomic_load_n(&head->sequence, __ATOMIC_RELAXED) != held)
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (size_t i = 1; i < size_bytes / 8; i++)
		__atomic_store_n(&shared[i], words[i], __ATOMIC_RELAXED);
	uint32_t check = slot_check(words, size_bytes / 8);
	__atomic_store_n(&head->check, check, __ATOMIC_RELAXED);
	/* Stolen while we wrote: our words may stand over the thief's.  No reader shall believe
	 * them. */
	if (!let_go(head, held))
		__atomic_store_n(&head->check, ~check, __ATOMIC_RELAXED);
}

void slot_abandon(void *slot, const void *copy, size_t size_bytes)
{
	(void)size_bytes;
	(void)let_go(head_of(slot), ((const struct slot_head *)copy)->sequence);
}
