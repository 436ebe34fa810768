/* Remembered commands: see remembered.h. */
#include "tracker/answer/remembered.h"

#include <errno.h>
#include <string.h>

#include "tracker/content/contents_inputs.h"
#include "tracker/segment/pair.h"
#include "tracker/sys/sys.h"

static const struct pair_table REMEMBERED = {
	.table = TABLE_REMEMBERED,
	.slot_bytes = sizeof(struct remembered_slot),
	.time_offset = offsetof(struct remembered_slot, time_ns),
	.attempts = 4,
};

static const uint64_t REFUSED = UINT64_MAX, /* `output_bytes` of such a command */
	REFUSED_NS = 600 * UINT64_C(1000000000);

static uint64_t key_of(const struct version *identity)
{
	return identity->low ? identity->low : 1;
}

int remembered_find(const struct segment *segment, uint64_t scope_id,
		    const struct version *identity, struct remembered_slot *ret_remembered)
{
	struct remembered_slot copy;
	if (!pair_read(segment, &REMEMBERED, scope_id, key_of(identity), &copy) ||
	    !version_equal(&copy.identity, identity))
		return -ENOENT;
	*ret_remembered = copy;
	return 0;
}

bool remembered_is_current(const struct segment *segment, const struct remembered_slot *remembered,
			   const struct moment *moment, const struct output_limits *limits)
{
	const struct moment given = MOMENT_OF(remembered);

	return moment_is_current(segment, &given, moment, limits);
}

int remembered_inputs(const struct segment *segment, const struct remembered_slot *remembered,
		      struct inputs *inputs)
{
	ssize_t got = contents_read_inputs(segment, remembered->file, inputs->bytes,
					   INPUTS_BYTES_MAX);
	if (got < 0)
		return (int)got;
	struct version version = version_of_bytes(inputs->bytes, (uint64_t)got);
	if (!version_equal(&version, &remembered->inputs))
		return -EBADMSG;
	inputs->size_bytes = (size_t)got;
	return 0;
}

/* Where a scope has as many as it may, the oldest other one is forgotten. */
static void make_room(const struct segment *segment, uint64_t scope_id, uint64_t key)
{
	struct remembered_slot copy, oldest = { .time_ns = UINT64_MAX };
	unsigned count = 0;

	for (uint64_t i = 0; i < segment->capacity[TABLE_REMEMBERED]; i++) {
		if (!slot_read(segment_slot(segment, TABLE_REMEMBERED, i), &copy, sizeof(copy)) ||
		    copy.scope_id != scope_id || copy.key == key || !copy.command_id)
			continue;
		count++;
		if (copy.time_ns < oldest.time_ns)
			oldest = copy;
	}
	if (count < REMEMBERED_OF_SCOPE_MAX)
		return;
	struct remembered_slot *slot = pair_hold(segment, &REMEMBERED, scope_id, oldest.key, false,
						 &copy);
	if (!slot)
		return;
	copy.command_id = 0;
	copy.time_ns = 0; /* its place is the next to be taken */
	slot_commit(slot, &copy, sizeof(copy));
}

int remembered_record(const struct segment *segment, const struct version *identity,
		      const struct inputs *inputs, uint64_t output_bytes,
		      const struct moment *moment)
{
	struct version version = version_of_bytes(inputs->bytes, inputs->size_bytes);
	uint64_t key = key_of(identity);
	struct remembered_slot copy;

	make_room(segment, moment->scope_id, key);
	struct remembered_slot *slot = pair_hold(segment, &REMEMBERED, moment->scope_id, key, true,
						 &copy);
	if (!slot) {
		segment_count(segment, COUNTER_lost_requests, 1);
		return -ENOSPC;
	}
	if (!version_equal(&copy.identity, identity) || !version_equal(&copy.inputs, &version) ||
	    copy.session_epoch != moment->session_epoch || copy.scope_epoch != moment->scope_epoch)
		copy.notice_request = copy.yield_until = 0;
	copy.identity = *identity;
	copy.inputs = version;
	MOMENT_STORE(&copy, moment);
	copy.output_bytes = output_bytes;
	copy.file = ((uint64_t)(uintptr_t)slot -
		     (uint64_t)(uintptr_t)segment->tables[TABLE_REMEMBERED]) /
		    sizeof(*slot);
	slot_commit(slot, &copy, sizeof(copy));
	/* Behind the slot, whose place names the file: a reader that comes in between finds another
	 * list than the slot names. */
	int error = contents_write_inputs(segment, copy.file, inputs->bytes, inputs->size_bytes);
	if (error < 0)
		segment_count(segment, COUNTER_lost_requests, 1);
	return error;
}

