/* Which undo records are meant: see undo_range.h. */
#include "cli/undo/undo_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/argument.h"

int undo_ranges_read(const struct steps *steps, const struct tree_records *records, int directory,
		     struct undo_ranges *ret_ranges)
{
	*ret_ranges = (struct undo_ranges){ .steps = steps, .records = records };
	int error = operation_heads(directory, &ret_ranges->heads, &ret_ranges->head_count,
				    &ret_ranges->next);
	if (error == 0) {
		ret_ranges->passed = calloc(steps->count + 1, sizeof(*ret_ranges->passed));
		ret_ranges->apart = calloc(ret_ranges->head_count + 1, sizeof(*ret_ranges->apart));
		error = ret_ranges->passed && ret_ranges->apart ? 0 : -ENOMEM;
	}
	return error;
}

void undo_ranges_free(struct undo_ranges *ranges)
{
	free(ranges->heads);
	free(ranges->passed);
	free(ranges->apart);
	*ranges = (struct undo_ranges){ .steps = NULL };
}

uint32_t undo_range_unfinished(const struct undo_ranges *ranges)
{
	for (size_t i = 0; i < ranges->head_count; i++)
		if (ranges->heads[i].state == OPERATION_STARTED)
			return ranges->heads[i].number;
	return 0;
}

/* ---- what was undone ---- */

static uint32_t step_of(const struct undo_ranges *ranges, const struct tree_record *record)
{
	const struct step *step = steps_of_change(ranges->steps, record->process, record->time_ns);

	return step ? step->number : 0;
}

uint32_t undo_range_step_of(const struct undo_ranges *ranges, const struct operation_head *head)
{
	const struct tree_records *records = ranges->records;

	for (size_t i = 0; i < records->count && head->flags & OPERATION_STEP; i++)
		if (!records->records[i].operation && records->records[i].place == head->from_place)
			return step_of(ranges, &records->records[i]);
	return head->step;
}

static bool is_change(const struct tree_record *record)
{
	return !record->failed && pack_is_change(record->kind);
}

/* It was no change of the workspace when its sandbox had made it. */
static bool is_mount_point(const struct undo_ranges *ranges, const struct tree_record *record)
{
	bool is_empty = S_ISREG(record->before.mode) && !record->before.size_bytes;

	return record->kind == PACK_REMOVED && (S_ISDIR(record->before.mode) || is_empty) &&
	       steps_is_mount_point(ranges->steps, record->process, record->path,
				    (uint64_t)record->before.creation_ns, record->time_ns);
}

void undo_range_pass(struct undo_ranges *ranges, uint32_t step)
{
	if (step <= ranges->steps->count)
		ranges->passed[step] = true;
}

static const struct operation_head *head_of(const struct undo_ranges *ranges, uint32_t operation)
{
	for (size_t i = 0; i < ranges->head_count; i++)
		if (ranges->heads[i].number == operation)
			return &ranges->heads[i];
	return NULL;
}

/* Is all that an undo or redo was about in the range from a place on?  Else it took back, or did
 * again, what lies before: that stays.  An undo in the range that was redone comes to nothing. */
static bool is_within(const struct undo_ranges *ranges, const struct operation_head *head,
		      uint64_t from_place)
{
	if (head && head->kind == OPERATION_REDO)
		head = head_of(ranges, head->reverses);
	return head && (head->from_place >= from_place ||
			(head->redone_by && head->behind_place > from_place));
}

/* Does an undo that was not redone cover a record of a process of the session? */
static bool covers(const struct operation_head *head, const struct tree_record *record,
		   uint32_t step)
{
	return head->kind == OPERATION_UNDO && !head->redone_by &&
	       !(head->flags & OPERATION_PATHS) && record->place < head->behind_place &&
	       record->place >= head->from_place && record->time_ns >= head->from_time_ns &&
	       (head->step == 0 || head->step == step);
}

/* Was this record, of a process of the session, taken back whole? */
static bool is_undone_record(const struct undo_ranges *ranges, const struct tree_record *record)
{
	uint32_t step = step_of(ranges, record);

	if (step <= ranges->steps->count && ranges->passed[step])
		return true;
	for (size_t i = 0; i < ranges->head_count; i++)
		if (ranges->heads[i].state == OPERATION_DONE &&
		    covers(&ranges->heads[i], record, step))
			return true;
	return false;
}

static bool is_below_any(const char *path, char *const *paths)
{
	for (; path[0] == '/' && *paths; paths++)
		if (argument_is_below(path, *paths))
			return true;
	return false;
}

