/* JSON, value by value: see json_walk.h. */
#include "cli/base/json_walk.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tracker/path/path.h"

enum { KEEP_CAPACITY = 4 << 20 }; /* a larger buffer is given back after its value */

int json_walk_open(struct json_walk *walk, const char *path)
{
	struct stat stat;

	*walk = (struct json_walk){ .line = 1 };
	walk->file = fopen(path, "re");
	if (!walk->file)
		return -errno;
	if (fstat(fileno(walk->file), &stat) == 0 && S_ISDIR(stat.st_mode)) {
		json_walk_close(walk);
		return -EISDIR;
	}
	return 0;
}

void json_walk_close(struct json_walk *walk)
{
	if (walk->file)
		(void)fclose(walk->file);
	free(walk->text);
	*walk = (struct json_walk){ .line = 1 };
}

int json_walk_rewind(struct json_walk *walk)
{
	if (fseek(walk->file, 0, SEEK_SET) < 0)
		return -ESPIPE;
	walk->line = 1;
	walk->position = 0;
	return 0;
}

__attribute__((format(printf, 2, 3))) static int broken(struct json_walk *walk, const char *format,
							...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(walk->error, sizeof(walk->error), format, list);
	va_end(list);
	return -EBADMSG;
}

static int next_byte(struct json_walk *walk)
{
	int byte = getc_unlocked(walk->file);

	if (byte != EOF)
		walk->position++;
	walk->line += byte == '\n';
	return byte;
}

static void unread_byte(struct json_walk *walk, int byte)
{
	if (byte == EOF)
		return;
	(void)ungetc(byte, walk->file);
	walk->position--;
	walk->line -= byte == '\n';
}

