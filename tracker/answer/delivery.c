/* Deliveries: see delivery.h. */
#include "tracker/answer/delivery.h"

#include <errno.h>

#include "tracker/answer/proof.h"
#include "tracker/process/capture.h"
#include "tracker/process/scope.h"
#include "tracker/segment/pair.h"
#include "tracker/sys/sys.h"

static const struct pair_table DELIVERIES = {
	.table = TABLE_DELIVERIES,
	.slot_bytes = sizeof(struct delivery_slot),
	.time_offset = offsetof(struct delivery_slot, time_ns),
	.attempts = 4,
};

static uint64_t now_of(const struct segment *segment)
{
	return segment->replayed_ns ? segment->replayed_ns : sys_boottime_ns();
}

struct moment moment_now(const struct segment *segment, uint64_t scope_id, uint64_t request,
			 uint64_t capture_id, uint64_t command_id)
{
	const struct scope_slot *scope = scope_find(segment, scope_id);
	uint32_t flags = 0;
	uint64_t epoch = scope_state(segment, scope_id, &flags);
	return (struct moment){
		.scope_id = scope_id,
		.session_epoch = __atomic_load_n(&segment->header->epoch, __ATOMIC_ACQUIRE),
		.scope_epoch = epoch,
		.scope_flags = flags,
		.request = request,
		.capture_id = capture_id,
		.command_id = command_id,
		.bytes_given = scope ? __atomic_load_n(&scope->bytes_given, __ATOMIC_RELAXED) : 0,
		.time_ns = now_of(segment),
	};
}

int delivery_find(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		  struct delivery_slot *ret_delivery)
{
	struct delivery_slot copy;
	if (!pair_read(segment, &DELIVERIES, scope_id, file_key, &copy))
		return -ENOENT;
	*ret_delivery = copy;
	return 0;
}

bool window_holds(const struct settings *settings, uint64_t requests, uint64_t bytes,
		  uint64_t age_ns)
{
	return requests <= settings->window_requests &&
	       (!settings->window_bytes || bytes <= settings->window_bytes) &&
	       (!settings->window_age_s || age_ns <= settings->window_age_s * 1000000000u);
}

/* Given in the moment's epoch, and still inside the window? */
static bool is_in_window(const struct segment *segment, const struct moment *given,
			 const struct moment *moment)
{

	if (!given->command_id || !given->scope_epoch || given->scope_id != moment->scope_id ||
	    given->session_epoch != moment->session_epoch ||
	    given->scope_epoch != moment->scope_epoch)
		return false;
	/* A number from the future: the scope's slot was lost and counts from elsewhere. */
	return moment->request >= given->request && moment->bytes_given >= given->bytes_given &&
	       moment->time_ns >= given->time_ns &&
	       window_holds(segment->settings, moment->request - given->request,
			    moment->bytes_given - given->bytes_given,
			    moment->time_ns - given->time_ns);
}

struct output_limits limits_assumed(const struct output_limits *limits)
{
	struct output_limits assumed = { .bytes = ASSUMED_BYTES,
					 .lines = ASSUMED_LINES,
					 .line_bytes = ASSUMED_LINE_BYTES };

	if (limits && limits->bytes < assumed.bytes)
		assumed.bytes = limits->bytes;
	if (limits && limits->lines < assumed.lines)
		assumed.lines = limits->lines;
	if (limits && limits->line_bytes < assumed.line_bytes)
		assumed.line_bytes = limits->line_bytes;
	return assumed;
}

enum grade command_grade(const struct segment *segment, const struct moment *given,
			 const struct moment *moment, const struct output_limits *limits)
{
	enum grade grade = limits->is_measured ? GRADE_MEASURED : GRADE_ASSUMED;
	struct output_limits assumed;
	bool is_within;

	if (!given->command_id)
		return GRADE_NONE;
	if (given->command_id == DELIVERY_UNCUT)
		return GRADE_MEASURED;
	switch (proof_of_command(segment, given->command_id)) {
	case PROOF_WHOLE:
	case PROOF_REPORTED:
		return GRADE_PROVEN;
	case PROOF_CONTRADICTED:
	case PROOF_OFF_BRANCH:
		return GRADE_NONE;
	case PROOF_NONE:
		break;
	}
	if (moment->scope_flags & SCOPE_PROVES) {
		if (moment->time_ns < given->time_ns + PROOF_WAIT_NS)
			return GRADE_NONE;
		grade = GRADE_ASSUMED;
		assumed = limits_assumed(limits);
		limits = &assumed;
	}
	/* In the command that still runs the content stands above in the same output, so far
	 * uncut. */
	if (given->command_id == moment->command_id)
		is_within = command_within_so_far(segment, moment->capture_id, moment->command_id,
						  limits);
	else
		is_within = command_within(segment, given->command_id, limits);
	return is_within ? grade : GRADE_NONE;
}

enum grade moment_grade(const struct segment *segment, const struct moment *given,
			const struct moment *moment, const struct output_limits *limits)
{
	if (!is_in_window(segment, given, moment) || moment->scope_flags & SCOPE_MUTE)
		return GRADE_NONE;
	return command_grade(segment, given, moment, limits);
}

bool moment_is_current(const struct segment *segment, const struct moment *given,
		       const struct moment *moment, const struct output_limits *limits)
{
	return moment_grade(segment, given, moment, limits) != GRADE_NONE;
}