/* Was an undo about it that left some of it? */
static bool is_left(const struct undo_ranges *ranges, const struct tree_record *record,
		    uint32_t step)
{
	for (size_t i = 0; i < ranges->head_count; i++)
		if (ranges->heads[i].state == OPERATION_PARTLY &&
		    covers(&ranges->heads[i], record, step))
			return true;
	return false;
}

struct undo_last undo_range_last(const struct undo_ranges *ranges, char *const *paths)
{
	struct undo_last last = { .step = 0 };

	for (size_t i = ranges->records->count; i-- > 0;) {
		const struct tree_record *record = &ranges->records->records[i];
		if (record->operation || !is_change(record) ||
		    (paths && !is_below_any(record->path, paths) &&
		     !is_below_any(record->other, paths)) ||
		    is_undone_record(ranges, record) || is_mount_point(ranges, record))
			continue;
		uint32_t step = step_of(ranges, record);
		if (step && is_left(ranges, record, step)) {
			last.left = last.left ? last.left : step;
			continue;
		}
		last.step = step;
		last.is_stepless = !step;
		return last;
	}
	return last;
}

void undo_range_undone(const struct undo_ranges *ranges, bool *is_undone)
{
	for (size_t i = 0; i < ranges->records->count; i++) {
		const struct tree_record *record = &ranges->records->records[i];
		uint32_t step = !record->operation && is_change(record) ? step_of(ranges, record)
									: 0;
		if (step)
			is_undone[step] = is_undone_record(ranges, record);
	}
}

/* ---- ranges ---- */

static enum tree_selection select_step(const struct tree_record *record, void *data)
{
	const struct undo_ranges *ranges = data;

	if (record->operation || is_undone_record(ranges, record) || is_mount_point(ranges, record))
		return TREE_NEUTRAL;
	return step_of(ranges, record) == ranges->step ? TREE_SELECTED : TREE_OTHER;
}

static enum tree_selection select_no_mounts(const struct tree_record *record, void *data)
{
	return !record->operation && is_mount_point(data, record) ? TREE_NEUTRAL : TREE_SELECTED;
}

void undo_range_all(struct undo_ranges *ranges, struct tree_range *ret_range)
{
	const struct tree_records *records = ranges->records;

	*ret_range = (struct tree_range){ .data = ranges };
	for (size_t i = 0; i < records->count && !ret_range->select; i++)
		if (!records->records[i].operation && is_mount_point(ranges, &records->records[i]))
			ret_range->select = select_no_mounts;
}

void undo_range_step(struct undo_ranges *ranges, uint32_t step, struct tree_range *ret_range)
{
	const struct tree_records *records = ranges->records;
	size_t first = 0;
	bool alone = true, has_mounts = false;

	while (first < records->count &&
	       (records->records[first].operation || !is_change(&records->records[first]) ||
		step_of(ranges, &records->records[first]) != step))
		first++;
	*ret_range = (struct tree_range){ .from_place = UINT64_MAX };
	if (first == records->count)
		return;
	ranges->step = step;
	ret_range->from_place = records->records[first].place;
	for (size_t i = first; i < records->count && alone; i++) {
		const struct tree_record *record = &records->records[i];
		bool is_mount = !record->operation && is_mount_point(ranges, record);
		has_mounts = has_mounts || is_mount;
		alone = record->operation ? is_within(ranges, head_of(ranges, record->operation),
						      ret_range->from_place)
					  : !is_change(record) || is_mount ||
						    step_of(ranges, record) == step ||
						    is_undone_record(ranges, record);
	}
	if (alone && !has_mounts)
		return; /* what came behind it was taken back: all is meant */
	ret_range->select = alone ? select_no_mounts : select_step;
	ret_range->data = ranges;
}

static bool is_apart(const struct undo_ranges *ranges, uint32_t operation)
{
	const struct operation_head *head = head_of(ranges, operation);

	return head && ranges->apart[head - ranges->heads];
}

/* Which undos and redos have no part in the range from a place on: those that came before it, though the last writer's
 * AFTER record came later; and those of one step that changed nothing in it.  What these changed, the range did not
 * change later: that they would have left. */
static void find_apart(struct undo_ranges *ranges, size_t first, uint64_t from_place)
{
	for (size_t i = 0; i < ranges->head_count; i++) {
		const struct operation_head *head = &ranges->heads[i];
		bool is_before = head->behind_place <= from_place;
		if (head->kind == OPERATION_REDO)
			head = head_of(ranges, head->reverses);
		bool is_apart = head && head->step && !is_within(ranges, head, from_place);
		for (size_t j = first; j < ranges->records->count && is_apart; j++) {
			const struct tree_record *record = &ranges->records->records[j];
			is_apart = record->operation || !is_change(record) ||
				   step_of(ranges, record) != head->step;
		}
		ranges->apart[i] = is_before || is_apart;
	}
}

