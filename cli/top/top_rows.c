/* Rows: see top_rows.h. */
#include "cli/top/top_rows.h"
#include "cli/top/top_model_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for as many rows of each kind as there may be. */
static int reserve(struct top_rows *rows, size_t count)
{
	if (count <= rows->capacity)
		return 0;
	size_t capacity = count + count / 2 + 64;
	const struct top_file **files = realloc(rows->files, capacity * sizeof(*files));
	if (files)
		rows->files = files;
	struct top_branch *branches = realloc(rows->branches, capacity * sizeof(*branches));
	if (branches)
		rows->branches = branches;
	const struct top_note **notes = realloc(rows->notes, capacity * sizeof(*notes));
	if (notes)
		rows->notes = notes;
	if (!files || !branches || !notes)
		return -ENOMEM;
	rows->capacity = capacity;
	return 0;
}

void top_rows_free(struct top_rows *rows)
{
	free(rows->files);
	free(rows->branches);
	free(rows->notes);
	*rows = (struct top_rows){ .files = NULL };
}

static bool holds(const char *text, const char *filter)
{
	return !filter || !filter[0] || (text && strcasestr(text, filter));
}

/* ---- files ---- */

/* Largest first; of two alike the one touched last. */
#define COMPARE(name, type, member) \
	static int name(const void *a, const void *b) \
	{ \
		const type *first = *(const type *const *)a, *second = *(const type *const *)b; \
		if (first->member != second->member) \
			return first->member > second->member ? -1 : 1; \
		if (first->last_realtime_ns != second->last_realtime_ns) \
			return first->last_realtime_ns > second->last_realtime_ns ? -1 : 1; \
		return 0; \
	}
COMPARE(files_by_bytes, struct top_file, bytes)
COMPARE(files_by_repeats, struct top_file, repeats)
COMPARE(files_by_writes, struct top_file, writes)

int top_rows_files(const struct top_model *model, const struct top_wish *wish,
		   struct top_rows *rows)
{
	static int (*const COMPARES[TOP_FILES_ORDERS])(const void *, const void *) = {
		[TOP_FILES_BYTES] = files_by_bytes,
		[TOP_FILES_REPEATS] = files_by_repeats,
		[TOP_FILES_WRITES] = files_by_writes,
	};
	bool workspace_only = wish->is_workspace_only && model->workspace;

	if (reserve(rows, model->file_count) < 0)
		return -ENOMEM;
	rows->file_count = rows->files_hidden = 0;
	for (const struct top_file *file = model->newest_file.older; file != &model->newest_file;
	     file = file->older) {
		if (workspace_only && !file->is_workspace)
			rows->files_hidden++;
		else if (holds(file->path, wish->filter))
			rows->files[rows->file_count++] = file;
	}
	if (COMPARES[wish->file_order])
		qsort(rows->files, rows->file_count, sizeof(*rows->files),
		      COMPARES[wish->file_order]);
	return 0;
}

/* ---- processes ---- */

#define COMPARE_BRANCHES(name, member) \
	static int name(const void *a, const void *b) \
	{ \
		const struct top_process *first = ((const struct top_branch *)a)->process, \
					 *second = ((const struct top_branch *)b)->process; \
		if (first->member != second->member) \
			return first->member > second->member ? -1 : 1; \
		return first->id > second->id ? -1 : 1; \
	}
COMPARE_BRANCHES(by_reads, reads)
COMPARE_BRANCHES(by_writes, writes)
COMPARE_BRANCHES(by_rate, rate)

/* Siblings together; of them those that run, then those that ended, the newest first. */
static int by_parent(const void *a, const void *b)
{
	const struct top_process *first = ((const struct top_branch *)a)->process,
				 *second = ((const struct top_branch *)b)->process;
	if (first->parent != second->parent)
		return first->parent < second->parent ? -1 : 1;
	if ((first->life == TOP_RUNS) != (second->life == TOP_RUNS))
		return first->life == TOP_RUNS ? -1 : 1;
	return first->id > second->id ? -1 : first->id < second->id;
}

