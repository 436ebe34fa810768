/* Parts: see line_range.h. */
#include "tracker/answer/line_range.h"

#include <errno.h>
#include <string.h>

#include "tracker/segment/pair.h"
#include "tracker/sys/sys.h"

static const struct pair_table PARTS = {
	.table = TABLE_LINE_RANGES,
	.slot_bytes = sizeof(struct line_range_slot),
	.time_offset = offsetof(struct line_range_slot, time_ns),
	.attempts = 4,
};

static bool is_one_output(const struct line_range *a, const struct line_range *b)
{
	return a->request == b->request && a->command_id == b->command_id;
}

/* Adds a part, with what the same request printed before and behind it as one.  It takes the place
 * of those that it holds, since it is younger; else of the oldest. */
static void add(struct line_range_slot *slot, struct line_range part)
{
	struct line_range *place = NULL;

	for (int i = 0; i < LINE_RANGES_MAX; i++) {
		struct line_range *other = &slot->parts[i];
		if (other->first && is_one_output(other, &part) && other->first <= part.last + 1 &&
		    part.first <= other->last + 1) {
			if (part.first > other->first)
				part.first = other->first;
			if (part.last < other->last)
				part.last = other->last;
			other->first = 0;
			i = -1; /* it has grown: it may meet one that was passed */
		}
	}
	for (int i = 0; i < LINE_RANGES_MAX; i++) {
		struct line_range *other = &slot->parts[i];
		if (part.first <= other->first && other->last <= part.last)
			other->first = 0;
		if (!place || (place->first && (!other->first || other->time_ns < place->time_ns)))
			place = other;
	}
	*place = part;
}

/* When the last part was given; 0: there is none. */
static uint64_t last_part_ns(const struct line_range_slot *slot)
{
	uint64_t last_ns = 0;

	for (int i = 0; i < LINE_RANGES_MAX; i++)
		if (slot->parts[i].first && slot->parts[i].time_ns > last_ns)
			last_ns = slot->parts[i].time_ns;
	return last_ns;
}

int line_range_record(const struct segment *segment, uint64_t file_key,
		      const struct version *version, uint64_t line_count, const struct span *spans,
		      unsigned count, const struct moment *moment)
{
	struct line_range_slot copy;
	struct line_range_slot *slot = pair_hold(segment, &PARTS, moment->scope_id, file_key, true,
						 &copy);

	if (!slot) {
		segment_count(segment, COUNTER_lost_parts, 1);
		return -ENOSPC;
	}
	if (copy.session_epoch != moment->session_epoch ||
	    copy.scope_epoch != moment->scope_epoch || copy.line_count != line_count ||
	    !version_equal(&copy.version, version)) {
		uint64_t last_ns = last_part_ns(&copy);
		if (last_ns && !version_equal(&copy.version, version))
			copy.other_ns = last_ns;
		memset(copy.parts, 0, sizeof(copy.parts));
		copy.session_epoch = moment->session_epoch;
		copy.scope_epoch = moment->scope_epoch;
		copy.line_count = line_count;
		copy.version = *version;
	}
	for (unsigned i = 0; i < count; i++)
		add(&copy, (struct line_range){ .first = spans[i].first,
						.last = spans[i].last,
						.command_id = moment->command_id,
						.request = moment->request,
						.bytes_given = moment->bytes_given,
						.time_ns = moment->time_ns });
	copy.time_ns = moment->time_ns;
	slot_commit(slot, &copy, sizeof(copy));
	return 0;
}

uint64_t line_range_since(const struct segment *segment, uint64_t file_key,
			  const struct moment *moment)
{
	struct line_range_slot copy;
	uint64_t since_ns = 0;

	if (!pair_read(segment, &PARTS, moment->scope_id, file_key, &copy))
		return 0;
	for (int i = 0; i < LINE_RANGES_MAX; i++)
		if (copy.parts[i].first && (!since_ns || copy.parts[i].time_ns < since_ns))
			since_ns = copy.parts[i].time_ns;
	return since_ns;
}

bool line_range_is_other(const struct segment *segment, uint64_t file_key,
			 const struct moment *moment, const struct version *version,
			 uint64_t after_ns)
{
	struct line_range_slot copy;

	if (!pair_read(segment, &PARTS, moment->scope_id, file_key, &copy) ||
	    copy.session_epoch != moment->session_epoch || copy.scope_epoch != moment->scope_epoch)
		return false;
	return copy.other_ns > after_ns ||
	       (!version_equal(&copy.version, version) && last_part_ns(&copy) > after_ns);
}

