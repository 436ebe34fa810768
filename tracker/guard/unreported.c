/* Warnings that could not be printed: see unreported.h. */
#include "tracker/guard/unreported.h"

#include <string.h>

#include "tracker/content/file.h"
#include "tracker/process/scope.h"
#include "tracker/segment/tables.h"
#include "tracker/segment/workspace.h"

static unsigned places(const struct segment *segment)
{
	uint64_t capacity = segment->capacity[TABLE_UNREPORTED];
	return capacity < UNREPORTED_MAX ? (unsigned)capacity : UNREPORTED_MAX;
}

static uint64_t bit(unsigned place)
{
	return UINT64_C(1) << place;
}

/* Takes the bit of a place.  False: it was not set. */
static bool clear_bit(const struct segment *segment, unsigned place)
{
	return __atomic_fetch_and(&segment->header->unreported, ~bit(place), __ATOMIC_ACQ_REL) &
	       bit(place);
}

static bool read_place(const struct segment *segment, unsigned place,
		       struct unreported_slot *ret_copy)
{
	return slot_read(segment_slot(segment, TABLE_UNREPORTED, place), ret_copy,
			 sizeof(*ret_copy)) &&
	       ret_copy->scope_id;
}

void unreported_add(const struct segment *segment, const struct guard_writer *writer,
		    const char *path, const struct guard_answer *answer)
{
	const struct context *context = writer->context;
	struct unreported_slot copy;

	if (!writer->scope_id || answer->verdict != GUARD_WARN || answer->reported ||
	    !(context->flags & CONTEXT_AGENT) ||
	    (writer->role != ROLE_AGENT && context->capture_id))
		return;
	unsigned place = (unsigned)(__atomic_fetch_add(&segment->header->next_unreported, 1,
						       __ATOMIC_RELAXED) %
				    places(segment));
	void *slot = segment_slot(segment, TABLE_UNREPORTED, place);
	if (!slot_acquire(slot, &copy, sizeof(copy)))
		return;
	/* Set while the slot cannot be read: who read the old slot finds another one afterwards. */
	(void)__atomic_fetch_or(&segment->header->unreported, bit(place), __ATOMIC_RELEASE);
	copy.scope_id = writer->scope_id;
	copy.path_key = path_key(segment, path);
	copy.before = answer->before;
	copy.changer = answer->changer;
	copy.reason = answer->reason;
	copy.kept = answer->kept;
	slot_commit(slot, &copy, sizeof(copy));
}

/* Do both scopes stand for one agent's work? */
static bool is_same_agent(const struct segment *segment, uint64_t scope_id, uint64_t other_id)
{
	uint64_t head = scope_head(segment, scope_id), other_head = scope_head(segment, other_id);

	return scope_id == other_id || head == other_id || other_head == scope_id ||
	       (head && head == other_head);
}

/* The place of the oldest one that waits for the scope.  False: there is none. */
static bool find(const struct segment *segment, uint64_t scope_id, uint64_t passed,
		 unsigned *ret_place, struct unreported_slot *ret_copy)
{
	uint64_t waiting = __atomic_load_n(&segment->header->unreported, __ATOMIC_ACQUIRE);
	uint64_t next = __atomic_load_n(&segment->header->next_unreported, __ATOMIC_RELAXED);
	unsigned count = places(segment);

	for (unsigned i = 0; scope_id && i < count; i++) {
		unsigned place = (unsigned)((next + i) % count);
		if (!(waiting & ~passed & bit(place)) || !read_place(segment, place, ret_copy) ||
		    !is_same_agent(segment, scope_id, ret_copy->scope_id))
			continue;
		*ret_place = place;
		return true;
	}
	return false;
}

/* Claims the slot that was read.  False: another process did, or the slot was written anew. */
static bool claim_place(const struct segment *segment, unsigned place,
			const struct unreported_slot *read)
{
	struct unreported_slot now;

	if (!clear_bit(segment, place))
		return false;
	if (read_place(segment, place, &now) && memcmp(&now, read, sizeof(now)) == 0)
		return true;
	unreported_release(segment, place);
	return false;
}

bool unreported_waits(const struct segment *segment, uint64_t scope_id)
{
	struct unreported_slot copy;
	unsigned place;
	return find(segment, scope_id, 0, &place, &copy);
}

bool unreported_claim(const struct segment *segment, uint64_t scope_id, unsigned *ret_place,
		      struct guard_answer *ret_answer, char *ret_path, size_t capacity)
{
	struct unreported_slot copy;
	struct file_slot file;
	uint64_t passed = 0;
	unsigned place;

	for (; find(segment, scope_id, passed, &place, &copy); passed |= bit(place)) {
		/* A file that is on record no more is left to the end of the run. */
		if (file_find(segment, copy.path_key, &file) < 0 ||
		    file_path(segment, &file, ret_path, capacity) <= 0 ||
		    !claim_place(segment, place, &copy))
			continue;
		*ret_place = place;
		*ret_answer = (struct guard_answer){
			.verdict = GUARD_WARN,
			.reason = copy.reason == GUARD_UNREAD ? GUARD_UNREAD : GUARD_STALE,
			.kept = copy.kept != 0,
			.before = copy.before,
			.changer = copy.changer,
		};
		return true;
	}
	return false;
}

void unreported_release(const struct segment *segment, unsigned place)
{
	if (place < places(segment))
		(void)__atomic_fetch_or(&segment->header->unreported, bit(place), __ATOMIC_RELEASE);
}

/* Is the warning there about that content of a file? */
static bool is_about(const struct segment *segment, unsigned place, uint64_t key,
		     const struct version *before)
{
	struct unreported_slot copy;
	return read_place(segment, place, &copy) && copy.path_key == key &&
	       version_equal(&copy.before, before);
}

void unreported_withdraw(const struct segment *segment, uint64_t key, const struct version *before)
{
	if (!unreported_any(segment))
		return;
	for (unsigned place = 0; place < places(segment); place++)
		if (is_about(segment, place, key, before) && clear_bit(segment, place))
			return; /* another one is another call's */
}

bool unreported_finish(const struct segment *segment, const char *path,
		       const struct version *before)
{
	uint64_t key = path_key(segment, path);
	bool is_there = false, waits = false;

	for (unsigned place = 0; place < places(segment); place++)
		if (is_about(segment, place, key, before)) {
			is_there = true;
			waits = clear_bit(segment, place) || waits;
		}
	return is_there && !waits;
}