void remembered_refuse(const struct segment *segment, const struct version *identity,
		       const struct moment *moment)
{
	struct remembered_slot copy;
	struct remembered_slot *slot = pair_hold(segment, &REMEMBERED, moment->scope_id,
						 key_of(identity), true, &copy);

	if (!slot)
		return;
	copy.identity = *identity;
	copy.session_epoch = moment->session_epoch;
	copy.scope_epoch = moment->scope_epoch;
	copy.command_id = 0; /* as one that was forgotten: it counts for nothing else */
	copy.output_bytes = REFUSED;
	copy.notice_request = copy.yield_until = 0;
	copy.time_ns = moment->time_ns;
	slot_commit(slot, &copy, sizeof(copy));
}

bool remembered_is_refused(const struct remembered_slot *remembered, const struct moment *moment)
{
	return !remembered->command_id && remembered->output_bytes == REFUSED &&
	       remembered->session_epoch == moment->session_epoch &&
	       remembered->scope_epoch == moment->scope_epoch &&
	       moment->time_ns - remembered->time_ns < REFUSED_NS;
}

void remembered_note(const struct segment *segment, const struct remembered_slot *remembered,
		     struct note note)
{
	struct remembered_slot copy;
	struct remembered_slot *slot = pair_hold(segment, &REMEMBERED, remembered->scope_id,
						 remembered->key, false, &copy);
	if (!slot)
		return;
	if (copy.notice_request < note.notice_request)
		copy.notice_request = note.notice_request;
	if (copy.yield_until < note.yield_until)
		copy.yield_until = note.yield_until;
	slot_commit(slot, &copy, sizeof(copy));
}

bool remembered_yields(const struct segment *segment, const struct remembered_slot *remembered,
		       uint64_t request)
{
	struct note note = { remembered->notice_request, remembered->yield_until };

	if (!note_asks_again(segment, note, request))
		return false;
	segment_count(segment, COUNTER_yields, 1);
	if (request > note.yield_until)
		remembered_note(
			segment, remembered,
			(struct note){ .yield_until = request +
						      segment->settings->notice_insist_requests });
	return true;
}

void remembered_unnote(const struct segment *segment, const struct remembered_slot *remembered,
		       uint64_t notice_request)
{
	struct remembered_slot copy;
	struct remembered_slot *slot = pair_hold(segment, &REMEMBERED, remembered->scope_id,
						 remembered->key, false, &copy);
	if (!slot)
		return;
	if (copy.notice_request == notice_request)
		copy.notice_request = 0;
	slot_commit(slot, &copy, sizeof(copy));
}

unsigned remembered_forget(const struct segment *segment, uint64_t scope_id)
{
	unsigned invalidated = 0;

	for (uint64_t i = 0; i < segment->capacity[TABLE_REMEMBERED]; i++) {
		struct remembered_slot *slot = segment_slot(segment, TABLE_REMEMBERED, i);
		struct remembered_slot copy;
		uint64_t of = __atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED);
		if (!of || (scope_id && of != scope_id))
			continue;
		if (!slot_acquire_surely(slot, &copy, sizeof(copy)))
			continue;
		invalidated += copy.command_id != 0;
		copy.command_id = 0;
		copy.notice_request = 0;
		copy.yield_until = 0;
		slot_commit(slot, &copy, sizeof(copy));
	}
	return invalidated;
}
