/* The story of a session: see story.h. */
#include "cli/undo/story.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/undo/diff_pair.h"
#include "cli/undo/step_changes.h"
#include "cli/undo/undo_session.h"

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

/* That it was never kept is no fault. */
static void count_unread(struct story *story, int error)
{
	if (error == -ENODATA || error == -EFBIG)
		return;
	if (story->unread++ == 0)
		story->unread_error = error;
}

static int add_changed(const struct tree_records *records, const struct diff_file *file,
		       struct story *story, struct story_step *step)
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
	if (row && !is_known && !(row->note = strdup(strerror(-error))))
		row = NULL;
	if (!is_known)
		count_unread(story, error);
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

static int by_path(const void *a, const void *b)
{
	const struct story_file *left = a, *right = b;
	int order = strcmp(left->path, right->path);

	return order ? order : (int)left->change - (int)right->change;
}

/* sorted: how many files stand in the order of their paths; the last one may stand behind them. */
static struct story_file *find_file(struct story_step *step, size_t sorted, const char *path)
{
	struct story_file *files = step->files;
	size_t low = 0, high = sorted;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(files[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < sorted && strcmp(files[low].path, path) == 0)
		return &files[low];
	return step->count > sorted && strcmp(files[step->count - 1].path, path) == 0
		       ? &files[step->count - 1]
		       : NULL;
}

/* What a patch cannot carry is a change, too. */
static int add_omitted(struct story_step *step, size_t sorted, const struct diff_omitted *omitted)
{
	const char *note = omitted->text;
	struct story_file *row;

	switch (omitted->why) {
	case DIFF_UNKNOWN:
		row = add_file(step, STORY_CHANGED, omitted->path, NULL);
		return row ? add_lost(step, omitted->path, omitted->text) : -ENOMEM;
	case DIFF_EXCLUDED:
		return add_lost(step, omitted->path, omitted->text);
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
		row = find_file(step, sorted, omitted->path);
		row = row ? row : add_file(step, STORY_CHANGED, omitted->path, NULL);
		break;
	}
	if (!row)
		return -ENOMEM;
	if (!row->note)
		row->note = strdup(note);
	return row->note ? 0 : -ENOMEM;
}

static int add_set(const struct tree_records *records, const struct step *of, struct diff_set *set,
		   void *data)
{
	struct story *story = data;
	struct story_step *step = &story->steps[of->number - 1];
	int error = 0;

	for (size_t i = 0; i < set->count && error == 0; i++) {
		const struct diff_file *file = &set->files[i];
		/* An entry may be there for what a patch cannot carry alone. */
		bool is_same = file->old && file->new &&
			       file->change->same_content &&patch_mode(file->old->mode) ==
				       patch_mode(file->new->mode) &&
			       strcmp(file->old_path, file->new_path) == 0;
		if (!is_same)
			error = add_changed(records, file, story, step);
	}
	size_t sorted = step->count;
	if (sorted)
		qsort(step->files, sorted, sizeof(*step->files), by_path);
	for (size_t i = 0; i < set->omitted_count && error == 0; i++)
		error = add_omitted(step, sorted, &set->omitted[i]);
	if (step->count)
		qsort(step->files, step->count, sizeof(*step->files), by_path);
	return error;
}

/* ---- all ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_change(const struct tree_record *record)
{
	return !record->operation && !record->failed && pack_is_change(record->kind);
}

/* Which paths were changed by no step. */
static int count_without_step(struct story *story, const struct steps *steps)
{
	const struct tree_records *records = &story->records;
	const char **paths = calloc(records->count + 1, sizeof(const char *));
	size_t count = 0;

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < records->count; i++) {
		const struct tree_record *record = &records->records[i];
		if (is_change(record) && !steps_of_change(steps, record->process, record->time_ns))
			paths[count++] = record->path;
	}
	qsort(paths, count, sizeof(const char *), by_text);
	for (size_t i = 0; i < count; i++)
		story->without_step += i == 0 || strcmp(paths[i - 1], paths[i]) != 0;
	free(paths);
	return 0;
}

static void add_gap(char *text, const char *gap)
{
	size_t length = strlen(text);

	if (gap[0])
		(void)snprintf(text + length, STORY_GAPS_BYTES - length, "%s%s", length ? "; " : "",
			       gap);
}

const char *story_gaps(const struct story *story, char *ret_text)
{
	char number[TEXT_NUMBER_BYTES], gap[UNDO_SESSION_TEXT_BYTES] = "";

	ret_text[0] = '\0';
	if (!story->has_journal)
		add_gap(ret_text, "without a journal there are no steps");
	else if (story->lost_records)
		(void)snprintf(gap, sizeof(gap),
			       "the journal had no room for %s record%s: steps may be missing",
			       text_number(story->lost_records, number),
			       text_plural(story->lost_records));
	add_gap(ret_text, gap);
	gap[0] = '\0';
	if (story->without_step)
		(void)snprintf(gap, sizeof(gap), "%s path%s changed in no known step: `seen diff`",
			       text_number(story->without_step, number),
			       story->without_step == 1 ? " was" : "s were");
	add_gap(ret_text, gap);
	add_gap(ret_text, undo_session_unrecorded_text(story->unrecorded, gap));
	return ret_text;
}

int story_make(const struct steps *steps, const char *undo, const char *workspace,
	       const struct session *session, uint32_t only, struct story *ret_story)
{
	*ret_story = (struct story){ .has_journal = steps->has_journal,
				     .lost_records = steps->lost_records };
	uint64_t lost = session ? undo_session_lost(session) : 0;
	int error = tree_records_read(undo, &ret_story->records);
	bool *running = calloc(steps->count + 1, sizeof(*running));
	const struct step_changes_visit visit = { .records = &ret_story->records,
						  .steps = steps,
						  .workspace = workspace,
						  .only = only,
						  .visit = add_set,
						  .data = ret_story };

	ret_story->steps = calloc(steps->count + 1, sizeof(*ret_story->steps));
	if (error == 0 && (!running || !ret_story->steps))
		error = -ENOMEM;
	if (error == 0 && session)
		steps_running(steps, session, running);
	for (size_t i = 0; i < steps->count && error == 0; i++)
		ret_story->steps[ret_story->count++] = (struct story_step){
			.step = &steps->steps[i],
			.is_running = running[i],
		};
	if (error == 0)
		error = step_changes_visit(&visit);
	ret_story->unrecorded = undo_session_unrecorded(lost, &ret_story->records);
	if (error == 0)
		error = count_without_step(ret_story, steps);
	free(running);
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
