/*
 * A line of text put together in memory of a fixed size, for an agent to read: what does not fit is
 * cut.
 */
#ifndef SEEN_TRACKER_LINE_H
#define SEEN_TRACKER_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tracker/path/path.h"

/* Made as { memory, 0, its size }, which is at least 2. */
struct line {
	char *bytes;
	size_t length, capacity;
};

static inline void line_append(struct line *line, const char *text)
{
	size_t length = strlen(text);

	if (length >= line->capacity - line->length)
		length = line->capacity - line->length - 1;
	memcpy(line->bytes + line->length, text, length);
	line->length += length;
	line->bytes[line->length] = '\0';
}

/* line_append_escaped(): bytes of others (path_escape()).  False: they do not fit, and nothing was
 * put. */
static inline bool line_append_escaped(struct line *line, const char *text)
{
	int length = path_escape(text, line->bytes + line->length, line->capacity - line->length);

	if (length < 0)
		line->bytes[line->length] = '\0';
	else
		line->length += (size_t)length;
	return length >= 0;
}

/* line_finish(): ends it by a newline and NUL.  Returns its length. */
static inline size_t line_finish(struct line *line)
{
	if (line->length > line->capacity - 2)
		line->length = line->capacity - 2;
	line->bytes[line->length++] = '\n';
	line->bytes[line->length] = '\0';
	return line->length;
}

#endif
