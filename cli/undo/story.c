/* The story of a session: see story.h. */
#include "cli/undo/story.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/undo/diff_pair.h"
#include "cli/undo/diff_range.h"

const char *story_change_name(enum story_change change)
{
	static const char *const NAMES[STORY_CHANGE_COUNT] = {
		[STORY_MADE] = "made",
		[STORY_CHANGED] = "changed",
		[STORY_REMOVED] = "removed",
		[STORY_RENAMED] = "renamed",
	};
	return NAMES[change];
}

/* ---- one step ---- */

/* An array with room for one more.  Returns it, perhaps moved; NULL: no memory. */
static void *grown(void *array, size_t count, size_t item_bytes)
{
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? 2 * count : 1, item_bytes);
}

static struct story_file *add_file(struct story_step *step, enum story_change change,
				   const char *path, const char *old_path)
{
	struct story_file *more = grown(step->files, step->count, sizeof(*more));

	if (!more)
		return NULL;
	step->files = more;
	more += step->count;
	*more = (struct story_file){ .change = change,
				     .path = strdup(path),
				     .old_path = old_path ? strdup(old_path) : NULL };
	if (!more->path || (old_path && !more->old_path)) {
		free(more->path);
		free(more->old_path);
		return NULL;
	}
	step->count++;
	step->changes[change]++;
	return more;
}

static int add_lost(struct story_step *step, const char *path, const char *why)
{
	struct story_lost *more = grown(step->lost, step->lost_count, sizeof(*more));

	if (!more)
		return -ENOMEM;
	step->lost = more;
	more += step->lost_count;
	*more = (struct story_lost){ strdup(path), strdup(why) };
	if (!more->path || !more->why) {
		free(more->path);
		free(more->why);
		return -ENOMEM;
	}
	step->lost_count++;
	return 0;
}

static int add_changed(const struct tree_records *records, const struct diff_file *file,
		       struct story_step *step)
{
	bool is_renamed = strcmp(file->old_path, file->new_path) != 0;
	struct diff_pair pair;
	int error = diff_pair_read(records, file, &pair);
	bool is_known = error == 0, differs = !is_known || patch_differs(&pair.pair);

	if (error == -ENOMEM || !differs) {
		diff_pair_free(&pair);
		return error == -ENOMEM ? error : 0;
	}
	struct story_file *row = add_file(step,
					  !file->old   ? STORY_MADE
					  : !file->new ? STORY_REMOVED
					  : is_renamed ? STORY_RENAMED
						       : STORY_CHANGED,
					  file->new_path, is_renamed ? file->old_path : NULL);
	if (row && is_known) {
		row->is_binary = pair.pair.is_binary;
		row->has_lines = !row->is_binary;
		row->added = pair.pair.added;
		row->removed = pair.pair.removed;
		step->added += row->added;
		step->removed += row->removed;
	}
	diff_pair_free(&pair);
	return row ? 0 : -ENOMEM;
}

static struct story_file *find_file(struct story_step *step, const char *path)
{
	for (size_t i = 0; i < step->count; i++)
		if (strcmp(step->files[i].path, path) == 0)
			return &step->files[i];
	return NULL;
}

/* What a patch cannot carry is a change, too. */
static int add_omitted(struct story_step *step, const struct diff_omitted *omitted)
{
	const char *note = omitted->text;
	struct story_file *row;

	switch (omitted->why) {
	case DIFF_UNKNOWN:
		row = add_file(step, STORY_CHANGED, omitted->path, NULL);
		return row ? add_lost(step, omitted->path, omitted->text) : -ENOMEM;
	case DIFF_DIRECTORY_EMPTIED:
		return 0;
	case DIFF_EMPTY_DIRECTORY_MADE:
		row = add_file(step, STORY_MADE, omitted->path, NULL);
		note = "empty directory";
		break;
	case DIFF_EMPTY_DIRECTORY_REMOVED:
		row = add_file(step, STORY_REMOVED, omitted->path, NULL);
		note = "empty directory";
		break;
	case DIFF_MODE:
	case DIFF_OWNER:
	case DIFF_TIMES:
	case DIFF_ATTRIBUTES:
	case DIFF_HARD_LINK:
	case DIFF_SPECIAL:
	default:
		row = find_file(step, omitted->path);
		row = row ? row : add_file(step, STORY_CHANGED, omitted->path, NULL);
		break;
	}
	if (!row)
		return -ENOMEM;
	if (!row->note)
		row->note = strdup(note);
	return row->note ? 0 : -ENOMEM;
}

