/* The beginning of a text: see excerpt.h. */
#include "tracker/path/excerpt.h"

#include <string.h>

#include "tracker/path/path.h"

enum { SEQUENCE_MAX = 4 };

/* Length of the character at the beginning of what is left; 0: the byte there is part of none. */
static size_t sequence_length(const unsigned char *bytes, size_t left)
{
	char ended[SEQUENCE_MAX + 1] = { 0 };

	if (bytes[0] < 0x80)
		return 1;
	memcpy(ended, bytes, left < SEQUENCE_MAX ? left : SEQUENCE_MAX);
	return path_utf8_length(ended);
}

size_t excerpt_bytes(const void *text, size_t size_bytes, uint64_t max_characters,
		     uint64_t *ret_characters)
{
	const unsigned char *bytes = text;
	uint64_t characters = 0;
	size_t at = 0;

	for (; at < size_bytes && characters < max_characters; characters++) {
		size_t length = sequence_length(bytes + at, size_bytes - at);
		at += length ? length : 1;
	}
	if (ret_characters)
		*ret_characters = characters;
	return at;
}

/* How long a sequence that begins with this byte would be; 0: none does. */
static size_t announced(unsigned char lead)
{
	return lead > 0xf4 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
}

size_t excerpt_whole(const void *piece, size_t size_bytes)
{
	const unsigned char *bytes = piece;

	for (size_t back = 1; back < SEQUENCE_MAX && back <= size_bytes; back++) {
		unsigned char byte = bytes[size_bytes - back];
		if ((byte & 0xc0) == 0x80)
			continue;
		return announced(byte) > back ? size_bytes - back : size_bytes;
	}
	return size_bytes;
}
