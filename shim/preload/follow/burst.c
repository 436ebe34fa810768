/* Bursts of in-process reads: see burst.h. */
#include "shim/preload/follow/burst.h"

#include "shim/preload/state.h"
#include "tracker/segment/slot.h"
#include "tracker/sys/sys.h"

enum { BURSTS = 256, PROBES = 8, ATTEMPTS = 4 };

enum burst_flags {
	BURST_SNIFFED = 1, /* the first bytes were inspected, and nothing was read whole since */
	BURST_GIVEN = 2,   /* `given` was read whole, and is on record */
};

/* Reads of one file that are one request.  Written under the slot protocol, by any thread. */
struct burst {
	struct slot_head head;
	uint64_t key;         /* 0: empty */
	uint64_t number;      /* of the request; 0: nothing was read yet */
	uint64_t last_ns;     /* of the last read */
	uint64_t answered_ns; /* NOTICE: of the first one */
	/* when the process asked whether it may write to the file; 0: it asked something else
	 * since */
	uint64_t may_write_ns;
	uint32_t state; /* enum burst_state */
	uint32_t flags; /* enum burst_flags */
	struct version given;
};
static struct burst bursts[BURSTS];

uint64_t burst_length_ns(void)
{
	return shim.segment.settings->notice_burst_ms * 1000000u;
}

static bool is_over(const struct burst *burst, uint64_t now_ns)
{
	/* After a notice not by the last read, or a program that reads again and again would never
	 * get the file. */
	uint64_t since_ns = burst->state == BURST_NOTICE ? burst->answered_ns : burst->last_ns;
	return now_ns - since_ns > burst_length_ns();
}

/* Takes the slot of a file's burst.  NULL: it cannot be had; no burst gives way that is not
 * over. */
static struct burst *hold_burst(uint64_t key, uint64_t now_ns, struct burst *ret_copy)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct burst *slot = NULL;
		for (unsigned probe = 0; probe < PROBES; probe++) {
			struct burst *burst = &bursts[(key + probe) % BURSTS];
			uint64_t found = __atomic_load_n(&burst->key, __ATOMIC_RELAXED);
			uint64_t last = __atomic_load_n(&burst->last_ns, __ATOMIC_RELAXED);
			if (found == key) {
				slot = burst;
				break;
			}
			if (!slot && (found == 0 || now_ns - last > burst_length_ns()))
				slot = burst;
		}
		if (!slot)
			return NULL;
		if (!slot_acquire(slot, ret_copy, sizeof(*ret_copy)))
			continue;
		if (ret_copy->key == key)
			return slot;
		if (ret_copy->key == 0 || now_ns - ret_copy->last_ns > burst_length_ns()) {
			struct slot_head head = ret_copy->head;
			*ret_copy = (struct burst){ .head = head, .key = key };
			return slot;
		}
		slot_abandon(slot, ret_copy, sizeof(*ret_copy)); /* another thread's, meanwhile */
	}
	return NULL;
}

bool burst_join(uint64_t key, const struct request *as, bool first, bool from_start, bool whole,
		struct burst_place *ret_place)
{
	uint64_t now_ns = sys_boottime_ns();
	struct burst burst;
	struct burst *slot = hold_burst(key, now_ns, &burst);

	if (!slot)
		return false;
	ret_place->request = *as;
	if (!burst.number || is_over(&burst, now_ns)) {
		request_init_in_process(&shim.segment, &ret_place->request);
		burst.number = ret_place->request.number;
		burst.state = BURST_OPEN;
		burst.flags = 0;
	}
	ret_place->request.number = burst.number;
	ret_place->state = burst.state;
	if (shim.edit_pattern == EDIT_PATTERN_NO_SNIFF)
		ret_place->edits = whole && !(burst.flags & BURST_SNIFFED);
	else
		ret_place->edits = burst.may_write_ns &&
				   now_ns - burst.may_write_ns <= burst_length_ns();
	if (whole)
		burst.flags &= ~(uint32_t)BURST_SNIFFED;
	else if (first && from_start)
		burst.flags |= BURST_SNIFFED;
	/* Another thread that comes before this one has decided gets the real bytes. */
	if (whole && first && !ret_place->edits && burst.state == BURST_OPEN)
		burst.state = BURST_REAL;
	burst.last_ns = now_ns;
	slot_commit(slot, &burst, sizeof(burst));
	return true;
}

void burst_complete(uint64_t key, const struct burst_place *place)
{
	uint64_t now_ns = sys_boottime_ns();
	struct burst burst;
	struct burst *slot = hold_burst(key, now_ns, &burst);

	if (!slot)
		return;
	if (burst.number == place->request.number && burst.state != BURST_NOTICE) {
		burst.state = BURST_NOTICE;
		burst.answered_ns = now_ns;
	}
	slot_commit(slot, &burst, sizeof(burst));
}

bool burst_is_first_whole(uint64_t key, const struct burst_place *place,
			  const struct version *version)
{
	struct burst burst;
	struct burst *slot = hold_burst(key, sys_boottime_ns(), &burst);

	if (!slot)
		return false;
	bool is_first = burst.number == place->request.number &&
			(!(burst.flags & BURST_GIVEN) || !version_equal(&burst.given, version));
	if (is_first) {
		burst.flags |= BURST_GIVEN;
		burst.given = *version;
	}
	slot_commit(slot, &burst, sizeof(burst));
	return is_first;
}

void burst_note_may_write(uint64_t key, bool writes)
{
	uint64_t now_ns = sys_boottime_ns();
	struct burst burst;
	struct burst *slot = key ? hold_burst(key, now_ns, &burst) : NULL;

	if (!slot)
		return;
	burst.may_write_ns = writes ? now_ns : 0;
	if (!burst.number)
		burst.last_ns = now_ns;
	slot_commit(slot, &burst, sizeof(burst));
}
