/* What each step changed: see step_changes.h. */
#include "cli/undo/step_changes.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/undo/diff_excluded.h"
#include "cli/undo/tree_change.h"

/* Where a step's records lie among others'. */
struct range {
	const struct step *step;
	size_t first, end; /* indices; end: behind its last */
};

static const struct step *step_of(const struct step_changes_visit *visit, size_t index)
{
	const struct tree_record *record = &visit->records->records[index];

	if (record->operation || !record->process || record->kind == PACK_BOUNDARY)
		return NULL;
	return steps_of_change(visit->steps, record->process, record->time_ns);
}

static int last_end_first(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return (left->end < right->end) - (left->end > right->end);
}

/* The ranges of the steps that have records, and are wanted, in the order of the visit. */
static size_t find_ranges(const struct step_changes_visit *visit, struct range *ranges)
{
	size_t count = 0;

	for (size_t i = 0; i < visit->records->count; i++) {
		const struct step *step = step_of(visit, i);
		if (!step || (visit->only && step->number != visit->only))
			continue;
		struct range *range = &ranges[step->number - 1];
		if (!range->step)
			*range = (struct range){ .step = step, .first = i };
		range->end = i + 1;
	}
	for (size_t i = 0; i < visit->steps->count; i++)
		if (ranges[i].step)
			ranges[count++] = ranges[i];
	qsort(ranges, count, sizeof(*ranges), last_end_first);
	return count;
}

struct wanted {
	const struct steps *steps;
	const struct step *step;
};

static bool is_of_step(const struct tree_change *change, void *data)
{
	const struct wanted *wanted = data;

	return !change->records || /* a directory took it along */
	       steps_of_change(wanted->steps, change->process, change->last_time_ns) ==
		       wanted->step;
}

static bool is_record_of_step(const struct tree_record *record, const void *data)
{
	const struct wanted *wanted = data;

	return steps_of_change(wanted->steps, record->process, record->time_ns) == wanted->step;
}

static int visit_one(const struct step_changes_visit *visit, const struct range *range,
		     struct tree_later *later)
{
	struct wanted wanted = { visit->steps, range->step };
	const struct diff_filter filter = { .workspace = visit->workspace,
					    .paths = visit->paths,
					    .wants = is_of_step,
					    .data = &wanted,
					    .is_open = range->end == visit->records->count,
					    .omits_git = visit->omits_git };
	struct tree_changes changes = { .count = 0 };
	struct diff_set set = { .files = NULL };
	int error = tree_changes_between(visit->records, range->first, range->end, later, &changes);

	if (error == 0)
		error = diff_set_make(&changes, visit->records, &filter, &set);
	if (error == 0)
		error = diff_excluded_add(visit->records, range->first, range->end, &filter,
					  is_record_of_step, &wanted, &set);
	if (error == 0)
		error = visit->visit(visit->records, range->step, &set, visit->data);
	diff_set_free(&set);
	tree_changes_free(&changes);
	return error;
}

int step_changes_visit(const struct step_changes_visit *visit)
{
	struct range *ranges = calloc(visit->steps->count + 1, sizeof(*ranges));
	struct tree_later later;
	int error = 0;

	if (!ranges)
		return -ENOMEM;
	tree_later_init(visit->records, &later);
	size_t count = find_ranges(visit, ranges);
	for (size_t i = 0; i < count && error == 0; i++)
		error = visit_one(visit, &ranges[i], &later);
	tree_later_free(&later);
	free(ranges);
	return error;
}
