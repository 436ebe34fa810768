/* Texts that records refer to: see event_texts.h. */
#include "cli/journal/event_texts.h"

#include <string.h>

_Static_assert((int)EVENT_TEXT_BYTES < (int)JOURNAL_TEXT_BYTES_MAX, "a copy has room for it");

const char *event_text_bytes(struct event_texts *texts, uint32_t number, size_t *ret_size_bytes)
{
	struct event_text *text = &texts->kept[number % EVENT_TEXTS];
	struct journal_entry entry;
	uint64_t at = number;

	if (number == 0)
		return NULL;
	if (text->number == number && text->length <= EVENT_TEXT_BYTES) {
		*ret_size_bytes = text->length;
		return text->bytes;
	}
	if (text->number != number &&
	    (journal_reader_next(texts->journal, &at, &entry) != JOURNAL_FOUND_RECORD ||
	     entry.record.head.op != JOURNAL_TEXT))
		return NULL;
	const char *bytes = journal_reader_bytes(texts->journal, number, ret_size_bytes);
	if (!bytes)
		return NULL;
	text->number = number;
	text->length = EVENT_TEXT_BYTES + 1;
	if (*ret_size_bytes <= EVENT_TEXT_BYTES) {
		text->length = (uint8_t)*ret_size_bytes;
		text->is_name = !memchr(bytes, '\0', *ret_size_bytes);
		memcpy(text->bytes, bytes, *ret_size_bytes);
	}
	return bytes;
}

const char *event_name_bytes(struct event_texts *texts, uint32_t number, size_t *ret_length)
{
	const struct event_text *text = &texts->kept[number % EVENT_TEXTS];
	const char *bytes = event_text_bytes(texts, number, ret_length);

	if (!bytes)
		return NULL;
	bool is_name = text->length <= EVENT_TEXT_BYTES ? text->is_name
							: !memchr(bytes, '\0', *ret_length);
	return is_name ? bytes : NULL;
}

const char *event_text_copy(const char *bytes, size_t length, char *ret_text)
{
	if (!bytes || length > JOURNAL_TEXT_BYTES_MAX)
		return NULL;
	memcpy(ret_text, bytes, length);
	ret_text[length] = '\0';
	return ret_text;
}

const char *event_name_copy(struct event_texts *texts, uint32_t number, char *ret_text)
{
	size_t length = 0;
	const char *bytes = event_name_bytes(texts, number, &length);

	if (!bytes || length > EVENT_TEXT_BYTES)
		return event_text_copy(bytes, length, ret_text);
	/* All that is kept of it, so many bytes that a compiler copies them by a few instructions. */
	memcpy(ret_text, texts->kept[number % EVENT_TEXTS].bytes, EVENT_TEXT_BYTES);
	ret_text[length] = '\0';
	return ret_text;
}
