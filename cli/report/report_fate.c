/* What became of files: see report_fate.h. */
#include "cli/report/report_fate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/content/fate.h"
#include "tracker/content/file.h"
#include "tracker/segment/workspace.h"

/* ---- from the journal ---- */

static bool action_of_open(const struct journal_record *record, enum file_action *ret_kind)
{
	bool writes = (record->flags & O_ACCMODE) != O_RDONLY || (record->flags & O_TRUNC);
	bool attempted = record->marks & JOURNAL_ATTEMPTED;

	if (!writes) {
		*ret_kind = FILE_ACTION_READ;
		return !attempted;
	}
	if (record->marks & JOURNAL_MADE)
		*ret_kind = FILE_ACTION_CREATE;
	else if (record->marks & JOURNAL_WAS_THERE)
		*ret_kind = FILE_ACTION_CHANGE;
	else if ((record->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		*ret_kind = FILE_ACTION_CREATE;
	else
		*ret_kind = record->flags & O_CREAT ? FILE_ACTION_WRITE : FILE_ACTION_CHANGE;
	/* One that cannot succeed does nothing. */
	return !attempted || (record->flags & O_CREAT) || (record->marks & JOURNAL_WAS_THERE);
}

/* What an event does to the name of a file.  False: nothing. */
static bool change_of(const struct event *event, bool is_second, enum file_action *ret_kind)
{
	const struct journal_entry *entry = event->entry;
	const struct journal_record *record = &entry->record;
	bool details = record->marks & JOURNAL_DETAILS;

	switch ((enum op_effect)op_info(event->op)->effect) {
	case EFFECT_OPENS:
		return action_of_open(record, ret_kind);
	case EFFECT_WRITES:
		*ret_kind = FILE_ACTION_WRITE;
		return true;
	case EFFECT_RESIZES:
		*ret_kind = FILE_ACTION_CHANGE;
		return true;
	case EFFECT_CREATES:
	case EFFECT_SYMLINKS:
		*ret_kind = FILE_ACTION_CREATE;
		return true;
	case EFFECT_LINKS:
		*ret_kind = FILE_ACTION_CREATE;
		return is_second;
	case EFFECT_DELETES:
		*ret_kind = FILE_ACTION_REMOVE;
		return true;
	case EFFECT_RENAMES:
		*ret_kind = record->flags & RENAME_EXCHANGE    ? FILE_ACTION_CHANGE
			    : !is_second                       ? FILE_ACTION_REMOVE
			    : record->flags & RENAME_NOREPLACE ? FILE_ACTION_CREATE
							       : FILE_ACTION_WRITE;
		return true;
	case EFFECT_EDITS:
		if (details && version_is_none(&entry->details.after))
			*ret_kind = FILE_ACTION_REMOVE;
		else /* the watcher need not know what was there */
			*ret_kind = details && event->process &&
						    version_is_none(&entry->details.before)
					    ? FILE_ACTION_CREATE
					    : FILE_ACTION_WRITE;
		return true;
	case EFFECT_GIVES:
		*ret_kind = FILE_ACTION_READ;
		return true;
	case EFFECT_NONE:
	case EFFECT_MENTIONS:
	case EFFECT_STARTS:
	case EFFECT_FORKS:
	case EFFECT_ANNOUNCES:
	case EFFECT_WITHDRAWS:
	case EFFECT_ENDS:
	case EFFECT_LISTS:
	case EFFECT_READS:
	case EFFECT_MAPS:
	case EFFECT_SETS:
	case EFFECT_ENTERS:
	case EFFECT_ANSWERS:
	case EFFECT_DIFFS:
	case EFFECT_YIELDS:
	case EFFECT_COMMANDS:
	case EFFECT_CHANGES:
	case EFFECT_JUDGES:
	case EFFECT_RULES:
	case EFFECT_FORGETS:
		break;
	}
	return false;
}

void report_file_action(struct report_gather *gather, struct report_file *file,
			const struct event *event, bool is_second)
{
	enum file_action kind;
	struct report_key *key;

	if (report_is_nowhere(file->path) || !change_of(event, is_second, &kind))
		return;
	file->fate = fate_after(file->fate, kind);
	if (kind == FILE_ACTION_READ)
		return;
	(void)report_process_of(gather, event, &key);
	if (key)
		file->by = key->command;
	file->by_ns = event->time_realtime_ns;
	file->by_agent = event->role == ROLE_AGENT;
}

/* ---- from the session ---- */

void report_session_fates(struct report *report, const struct segment *segment)
{
	struct file_slot slot;

	for (size_t i = 0; i < report->file_count; i++) {
		struct report_file *file = &report->files[i];
		if (file->in_workspace && (file->fate & FATE_WRITTEN) &&
		    file_find(segment, path_key(segment, file->path), &slot) == 0 &&
		    (slot.flags & FATE_WRITTEN))
			file->fate = slot.flags & FATE_BITS;
	}
}

/* ---- what is reported first ---- */

static bool is_changed(const struct report_file *file, enum report_fold fold)
{
	return fate_is_change(fate_of(file->fate)) && file->fold == (uint32_t)fold &&
	       strncmp(file->path, "/dev/", 5) != 0 && strncmp(file->path, "/proc/", 6) != 0;
}

static int removed_first(const void *a, const void *b)
{
	const struct report_file *left = *(const struct report_file *const *)a;
	const struct report_file *right = *(const struct report_file *const *)b;
	int removed = (fate_of(right->fate) == FATE_IS_REMOVED) -
		      (fate_of(left->fate) == FATE_IS_REMOVED);

	if (removed)
		return removed;
	if (left->by_ns != right->by_ns)
		return left->by_ns < right->by_ns ? -1 : 1;
	return strcmp(left->path, right->path);
}

int64_t report_changed_files(const struct report *report, size_t top,
			     const struct report_file **ret_rows)
{
	const struct report_file **all = calloc(report->file_count + 1,
						sizeof(const struct report_file *));
	size_t count = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < report->file_count; i++)
		if (is_changed(&report->files[i], REPORT_APART))
			all[count++] = &report->files[i];
	qsort(all, count, sizeof(const struct report_file *), removed_first);
	for (size_t i = 0; i < count && i < top; i++)
		ret_rows[i] = all[i];
	free(all);
	return (int64_t)count;
}

uint64_t report_changed_count(const struct report *report, enum report_fold fold)
{
	uint64_t count = 0;

	for (size_t i = 0; i < report->file_count; i++)
		count += is_changed(&report->files[i], fold);
	return count;
}
