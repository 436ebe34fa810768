/* Records about files: see file_record.h. */
#include "cli/session/file_record.h"

#include <string.h>

#include "tracker/segment/workspace.h"

void file_record_write(const struct segment *segment, struct journal *journal,
		       const struct file_record *file)
{
	struct journal_record record = journal_blank(file->op);
	struct journal_details details = { .dev = file->dev,
					   .ino = file->ino,
					   .size_bytes = file->after.size_bytes,
					   .before = file->before,
					   .after = file->after };

	if (!journal->header || !path_is_recorded(segment, true, file->path))
		return;
	record.tid = file->tid;
	record.marks = JOURNAL_DETAILS;
	record.flags = file->flags;
	record.decision = (uint8_t)file->source;
	record.reason = file->reason;
	record.amount = file->amount;
	record.path = journal_text(journal, file->path, strlen(file->path), true);
	(void)journal_write(journal, &record, &details, sizeof(details), true);
}

void file_record_changed(const struct segment *segment, struct journal *journal,
			 const struct file_record *file, bool was_there)
{
	struct file_record record = *file;

	record.op = JOURNAL_CHANGED;
	record.flags = version_is_none(&file->after) ? JOURNAL_CHANGED_DELETED
		       : was_there                   ? 0
						     : JOURNAL_CHANGED_ADDED;
	segment_count(segment, COUNTER_edits_outside, 1);
	file_record_write(segment, journal, &record);
}
