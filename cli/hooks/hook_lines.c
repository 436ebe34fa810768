/* Lines that a text holds: see hook_lines.h. */
#include "cli/hooks/hook_lines.h"

#include <string.h>

/* These lines; an empty last one is not shown apart from the newline before it. */
static bool find(const char *file, size_t length, uint64_t first, uint64_t count,
		 struct file_lines *ret_lines)
{
	if (!file_lines_find(file, length, first, count, ret_lines))
		return false;
	if (ret_lines->first + ret_lines->count == ret_lines->total && length &&
	    file[length - 1] == '\n')
		return file_lines_find(file, length, first, UINT64_MAX, ret_lines);
	return true;
}

bool hook_lines_plain(const char *file, size_t length, uint64_t first, const char *text,
		      size_t text_length, struct file_lines *ret_lines)
{
	struct file_lines one;
	const char *end = file + length;

	if (!text_length || !file_lines_find(file, length, first, 1, &one) ||
	    text_length > (size_t)(end - one.bytes) || memcmp(one.bytes, text, text_length) != 0)
		return false;
	const char *behind = one.bytes + text_length;
	uint64_t count = file_lines_count(text, text_length);
	if (behind < end && *behind != '\n') {
		if (text[text_length - 1] != '\n')
			return false; /* its last line goes on in the file */
		count--;
	}
	return find(file, length, first, count, ret_lines);
}

/* Passes a number; 0: there is none. */
static uint64_t pass_number(const char **at, const char *end, bool padding)
{
	uint64_t number = 0;

	while (padding && *at < end && **at == ' ')
		(*at)++;
	for (; *at < end && **at >= '0' && **at <= '9' && number < UINT64_MAX / 100; (*at)++)
		number = number * 10 + (uint64_t)(**at - '0');
	return number;
}

size_t hook_lines_numbered(const char *file, size_t length, const char *text, size_t text_length,
			   const char *separator, bool padding, struct file_lines *ret_lines)
{
	const char *end = text + text_length, *taken = text, *behind = file + length;
	size_t between = strlen(separator);
	uint64_t first = 0, count = 0;
	struct file_lines line = { .bytes = file };

	for (;;) {
		const char *at = taken;
		uint64_t number = pass_number(&at, end, padding);
		if (!number || (count && number != first + count) || (size_t)(end - at) < between ||
		    memcmp(at, separator, between) != 0)
			break;
		at += between;
		/* The next line is found from the one before it. */
		if (!count && !file_lines_find(file, length, number, 1, &line))
			break;
		const char *newline = memchr(line.bytes, '\n', (size_t)(behind - line.bytes));
		size_t bytes = (size_t)((newline ? newline : behind) - line.bytes);
		if ((size_t)(end - at) <= bytes || memcmp(at, line.bytes, bytes) != 0 ||
		    at[bytes] != '\n')
			break;
		first = count ? first : number;
		count++;
		taken = at + bytes + 1;
		if (!newline)
			break;
		line.bytes = newline + 1;
	}
	return count && find(file, length, first, count, ret_lines) ? (size_t)(taken - text) : 0;
}