void line_range_drop_others(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
			    const struct version *version)
{
	struct line_range_slot copy;

	if (!pair_read(segment, &PARTS, scope_id, file_key, &copy) ||
	    version_equal(&copy.version, version))
		return;
	struct line_range_slot *slot = pair_hold(segment, &PARTS, scope_id, file_key, false, &copy);
	if (!slot)
		return;
	if (!version_equal(&copy.version, version))
		memset(copy.parts, 0, sizeof(copy.parts));
	slot_commit(slot, &copy, sizeof(copy));
}

/* How far the parts reach from behind a line on, without a gap. */
static uint64_t reach(const struct line_range_slot *slot, uint64_t line)
{

	for (int i = 0; i < LINE_RANGES_MAX; i++) {
		const struct line_range *part = &slot->parts[i];
		if (part->first && part->first - 1 <= line && part->last > line) {
			line = part->last;
			i = -1; /* it may meet one that was passed */
		}
	}
	return line;
}

/* Does a part count at this moment?  As a delivery of the whole file would. */
static bool is_current(const struct segment *segment, const struct line_range_slot *slot,
		       const struct line_range *part, const struct moment *moment,
		       const struct output_limits *limits)
{
	const struct moment given = {
		.scope_id = slot->scope_id,
		.session_epoch = slot->session_epoch,
		.scope_epoch = slot->scope_epoch,
		.command_id = part->command_id,
		.request = part->request,
		.bytes_given = part->bytes_given,
		.time_ns = part->time_ns,
	};
	return moment_is_current(segment, &given, moment, limits);
}

/* span: NULL: all lines. */
static bool has(const struct segment *segment, uint64_t file_key, const struct moment *moment,
		const struct output_limits *limits, uint64_t after_ns, const struct span *span,
		struct version *ret_version)
{
	struct line_range_slot slot;

	if (!pair_read(segment, &PARTS, moment->scope_id, file_key, &slot) || !slot.line_count)
		return false;
	uint64_t before = span ? span->first - 1 : 0, last = span ? span->last : slot.line_count;
	if (reach(&slot, before) < last)
		return false;
	for (int i = 0; i < LINE_RANGES_MAX; i++) {
		struct line_range *part = &slot.parts[i];
		if (part->first && (part->time_ns <= after_ns ||
				    !is_current(segment, &slot, part, moment, limits)))
			part->first = 0;
	}
	if (reach(&slot, before) < last)
		return false;
	*ret_version = slot.version;
	return true;
}

bool line_range_is_whole(const struct segment *segment, uint64_t file_key,
			 const struct moment *moment, const struct output_limits *limits,
			 uint64_t after_ns, struct version *ret_version)
{
	return has(segment, file_key, moment, limits, after_ns, NULL, ret_version);
}

bool line_range_has(const struct segment *segment, uint64_t file_key, const struct moment *moment,
		    const struct output_limits *limits, uint64_t after_ns, const struct span *span,
		    struct version *ret_version)
{
	return span->first && span->first <= span->last &&
	       has(segment, file_key, moment, limits, after_ns, span, ret_version);
}

unsigned line_range_forget(const struct segment *segment, uint64_t scope_id, uint64_t file_key)
{
	unsigned invalidated = 0;

	/* Either this sees a part that is being recorded, or decision_give_lines() sees the
	 * forget. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (uint64_t i = 0; i < segment->capacity[TABLE_LINE_RANGES]; i++) {
		struct line_range_slot *slot = segment_slot(segment, TABLE_LINE_RANGES, i);
		struct line_range_slot copy;
		if (__atomic_load_n(&slot->file_key, __ATOMIC_RELAXED) != file_key ||
		    (scope_id && __atomic_load_n(&slot->scope_id, __ATOMIC_RELAXED) != scope_id))
			continue;
		if (!slot_acquire_surely(slot, &copy, sizeof(copy)))
			continue;
		if (copy.file_key == file_key) {
			invalidated += copy.line_count > 0;
			copy.line_count = 0;
			memset(copy.parts, 0, sizeof(copy.parts));
			slot_commit(slot, &copy, sizeof(copy));
		} else {
			slot_abandon(slot, &copy, sizeof(copy));
		}
	}
	return invalidated;
}