int json_walk_peek(struct json_walk *walk)
{
	int byte = next_byte(walk);

	/* A byte order mark is no part of it. */
	if (byte == 0xef && walk->position == 1) {
		(void)next_byte(walk);
		(void)next_byte(walk);
		byte = next_byte(walk);
	}
	while (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r')
		byte = next_byte(walk);
	unread_byte(walk, byte);
	return byte;
}

bool json_walk_is(struct json_walk *walk, char byte)
{
	if (json_walk_peek(walk) != byte)
		return false;
	(void)next_byte(walk);
	return true;
}

/* Adds a byte to the text, unless it is not kept. */
static int keep(struct json_walk *walk, bool keeps, int byte)
{
	if (!keeps)
		return 0;
	if (walk->text_bytes == walk->text_capacity) {
		size_t capacity = walk->text_capacity ? walk->text_capacity * 2 : 4096;
		char *grown = realloc(walk->text, capacity);
		if (!grown)
			return -ENOMEM;
		walk->text = grown;
		walk->text_capacity = capacity;
	}
	walk->text[walk->text_bytes++] = (char)byte;
	return 0;
}

static int read_string(struct json_walk *walk, bool keeps)
{
	uint64_t line = walk->line;
	bool escaped = false;
	int byte = next_byte(walk);

	if (keep(walk, keeps, byte) < 0)
		return -ENOMEM;
	while ((byte = next_byte(walk)) != EOF) {
		if (keep(walk, keeps, byte) < 0)
			return -ENOMEM;
		/* No string of JSON goes on in another line: one that lacks its end would swallow
		 * the rest of the file. */
		if (byte == '\n')
			return broken(walk, "a string in line %llu does not end",
				      (unsigned long long)line);
		if (escaped)
			escaped = false;
		else if (byte == '\\')
			escaped = true;
		else if (byte == '"')
			return 0;
	}
	return broken(walk, "it ends within a string that begins in line %llu",
		      (unsigned long long)line);
}

static void start_text(struct json_walk *walk)
{
	walk->text_bytes = 0;
	if (walk->text_capacity > KEEP_CAPACITY) {
		free(walk->text);
		walk->text = NULL;
		walk->text_capacity = 0;
	}
}

/* Reads a value to its end: kept in walk->text, or not. */
static int read_value(struct json_walk *walk, bool keeps)
{
	int byte = json_walk_peek(walk), depth = 0, error = 0;

	start_text(walk);
	if (byte == EOF)
		return -ENODATA;
	do {
		byte = next_byte(walk);
		if (byte == EOF)
			return broken(walk, "it ends within a value");
		if (byte == '"') {
			unread_byte(walk, byte);
			error = read_string(walk, keeps);
			if (error < 0)
				return error;
			continue;
		}
		if ((byte == ']' || byte == '}') && depth == 0) {
			unread_byte(walk, byte);
			return broken(walk, "a value is missing in line %llu",
				      (unsigned long long)walk->line);
		}
		if (keep(walk, keeps, byte) < 0)
			return -ENOMEM;
		if (byte == '[' || byte == '{')
			depth++;
		else if (byte == ']' || byte == '}')
			depth--;
		else if (depth == 0) {
			/* A number, or a word: to the next byte that is none of it. */
			byte = next_byte(walk);
			while (byte != EOF && !isspace(byte) && !strchr(",]}[{\":", byte)) {
				if (keep(walk, keeps, byte) < 0)
					return -ENOMEM;
				byte = next_byte(walk);
			}
			unread_byte(walk, byte);
		}
		if (depth > JSON_WALK_DEPTH_MAX)
			return broken(walk, "line %llu is nested too deeply",
				      (unsigned long long)walk->line);
	} while (depth > 0);
	return 0;
}

static bool is_hex(const char *at, const char *end)
{
	for (int i = 0; i < 4; i++)
		if (at + i >= end || !isxdigit((unsigned char)at[i]))
			return false;
	return true;
}

static unsigned hex_value(const char *at)
{
	char digits[5] = { at[0], at[1], at[2], at[3], '\0' };
	return (unsigned)strtoul(digits, NULL, 16);
}

/* Replaces what jansson refuses, in place. */
static void clean(char *text, size_t size)
{
	char *end = text + size;

	for (char *at = text; at < end;) {
		if (*at == '\\' && at + 1 < end) {
			if (at[1] != 'u' || !is_hex(at + 2, end)) {
				at += 2;
				continue;
			}
			unsigned value = hex_value(at + 2);
			bool high = value >= 0xd800 && value < 0xdc00,
			     low = value >= 0xdc00 && value < 0xe000;
			unsigned follows = high && at + 8 <= end && at[6] == '\\' && at[7] == 'u' &&
							   is_hex(at + 8, end)
						   ? hex_value(at + 8)
						   : 0;
			if (high && follows >= 0xdc00 && follows < 0xe000) {
				at += 12;
				continue;
			}
			if (high || low)
				memcpy(at + 2, "fffd", 4);
			at += 6;
			continue;
		}
		/* path_utf8_length() stops at a NUL, which the text's owner put behind it. */
		size_t length = *at ? path_utf8_length(at) : 0;
		if (length == 0) {
			*at++ = '?';
			continue;
		}
		at += length;
	}
}

static int parse(struct json_walk *walk, uint64_t line, json_t **ret_value)
{
	static const size_t FLAGS = JSON_DECODE_ANY | JSON_ALLOW_NUL;
	json_error_t error;
	json_t *value = json_loadb(walk->text, walk->text_bytes, FLAGS, &error);

	if (!value) {
		if (keep(walk, true, '\0') < 0)
			return -ENOMEM;
		walk->text_bytes--;
		clean(walk->text, walk->text_bytes);
		/* A number too large for an integer is one all the same. */
		value = json_loadb(walk->text, walk->text_bytes, FLAGS | JSON_DECODE_INT_AS_REAL,
				   &error);
	}
	if (!value)
		return broken(walk, "line %llu is not JSON", (unsigned long long)line);
	*ret_value = value;
	return 0;
}

int json_walk_read(struct json_walk *walk, json_t **ret_value)
{
	(void)json_walk_peek(walk);
	uint64_t line = walk->line;
	int result = read_value(walk, true);

	return result < 0 ? result : parse(walk, line, ret_value);
}

int json_walk_read_line(struct json_walk *walk, json_t **ret_value)
{
	(void)json_walk_peek(walk);
	uint64_t line = walk->line;
	int byte = next_byte(walk);

	if (byte == EOF)
		return -ENODATA;
	start_text(walk);
	for (; byte != EOF && byte != '\n'; byte = next_byte(walk))
		if (keep(walk, true, byte) < 0)
			return -ENOMEM;
	if (byte == EOF && walk->text[walk->text_bytes - 1] != '}')
		return broken(walk, "line %llu, the last one, is cut", (unsigned long long)line);
	return parse(walk, line, ret_value);
}

int json_walk_pass(struct json_walk *walk)
{
	return read_value(walk, false);
}

int json_walk_key(struct json_walk *walk, char *ret_key, size_t capacity)
{
	(void)json_walk_is(walk, ',');
	if (json_walk_is(walk, '}'))
		return 0;
	if (json_walk_peek(walk) != '"')
		return broken(walk, "a member's name is missing in line %llu",
			      (unsigned long long)walk->line);
	walk->text_bytes = 0;
	int error = read_string(walk, true);
	if (error < 0)
		return error;
	size_t length = walk->text_bytes - 2; /* quotes */
	if (length >= capacity)
		length = capacity - 1;
	memcpy(ret_key, walk->text + 1, length);
	ret_key[length] = '\0';
	return json_walk_is(walk, ':') ? 1
				       : broken(walk, "a colon is missing in line %llu",
						(unsigned long long)walk->line);
}

int json_walk_item(struct json_walk *walk)
{
	(void)json_walk_is(walk, ',');
	if (json_walk_is(walk, ']'))
		return 0;
	return json_walk_peek(walk) == EOF ? broken(walk, "it ends within an array") : 1;
}
