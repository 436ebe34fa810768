/* Binary patches: see patch_binary.h. */
#include "cli/undo/patch_binary.h"

#include <nettle/sha1.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	STORED_MAX = 65535, /* of one stored block */
	LINE_MAX_BYTES = 52,
	ADLER = 65521,
	ADLER_STRETCH = 5552, /* bytes after which 32 bits may overflow */
};

void patch_id(const char *bytes, size_t size, char ret_id[PATCH_ID_BYTES])
{
	struct sha1_ctx context;
	uint8_t digest[SHA1_DIGEST_SIZE];
	char head[32];
	int length = snprintf(head, sizeof(head), "blob %zu", size);

	sha1_init(&context);
	sha1_update(&context, (size_t)length + 1, (const uint8_t *)head);
	sha1_update(&context, size, (const uint8_t *)bytes);
	sha1_digest(&context, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(ret_id + 2 * i, 3, "%02x", digest[i]);
}

/* ---- lines of base 85 ---- */

/* What was deflated, as far as it does not fill a line yet. */
struct lines {
	FILE *file;
	uint8_t bytes[LINE_MAX_BYTES];
	size_t count;
};

/* A length ('A' is 1, 'a' is 27), then five digits for each four bytes. */
static void write_line(struct lines *lines)
{
	static const char DIGITS[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"!#$%&()*+-;<=>?@^_`{|}~";

	if (!lines->count)
		return;
	memset(lines->bytes + lines->count, 0, sizeof(lines->bytes) - lines->count);
	(void)fputc(lines->count <= 26 ? 'A' + (int)lines->count - 1 : 'a' + (int)lines->count - 27,
		    lines->file);
	for (size_t at = 0; at < lines->count; at += 4) {
		const uint8_t *four = lines->bytes + at;
		uint32_t word = (uint32_t)four[0] << 24 | (uint32_t)four[1] << 16 |
				(uint32_t)four[2] << 8 | four[3];
		char digits[5];
		for (int i = 4; i >= 0; i--, word /= 85)
			digits[i] = DIGITS[word % 85];
		(void)fwrite(digits, 1, sizeof(digits), lines->file);
	}
	(void)fputc('\n', lines->file);
	lines->count = 0;
}

static void append(struct lines *lines, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		size_t room = sizeof(lines->bytes) - lines->count;
		size_t now = size < room ? size : room;
		memcpy(lines->bytes + lines->count, at, now);
		lines->count += now;
		at += now;
		size -= now;
		if (lines->count == sizeof(lines->bytes))
			write_line(lines);
	}
}

static uint32_t adler32(const char *bytes, size_t size)
{
	uint32_t low = 1, high = 0;

	for (size_t at = 0; at < size;) {
		size_t end = size - at < ADLER_STRETCH ? size : at + ADLER_STRETCH;
		for (; at < end; at++) {
			low += (uint8_t)bytes[at];
			high += low;
		}
		low %= ADLER;
		high %= ADLER;
	}
	return high << 16 | low;
}

static void write_literal(FILE *file, const char *bytes, size_t size)
{
	static const uint8_t HEAD[] = { 0x78, 0x01 }; /* zlib: deflate, window of 32 KiB */
	struct lines lines = { .file = file };
	uint32_t sum = adler32(bytes, size);
	const uint8_t TAIL[] = { (uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8),
				 (uint8_t)sum };
	size_t at = 0;

	(void)fprintf(file, "literal %zu\n", size);
	append(&lines, HEAD, sizeof(HEAD));
	do {
		size_t now = size - at < STORED_MAX ? size - at : STORED_MAX;
		bool is_last = at + now == size;
		const uint8_t block[] = { is_last, (uint8_t)now, (uint8_t)(now >> 8), (uint8_t)~now,
					  (uint8_t)(~now >> 8) };
		append(&lines, block, sizeof(block));
		append(&lines, bytes + at, now);
		at += now;
	} while (at < size);
	append(&lines, TAIL, sizeof(TAIL));
	write_line(&lines);
	(void)fputc('\n', file);
}

void patch_binary_write(FILE *file, const char *old, size_t old_bytes, const char *new,
			size_t new_bytes)
{
	(void)fputs("GIT binary patch\n", file);
	write_literal(file, new, new_bytes);
	write_literal(file, old, old_bytes);
}