bool delivery_is_current(const struct segment *segment, const struct delivery_slot *delivery,
			 const struct moment *moment, const struct output_limits *limits)
{
	const struct moment given = MOMENT_OF(delivery);

	return moment_is_current(segment, &given, moment, limits);
}

int delivery_record(const struct segment *segment, uint64_t file_key, const struct version *version,
		    const struct moment *moment)
{
	struct delivery_slot copy;
	struct delivery_slot *slot = pair_hold(segment, &DELIVERIES, moment->scope_id, file_key,
					       true, &copy);

	if (!slot) {
		segment_count(segment, COUNTER_lost_deliveries, 1);
		return -ENOSPC;
	}
	copy.version = *version;
	MOMENT_STORE(&copy, moment);
	slot_commit(slot, &copy, sizeof(copy));
	return 0;
}

/* Where a file's note is: beside its delivery, which may be of another version. */
static uint64_t note_key(uint64_t file_key)
{
	return file_key ^ 0x73772079656e6f74u;
}

static bool is_note_for(const struct delivery_slot *slot, const struct moment *moment,
			const struct version *version)
{
	return slot->session_epoch == moment->session_epoch &&
	       slot->scope_epoch == moment->scope_epoch && version_equal(&slot->version, version);
}

bool note_asks_again(const struct segment *segment, struct note note, uint64_t request)
{
	const struct settings *settings = segment->settings;
	if (settings->notice_yield != NOTICE_YIELD_INSIST)
		return false;
	if (request <= note.yield_until)
		return true;
	return note.notice_request && request >= note.notice_request &&
	       request - note.notice_request <= settings->notice_insist_requests;
}

struct note delivery_noted(const struct segment *segment, const struct moment *moment,
			   uint64_t file_key, const struct version *version)
{
	struct delivery_slot slot;
	if (delivery_find(segment, moment->scope_id, note_key(file_key), &slot) < 0 ||
	    !is_note_for(&slot, moment, version))
		return (struct note){ 0, 0 };
	return (struct note){ slot.notice_request, slot.yield_until };
}

void delivery_note(const struct segment *segment, const struct moment *moment, uint64_t file_key,
		   const struct version *version, struct note note)
{
	struct delivery_slot copy;
	struct delivery_slot *slot = pair_hold(segment, &DELIVERIES, moment->scope_id,
					       note_key(file_key), true, &copy);

	if (!slot)
		return;
	if (!is_note_for(&copy, moment, version)) {
		copy.version = *version;
		copy.session_epoch = moment->session_epoch;
		copy.scope_epoch = moment->scope_epoch;
		copy.notice_request = 0;
		copy.yield_until = 0;
	}
	if (copy.notice_request < note.notice_request)
		copy.notice_request = note.notice_request;
	if (copy.yield_until < note.yield_until)
		copy.yield_until = note.yield_until;
	copy.time_ns = moment->time_ns;
	slot_commit(slot, &copy, sizeof(copy));
}

void delivery_unnote(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		     uint64_t notice_request)
{
	struct delivery_slot copy;
	struct delivery_slot *slot = pair_hold(segment, &DELIVERIES, scope_id, note_key(file_key),
					       false, &copy);

	if (!slot)
		return;
	if (copy.notice_request == notice_request)
		copy.notice_request = 0;
	slot_commit(slot, &copy, sizeof(copy));
}

unsigned delivery_forget(const struct segment *segment, uint64_t scope_id, uint64_t file_key)
{
	uint64_t now_ns = now_of(segment);
	unsigned invalidated = 0;

	/* Either this sees a delivery that is being recorded, or decision_deliver() sees the
	 * forget. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	SEGMENT_EACH_USED (segment, TABLE_DELIVERIES, i) {
		struct delivery_slot *slot = segment_slot(segment, TABLE_DELIVERIES, i);
		struct delivery_slot copy;
		uint64_t key = __atomic_load_n(&slot->file_key, __ATOMIC_RELAXED);
		if ((key != file_key && key != note_key(file_key)) ||
		    (scope_id && __atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED) != scope_id))
			continue;
		if (!slot_acquire_surely(slot, &copy, sizeof(copy)))
			continue;
		if (copy.file_key == key) {
			invalidated += copy.command_id != 0;
			copy.command_id = 0;
			copy.notice_request = 0;
			copy.yield_until = 0;
			copy.time_ns = now_ns;
			slot_commit(slot, &copy, sizeof(copy));
		} else {
			slot_abandon(slot, &copy, sizeof(copy));
		}
	}
	return invalidated;
}

void delivery_forget_names(const struct segment *segment, uint64_t scope_id, uint64_t file_key)
{
	for (uint64_t i = 0; i < segment->capacity[TABLE_SCOPES]; i++) {
		const struct scope_slot *scope = segment_slot(segment, TABLE_SCOPES, i);
		struct delivery_slot *slot = NULL, copy;
		uint64_t id = __atomic_load_n(&scope->id, __ATOMIC_RELAXED);
		if (id && (!scope_id || id == scope_id))
			slot = pair_hold(segment, &DELIVERIES, id, file_key, true, &copy);
		if (!slot)
			continue;
		copy.command_id = 0;
		copy.time_ns = sys_boottime_ns();
		slot_commit(slot, &copy, sizeof(copy));
	}
}
