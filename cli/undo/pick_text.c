/* Texts of the picker: see pick_text.h. */
#include "cli/undo/pick_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory_stream.h"

enum { TAB_COLUMNS = 8 };

/* Where the lines begin.  Their ends become NUL, and so do no others: what is shown ends there. */
static int split(struct pick_text *text, size_t length)
{
	size_t lines = 0;

	for (size_t i = 0; i < length; i++)
		lines += text->bytes[i] == '\n';
	text->starts = calloc(lines + 1, sizeof(*text->starts));
	if (!text->starts)
		return -ENOMEM;
	for (size_t at = 0; at < length;) {
		char *end = memchr(text->bytes + at, '\n', length - at);
		text->starts[text->count++] = at;
		at = end ? (size_t)(end - text->bytes) + 1 : length;
		if (end)
			*end = '\0';
	}
	return 0;
}

/* The first column of a diff's line is its mark: tabs are counted behind it, as they stand in the
 * file. */
static int expand(const char *bytes, size_t length, FILE *file)
{
	size_t column = 0;

	for (size_t i = 0; i < length; i++) {
		char byte = bytes[i];
		if (byte == '\n') {
			(void)fputc(byte, file);
			column = 0;
		} else if (byte == '\t') {
			size_t in_file = column ? column - 1 : 0;
			size_t wide = TAB_COLUMNS - in_file % TAB_COLUMNS;
			(void)fprintf(file, "%*s", (int)wide, "");
			column += wide;
		} else {
			(void)fputc(byte, file);
			column += ((unsigned char)byte & 0xc0) != 0x80;
		}
	}
	return ferror(file) ? -ENOMEM : 0;
}

int pick_text_make(int (*write)(FILE *file, void *data), void *data, struct pick_text *ret_text)
{
	char *raw = NULL;
	size_t raw_bytes = 0, length = 0;

	*ret_text = (struct pick_text){ .count = 0 };
	FILE *file = memory_stream_open(&raw, &raw_bytes);
	int error = file ? write(file, data) : -ENOMEM;
	if (file && fclose(file) != 0 && error == 0)
		error = -ENOMEM;
	file = error == 0 ? memory_stream_open(&ret_text->bytes, &length) : NULL;
	if (error == 0)
		error = file ? expand(raw, raw_bytes, file) : -ENOMEM;
	if (file && fclose(file) != 0 && error == 0)
		error = -ENOMEM;
	free(raw);
	return error ? error : split(ret_text, length);
}

void pick_text_free(struct pick_text *text)
{
	free(text->bytes);
	free(text->starts);
	*text = (struct pick_text){ .count = 0 };
}

const char *pick_text_line(const struct pick_text *text, size_t index)
{
	return text->bytes + text->starts[index];
}
