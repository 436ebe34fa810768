/* Undo of a file that others changed, too: see merge_change.h. */
#include "cli/undo/merge_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/undo/file_history.h"

enum { TEXT_BYTES_MAX = 1 << 26 };

static const char CURRENT[] = "on disk";

static bool is_plain(const struct tree_entry *entry)
{
	return entry->known && entry->exists && S_ISREG(entry->mode);
}

static int read_state(const struct tree_records *records, const struct file_state *state,
		      struct merge_text *ret_text)
{
	const struct tree_record *record = state->content;
	const struct tree_entry entry = { .exists = true,
					  .known = true,
					  .mode = S_IFREG,
					  .content = TREE_KEPT,
					  .record = record };

	if (!state->known || !state->exists || !S_ISREG(state->state.mode))
		return -ENODATA;
	if (!state->state.size_bytes && !record) {
		ret_text->bytes = strdup("");
		return ret_text->bytes ? 0 : -ENOMEM;
	}
	int error = record ? tree_entry_read(records, &entry, TEXT_BYTES_MAX, &ret_text->bytes,
					     &ret_text->size)
			   : -ENODATA;
	return error == 0 || error == -ENOMEM ? error : -ENODATA;
}

/* Did a command that is not of the range set the mode since? */
static bool is_mode_set_since(const struct tree_records *records, const struct tree_range *range,
			      const char *path, const struct file_change *first)
{
	for (const struct tree_record *record = first->record;
	     record < records->records + records->count; record++)
		if (record->kind == PACK_METADATA && record->what == PACK_MODE && !record->failed &&
		    strcmp(record->path, path) == 0 && !tree_range_selects(records, range, record))
			return true;
	return false;
}

/* The mode goes back where it is as the changes left it, and nothing external set it between two. */
static void merge_mode(const struct file_change *first, const struct file_change *last,
		       struct merged_file *file)
{
	bool follows = last->after.known && last->after.state.mode == file->mode &&
		       first->before.known && first->before.exists;

	for (const struct file_change *at = first; at < last && follows; at++)
		follows = at[1].continues || at->after.state.mode == at[1].before.state.mode;
	if (follows)
		file->mode = first->before.state.mode;
}

/* Takes the changes `first` to `last`, which follow each other, back in a file. */
static int merge_range(const struct tree_records *records, const struct file_change *first,
		       const struct file_change *last, const char *label, struct merged_file *file)
{
	struct merge_text base = { .size = 0 }, theirs = base, merged = base;
	size_t conflicts = 0;
	int error = read_state(records, &last->after, &base);

	if (error == 0)
		error = read_state(records, &first->before, &theirs);
	if (error == 0)
		error = merge_texts(&base, &file->text, &theirs, CURRENT, label, &merged,
				    &conflicts);
	free(base.bytes);
	free(theirs.bytes);
	if (error < 0)
		return error == -ENOMEM ? error : -ENODATA;
	free(file->text.bytes);
	file->text = merged;
	file->conflicts += conflicts;
	return 0;
}

static int merge_ranges(const struct tree_records *records, const struct tree_range *range,
			const struct file_history *history, const char *path, const char *label,
			struct merged_file *file)
{
	int error = 0;
	size_t taken = 0;

	for (size_t end = history->count; end > 0 && error == 0;) {
		const struct file_change *last = &history->changes[end - 1];
		size_t first = end - 1;
		if (!tree_range_selects(records, range, last->record)) {
			end--;
			continue;
		}
		while (first > 0 &&
		       tree_range_selects(records, range, history->changes[first - 1].record) &&
		       (history->changes[first].continues ||
			file_state_is(&history->changes[first - 1].after,
				      &history->changes[first].before)))
			first--;
		error = merge_range(records, &history->changes[first], last, label, file);
		if (!is_mode_set_since(records, range, path, &history->changes[first]))
			merge_mode(&history->changes[first], last, file);
		taken++;
		end = first;
	}
	return error == 0 && !taken ? -ENODATA : error;
}

int merge_change(const struct tree_records *records, const struct tree_range *range,
		 const struct tree_change *change, const char *label,
		 struct merged_file *ret_merged)
{
	struct file_history history = { .count = 0 };
	struct merged_file file = { .mode = change->after.mode };

	if (change->moved_from || change->moved_to || !is_plain(&change->before) ||
	    !is_plain(&change->after) || change->after.content != TREE_DISK)
		return -ENODATA;
	int error = tree_entry_read(records, &change->after, TEXT_BYTES_MAX, &file.text.bytes,
				    &file.text.size);
	if (error == 0)
		error = file_history_read(records, change->path, false, &history);
	else if (error != -ENOMEM)
		error = -ENODATA;
	if (error == 0)
		error = merge_ranges(records, range, &history, change->path, label, &file);
	file_history_free(&history);
	if (error == 0)
		*ret_merged = file;
	else
		free(file.text.bytes);
	return error;
}
