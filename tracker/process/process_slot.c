/* Slots of the process table: see process_slot.h. */
#include "tracker/process/process_slot.h"

#include "tracker/process/kernel_status.h"
#include "tracker/process/mechanism.h"

enum {
	LIVENESS_CHECKS_MAX =
		8, /* times that process_slot_claim() asks the kernel whether a process lives */
};

struct process_slot *process_slot_at(const struct segment *segment, uint64_t index)
{
	return segment_slot(segment, TABLE_PROCESSES, index);
}

/* Whose slots may not be taken, in the order in which process_slot_claim() gives way. */
enum hold {
	HOLD_ALL,    /* of every process that has not ended */
	HOLD_NEEDED, /* of those on which others depend */
	HOLD_LIVE,   /* of those that live: asked of the kernel, a few times at most */
	HOLD_NONE,
};

static bool is_held(const struct process_slot *slot, enum hold hold, int *checks)
{
	struct process_slot copy;
	uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);

	if (state == PROCESS_FREE || state == PROCESS_EXITED || hold == HOLD_NONE)
		return false;
	if (hold == HOLD_ALL)
		return true;
	uint32_t role = __atomic_load_n(&slot->context.role, __ATOMIC_RELAXED);
	if (role != ROLE_AGENT && role != ROLE_SHELL)
		return false;
	if (hold == HOLD_NEEDED || --*checks < 0)
		return true;
	return slot_read(slot, &copy, PROCESS_CHECKED_BYTES) && !process_is_gone(&copy);
}

void process_slot_add_counts(const struct segment *segment, struct process_slot *slot)
{
	static const enum counter TOTALS[PROCESS_COUNTS] = { COUNTER_opens, COUNTER_opens_write,
							     COUNTER_listings, COUNTER_changes };
	for (int i = 0; i < PROCESS_COUNTS; i++) {
		uint64_t count = __atomic_exchange_n(&slot->counts[i], 0, __ATOMIC_RELAXED);
		if (count)
			segment_count(segment, TOTALS[i], count);
	}
}

struct process_slot *process_slot_claim(const struct segment *segment,
					struct process_slot *ret_copy, uint64_t *ret_index)
{
	uint64_t start = __atomic_fetch_add(&segment->header->next_process, 1, __ATOMIC_RELAXED);

	int checks = LIVENESS_CHECKS_MAX;
	for (enum hold hold = HOLD_ALL; hold <= HOLD_LIVE; hold++) {
		for (uint64_t probe = 0; probe < SEGMENT_PROCESS_PROBES; probe++) {
			uint64_t index = (start + probe) % segment->capacity[TABLE_PROCESSES];
			struct process_slot *slot = process_slot_at(segment, index);
			if (is_held(slot, hold, &checks) ||
			    !slot_acquire(slot, ret_copy, PROCESS_CHECKED_BYTES))
				continue;
			if (is_held(ret_copy, hold == HOLD_LIVE ? HOLD_NONE : hold, &checks)) {
				slot_abandon(slot, ret_copy, PROCESS_CHECKED_BYTES);
				continue;
			}
			process_slot_add_counts(segment, slot);
			if (ret_copy->state == PROCESS_ATTACHED ||
			    ret_copy->state == PROCESS_EXITED)
				segment_count(segment, COUNTER_processes_attached, 1);
			__atomic_store_n(&slot->writes, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&slot->mechanism, MECHANISM_LIBRARY, __ATOMIC_RELAXED);
			__atomic_store_n(&slot->keeps, 0, __ATOMIC_RELAXED);
			if (ret_copy->state == PROCESS_ANNOUNCED)
				segment_count(segment, COUNTER_processes_displaced, 1);
			*ret_index = index;
			return slot;
		}
	}
	segment_count(segment, COUNTER_lost_processes, 1);
	return NULL;
}

struct process_slot *process_slot_acquire(const struct segment *segment, struct process_ref process,
					  struct process_slot *ret_copy)
{
	struct process_slot *slot = process.serial ? process_slot_at(segment, process.index) : NULL;
	if (!slot || !slot_acquire(slot, ret_copy, PROCESS_CHECKED_BYTES))
		return NULL;
	if (ret_copy->serial == process.serial)
		return slot;
	slot_abandon(slot, ret_copy, PROCESS_CHECKED_BYTES);
	return NULL;
}