static enum tree_selection select_not_apart(const struct tree_record *record, void *data)
{
	return record->operation && is_apart(data, record->operation)
		       ? TREE_NEUTRAL
		       : select_no_mounts(record, data);
}

static enum tree_selection select_since(const struct tree_record *record, void *data)
{
	return record->operation || is_undone_record(data, record) ? TREE_NEUTRAL
								   : select_no_mounts(record, data);
}

/* The index of the first record of a process from a point on. */
static size_t first_since(const struct tree_records *records, uint64_t place, uint64_t time_ns)
{
	size_t first = 0;

	while (first < records->count &&
	       (records->records[first].operation || records->records[first].place < place ||
		records->records[first].time_ns < time_ns))
		first++;
	return first;
}

/* Where the range begins of which the first record is known.  An undo in it took back everything up to it
 * that came behind a point before: what is to be taken back came behind it. */
static size_t behind_undone(const struct undo_ranges *ranges, size_t first)
{
	const struct tree_records *records = ranges->records;
	size_t begin = first;

	for (size_t i = 0; i < ranges->head_count && first < records->count; i++) {
		const struct operation_head *head = &ranges->heads[i];
		bool is_whole = head->kind == OPERATION_UNDO && head->state == OPERATION_DONE &&
				!head->redone_by && !head->step && !(head->flags & OPERATION_PATHS);
		if (is_whole && head->behind_place > records->records[first].place &&
		    head->from_place < records->records[first].place)
			begin = first_since(records, head->behind_place, 0);
	}
	return begin;
}

/* The end of a command's process.  0 of an own action: the agent goes on, and what it mapped it may have unmapped long
 * ago. */
static uint64_t lives_until(const struct tree_record *record, void *data)
{
	const struct undo_ranges *ranges = data;
	const struct step *step = record->operation
					  ? NULL
					  : steps_of_change(ranges->steps, record->process,
							    record->time_ns);

	return step && step->kind == STEP_COMMAND
		       ? steps_process_last(ranges->steps, record->process)
		       : 0;
}

void undo_range_since(struct undo_ranges *ranges, const struct step_point *point,
		      struct tree_range *ret_range)
{
	const struct tree_records *records = ranges->records;
	size_t first = behind_undone(ranges, first_since(records, 0, point->time_ns));
	bool alone = true, has_neutral = false;

	*ret_range = (struct tree_range){
		.from_place = first < records->count ? records->records[first].place : UINT64_MAX,
		.from_time_ns = point->time_ns,
		.lives_until = lives_until,
		.data = ranges,
	};
	find_apart(ranges, first, ret_range->from_place);
	for (size_t i = first; i < records->count && alone; i++) {
		uint32_t operation = records->records[i].operation;
		bool apart = operation && is_apart(ranges, operation);
		has_neutral = has_neutral || apart ||
			      (!operation && is_mount_point(ranges, &records->records[i]));
		alone = !operation || apart ||
			is_within(ranges, head_of(ranges, operation), ret_range->from_place);
	}
	if (alone) {
		ret_range->select = has_neutral ? select_not_apart : NULL;
		return;
	}
	/* An undo in it took back some of what began before the point, too: that stays. */
	ret_range->select = select_since;
	ret_range->data = ranges;
}

static enum tree_selection select_operation(const struct tree_record *record, void *data)
{
	const struct undo_ranges *ranges = data;

	if (record->operation == ranges->operation)
		return TREE_SELECTED;
	return record->operation ? TREE_NEUTRAL : TREE_OTHER;
}

bool undo_range_redo(struct undo_ranges *ranges, struct tree_range *ret_range)
{
	const struct operation_head *undo = NULL;
	bool alone = true;

	for (size_t i = 0; i < ranges->head_count; i++)
		if (ranges->heads[i].kind == OPERATION_UNDO && !ranges->heads[i].redone_by &&
		    !(ranges->heads[i].flags & OPERATION_NO_REDO))
			undo = &ranges->heads[i];
	if (!undo)
		return false;
	ranges->operation = undo->number;
	*ret_range = (struct tree_range){ .from_operation = undo->number };
	for (size_t i = 0; i < ranges->records->count; i++) {
		const struct tree_record *record = &ranges->records->records[i];
		if (!record->operation && is_change(record) && record->place >= undo->behind_place)
			alone = false;
	}
	if (alone)
		return true; /* later ones were redone: all is meant */
	ret_range->select = select_operation;
	ret_range->data = ranges;
	return true;
}
