/*
 * The texts that records refer to by number, each checked before it is used, and those that were
 * asked for last kept.
 */
#ifndef SEEN_CLI_EVENT_TEXTS_H
#define SEEN_CLI_EVENT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/journal_reader.h"

enum {
	EVENT_TEXTS = 4096, /* kept, by the lowest bits of the number */
	/* Of one that is kept: what was written long ago need not be read from the file again
	 * and again. */
	EVENT_TEXT_BYTES = 122,
};

struct event_text {
	uint32_t number; /* 0: none */
	uint8_t length;  /* EVENT_TEXT_BYTES + 1: it is longer, and its check holds */
	bool is_name;    /* kept, and without a NUL */
	char bytes[EVENT_TEXT_BYTES];
};

/* All zero but `journal` before the first use. */
struct event_texts {
	struct journal_reader *journal; /* borrowed */
	struct event_text kept[EVENT_TEXTS];
};

/* event_text_bytes(): the bytes of a text whose check holds, until the next one is asked for. 
 * Returns NULL when there is none. */
const char *event_text_bytes(struct event_texts *texts, uint32_t number, size_t *ret_size_bytes);

/* event_name_bytes(): the same for a path or a name, which no NUL is part of. */
const char *event_name_bytes(struct event_texts *texts, uint32_t number, size_t *ret_length);

/* event_text_copy(): ends bytes by NUL.  ret_text: JOURNAL_TEXT_BYTES_MAX + 1 bytes.  Returns
 * ret_text; NULL for no bytes, or too many. */
const char *event_text_copy(const char *bytes, size_t length, char *ret_text);

/* event_name_copy(): event_name_bytes(), ended by NUL. */
const char *event_name_copy(struct event_texts *texts, uint32_t number, char *ret_text);

#endif
