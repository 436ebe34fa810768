/* What is forgotten, on record: see invalidation.h. */
#include "cli/session/invalidation.h"

#include <string.h>
#include <unistd.h>

void invalidation_record(struct journal *journal, uint64_t scope_id, const char *path,
			 const char *cause)
{
	struct journal_record record = journal_blank(JOURNAL_FORGOTTEN);

	if (!journal->header)
		return;
	record.tid = (uint32_t)getpid();
	record.amount = scope_id;
	if (path)
		record.path = journal_text(journal, path, strlen(path), true);
	if (cause)
		record.other_path = journal_text(journal, cause, strlen(cause), true);
	(void)journal_write(journal, &record, NULL, 0, true);
}