static bool is_in_tree(const struct top_model *model, const struct top_process *process)
{
	return process->life == TOP_RUNS ||
	       process->last_realtime_ns + TOP_TREE_ENDED_S * UINT64_C(1000000000) >=
		       model->last_realtime_ns;
}

/* The first of those that `parent` started; count: where none is. */
static size_t first_child(const struct top_branch *branches, size_t count, uint64_t parent)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (branches[middle].process->parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && branches[low].process->parent == parent ? low : count;
}

static bool has_id(const uint64_t *ids, size_t count, uint64_t id)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && ids[low] == id;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
	return first < second ? -1 : first > second;
}

/* Puts a branch and all below it in order.  A process's id is above its parent's, so that there is
 * no circle. */
static void append_tree(const struct top_branch *siblings, size_t count, struct top_branch branch,
			struct top_branch *ret_branches, size_t *used)
{
	uint64_t id = branch.process->id;
	/* What is deeper stands beside. */
	int depth = branch.depth < TOP_TREE_DEPTH_MAX ? branch.depth + 1 : branch.depth;
	uint64_t open = branch.open;

	ret_branches[(*used)++] = branch;
	if (!branch.is_last)
		open |= UINT64_C(1) << branch.depth;
	for (size_t child = first_child(siblings, count, id);
	     child < count && siblings[child].process->parent == id; child++) {
		bool is_last = child + 1 == count || siblings[child + 1].process->parent != id;
		append_tree(siblings, count,
			    (struct top_branch){ siblings[child].process, depth, is_last, open },
			    ret_branches, used);
	}
}

static int make_tree(struct top_rows *rows)
{
	size_t count = rows->branch_count, used = 0;
	struct top_branch *siblings = malloc((count + 1) * sizeof(*siblings));
	uint64_t *ids = malloc((count + 1) * sizeof(*ids));

	if (!siblings || !ids) {
		free(siblings);
		free(ids);
		return -ENOMEM;
	}
	memcpy(siblings, rows->branches, count * sizeof(*siblings));
	qsort(siblings, count, sizeof(*siblings), by_parent);
	for (size_t i = 0; i < count; i++)
		ids[i] = siblings[i].process->id;
	qsort(ids, count, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < count; i++)
		if (!has_id(ids, count, siblings[i].process->parent))
			append_tree(siblings, count,
				    (struct top_branch){ siblings[i].process, 0, true, 0 },
				    rows->branches, &used);
	free(siblings);
	free(ids);
	return 0;
}

int top_rows_processes(const struct top_model *model, const struct top_wish *wish,
		       struct top_rows *rows)
{
	static int (*const COMPARES[TOP_PROCESSES_ORDERS])(const void *, const void *) = {
		[TOP_PROCESSES_READS] = by_reads,
		[TOP_PROCESSES_WRITES] = by_writes,
		[TOP_PROCESSES_RATE] = by_rate,
	};
	bool is_tree = wish->process_order == TOP_PROCESSES_TREE;

	if (reserve(rows, model->process_count) < 0)
		return -ENOMEM;
	rows->branch_count = 0;
	for (const struct top_process *process = model->newest_process.older;
	     process != &model->newest_process; process = process->older)
		if ((!is_tree || is_in_tree(model, process)) &&
		    holds(process->command, wish->filter))
			rows->branches[rows->branch_count++] = (struct top_branch){ process, 0,
										    true, 0 };
	if (is_tree)
		return make_tree(rows);
	if (COMPARES[wish->process_order])
		qsort(rows->branches, rows->branch_count, sizeof(*rows->branches),
		      COMPARES[wish->process_order]);
	return 0;
}

/* ---- notes ---- */

int top_rows_notes(const struct top_model *model, const struct top_wish *wish,
		   struct top_rows *rows)
{
	if (reserve(rows, model->note_count) < 0)
		return -ENOMEM;
	rows->note_count = 0;
	for (size_t i = model->note_count; i-- > 0;) {
		const struct top_note *note = top_model_note(model, i);
		if (holds(note->path, wish->filter) || holds(note->text, wish->filter) ||
		    holds(event_op_name(note->op), wish->filter))
			rows->notes[rows->note_count++] = note;
	}
	return 0;
}