static int by_path(const void *a, const void *b)
{
	const struct story_file *left = a, *right = b;
	int order = strcmp(left->path, right->path);

	return order ? order : (int)left->change - (int)right->change;
}

static int add_set(const struct tree_records *records, struct diff_set *set, void *data)
{
	struct story_step *step = data;
	int error = 0;

	for (size_t i = 0; i < set->count && error == 0; i++) {
		const struct diff_file *file = &set->files[i];
		/* An entry may be there for what a patch cannot carry alone. */
		bool is_same = file->old && file->new &&
			       file->change->same_content &&patch_mode(file->old->mode) ==
				       patch_mode(file->new->mode) &&
			       strcmp(file->old_path, file->new_path) == 0;
		if (!is_same)
			error = add_changed(records, file, step);
	}
	for (size_t i = 0; i < set->omitted_count && error == 0; i++)
		error = add_omitted(step, &set->omitted[i]);
	if (step->count)
		qsort(step->files, step->count, sizeof(*step->files), by_path);
	return error;
}

/* ---- all ---- */

/* Which steps have records: the model is asked for those alone. */
static int mark_steps(const struct story *story, const struct steps *steps, bool *has_records)
{
	const struct tree_records *records = &story->records;

	for (size_t i = 0; i < records->count; i++) {
		const struct tree_record *record = &records->records[i];
		const struct step *step = record->operation || !record->process ||
							  record->kind == PACK_BOUNDARY
						  ? NULL
						  : steps_of_change(steps, record->process,
								    record->time_ns);
		if (step)
			has_records[step->number - 1] = true;
	}
	return 0;
}

int story_visit(const struct story *story, const struct steps *steps, const char *workspace,
		uint32_t number,
		int (*visit)(const struct tree_records *records, struct diff_set *set, void *data),
		void *data)
{
	struct tree_changes changes = { .count = 0 };
	struct diff_set set = { .files = NULL };
	int error = diff_range_of_step(&story->records, steps, workspace, number, NULL, &changes,
				       &set);

	if (error == 0)
		error = visit(&story->records, &set, data);
	diff_set_free(&set);
	tree_changes_free(&changes);
	return error;
}

int story_make(const struct steps *steps, const char *undo, const char *workspace,
	       const struct session *session, uint32_t only, struct story *ret_story)
{
	*ret_story = (struct story){ .count = 0 };
	int error = tree_records_read(undo, &ret_story->records);
	bool *has_records = calloc(steps->count + 1, sizeof(*has_records));

	ret_story->steps = calloc(steps->count + 1, sizeof(*ret_story->steps));
	if (error == 0 && (!has_records || !ret_story->steps))
		error = -ENOMEM;
	if (error == 0)
		error = mark_steps(ret_story, steps, has_records);
	for (size_t i = 0; i < steps->count && error == 0; i++) {
		struct story_step *step = &ret_story->steps[ret_story->count++];
		step->step = &steps->steps[i];
		step->is_running = session && steps_is_running(steps, step->step, session);
		if (has_records[i] && (!only || only == step->step->number))
			error = story_visit(ret_story, steps, workspace, step->step->number,
					    add_set, step);
	}
	free(has_records);
	return error;
}

void story_free(struct story *story)
{
	for (size_t i = 0; i < story->count; i++) {
		struct story_step *step = &story->steps[i];
		for (size_t j = 0; j < step->count; j++) {
			free(step->files[j].path);
			free(step->files[j].old_path);
			free(step->files[j].note);
		}
		for (size_t j = 0; j < step->lost_count; j++) {
			free(step->lost[j].path);
			free(step->lost[j].why);
		}
		free(step->files);
		free(step->lost);
	}
	free(story->steps);
	tree_records_close(&story->records);
	*story = (struct story){ .count = 0 };
}
