/* Reports of hooks: see reported.h. */
#include "cli/journal/reported.h"

#include <string.h>
#include <unistd.h>

const char *reported_text(const char *bytes, size_t size_bytes, enum reported_text which)
{
	size_t at = 0;

	for (unsigned left = which; bytes && left && at < size_bytes; left--)
		at += strnlen(bytes + at, size_bytes - at) + 1;
	return bytes && at < size_bytes && bytes[at] && memchr(bytes + at, '\0', size_bytes - at)
		       ? bytes + at
		       : NULL;
}

/* How much of a text fits, without half a character. */
static size_t fitting(const char *text, size_t capacity)
{
	size_t length = strnlen(text, capacity);

	if (length == capacity)
		while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
	return length;
}

void reported_write(struct journal *journal, uint64_t scope_id,
		    const char *const texts[REPORTED_TEXTS])
{
	char all[REPORTED_TEXTS * (REPORTED_WORD_BYTES + 1) + REPORTED_INPUT_BYTES];
	struct journal_record record = journal_blank(JOURNAL_REPORTED);
	size_t used = 0;

	if (!journal->header)
		return;
	for (int i = 0; i < REPORTED_TEXTS; i++) {
		const char *text = texts[i] ? texts[i] : "";
		size_t length = fitting(text, i == REPORTED_INPUT ? REPORTED_INPUT_BYTES
								  : REPORTED_WORD_BYTES);
		memcpy(all + used, text, length);
		used += length;
		all[used++] = '\0';
	}
	record.tid = (uint32_t)getpid();
	record.amount = scope_id;
	record.other_path = journal_text(journal, all, used, true);
	(void)journal_write(journal, &record, NULL, 0, true);
}
