/* A stream whose bytes stay in memory: see memory_stream.h. */
#include "cli/base/memory_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1024 };

struct stream {
	char **text;
	size_t *size, capacity;
	bool is_cut;
};

/* Room for so many bytes, and a NUL. */
static bool make_room(struct stream *stream, size_t bytes)
{
	size_t capacity = stream->capacity ? stream->capacity : FIRST_BYTES;

	while (capacity <= bytes)
		capacity *= 2;
	if (capacity == stream->capacity)
		return true;
	char *more = realloc(*stream->text, capacity);
	if (!more)
		return false;
	*stream->text = more;
	stream->capacity = capacity;
	return true;
}

static ssize_t add(void *cookie, const char *bytes, size_t size)
{
	struct stream *stream = cookie;

	if (stream->is_cut || !make_room(stream, *stream->size + size)) {
		stream->is_cut = true;
		errno = ENOMEM;
		return 0;
	}
	memcpy(*stream->text + *stream->size, bytes, size);
	*stream->size += size;
	(*stream->text)[*stream->size] = '\0';
	return (ssize_t)size;
}

/* For ftell(3): it tells where it is, and goes nowhere. */
static int find_position(void *cookie, off64_t *offset, int whence)
{
	const struct stream *stream = cookie;
	off64_t end = (off64_t)*stream->size;

	if ((whence == SEEK_SET ? 0 : end) + *offset != end)
		return -1;
	*offset = end;
	return 0;
}

static int finish(void *cookie)
{
	struct stream *stream = cookie;

	(void)add(stream, "", 0); /* an empty text is one */
	bool is_cut = stream->is_cut;
	free(stream);
	if (is_cut)
		errno = ENOMEM;
	return is_cut ? -1 : 0;
}

FILE *memory_stream_open(char **ret_text, size_t *ret_size)
{
	static const cookie_io_functions_t FUNCTIONS = { .write = add,
							 .seek = find_position,
							 .close = finish };
	struct stream *stream = calloc(1, sizeof(*stream));

	*ret_text = NULL;
	*ret_size = 0;
	if (!stream)
		return NULL;
	stream->text = ret_text;
	stream->size = ret_size;
	FILE *file = fopencookie(stream, "w", FUNCTIONS);
	if (!file)
		free(stream);
	return file;
}
