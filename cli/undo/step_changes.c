/* What each step changed: see step_changes.h. */
#include "cli/undo/step_changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* ---- what the step left ---- */

static bool is_state(const struct pack_state *state, uint64_t dev, uint64_t ino, uint64_t size,
		     int64_t mtime_ns)
{
	return state->dev == dev && state->ino == ino && state->size_bytes == size &&
	       state->mtime_ns == mtime_ns;
}

static bool is_held_after(const struct tree_record *record)
{
	return record->kind == PACK_AFTER && !record->failed &&
	       (record->held == PACK_INLINE || record->held == PACK_LINK ||
		record->held == PACK_REFLINK || record->held == PACK_COPY);
}

/* The record that holds what the file was when it was left: an AFTER itself; of what was renamed the one by its
 * name before.  NULL: there is none. */
static const struct tree_record *content_left(const struct step_changes_visit *visit,
					      const struct range *range, size_t index)
{
	const struct tree_record *records = visit->records->records, *left = &records[index];
	const struct pack_state *state = &left->before;

	if (left->kind == PACK_AFTER)
		return is_held_after(left) ? left : NULL;
	for (size_t i = index; i > range->first; i--)
		if (is_held_after(&records[i - 1]) &&
		    is_state(&records[i - 1].before, state->dev, state->ino, state->size_bytes,
			     state->mtime_ns))
			return &records[i - 1];
	return NULL;
}

static int by_path(const void *path, const void *change)
{
	return strcmp(path, ((const struct tree_change *)change)->path);
}

/* Is a file after the range gone, or another than its last writer left, as the record has it? */
static bool is_changed_since(const struct tree_change *change, const struct tree_record *record)
{
	const struct pack_state *state = &record->before;
	const struct tree_entry *after = &change->after;

	if (change->moved_to || record->time_ns < change->last_time_ns || !after->known ||
	    (after->exists && !S_ISREG(after->mode)))
		return false;
	/* a writer that is not seen may change it at any time */
	if (!S_ISREG(state->mode) || state->nlink > 1 ||
	    (record->flags & (PACK_SHARED | PACK_MAPPED)))
		return false;
	/* Of what a step makes and removes again there is no record. */
	if (!after->exists)
		return record->kind == PACK_AFTER && state->nlink && change->before.known &&
		       change->before.exists && change->before.nlink <= 1 &&
		       change->before.dev == state->dev && change->before.ino == state->ino;
	return !is_state(state, after->dev, after->ino, after->size_bytes, after->mtime_ns);
}

static struct tree_entry entry_of(const struct pack_state *state, const struct tree_record *content)
{
	return (struct tree_entry){ .exists = true,
				    .known = true,
				    .mode = state->mode,
				    .uid = state->uid,
				    .gid = state->gid,
				    .nlink = state->nlink,
				    .dev = state->dev,
				    .ino = state->ino,
				    .size_bytes = state->size_bytes,
				    .mtime_ns = state->mtime_ns,
				    .ctime_ns = state->ctime_ns,
				    .version = content->version,
				    .content = TREE_KEPT,
				    .record = content };
}

/* Where an external program changed a file before the next record of it, what was found then is not what
 * the step left.  Where that is on record it is the state after. */
static void set_left(const struct step_changes_visit *visit, const struct range *range,
		     const struct wanted *wanted, struct tree_changes *changes)
{
	for (size_t i = changes->count ? range->first : range->end; i < range->end; i++) {
		const struct tree_record *record = &visit->records->records[i];
		const char *path = record->kind == PACK_AFTER     ? record->path
				   : record->kind == PACK_RENAMED ? record->other
								  : NULL;
		if (!path || record->failed || record->operation ||
		    !is_record_of_step(record, wanted))
			continue;
		struct tree_change *change = bsearch(path, changes->changes, changes->count,
						     sizeof(*changes->changes), by_path);
		if (!change || !is_changed_since(change, record))
			continue;
		const struct tree_record *content = content_left(visit, range, i);
		if (content)
			change->after = entry_of(&record->before, content);
	}
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
		set_left(visit, range, &wanted, &changes);
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
