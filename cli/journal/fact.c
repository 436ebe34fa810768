/* Facts about a run: see fact.h. */
#include "cli/journal/fact.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

const char *fact_name(uint32_t fact)
{
	static const char *const NAMES[] = {
#define FACT(name, word) [FACT_##name] = word,
		FACTS(FACT)
#undef FACT
	};
	return fact < FACT_COUNT ? NAMES[fact] : NULL;
}

void fact_write(struct journal *journal, enum fact fact, const char *value)
{
	struct journal_record record = journal_blank(JOURNAL_FACT);
	size_t length = value ? strlen(value) : 0;

	if (!journal->header)
		return;
	if (length > JOURNAL_TEXT_BYTES_MAX) {
		length = JOURNAL_TEXT_BYTES_MAX;
		record.marks |= JOURNAL_CUT;
	}
	record.flags = fact;
	record.tid = (uint32_t)getpid();
	if (value)
		record.other_path = journal_text(journal, value, length, true);
	(void)journal_write(journal, &record, NULL, 0, true);
}
