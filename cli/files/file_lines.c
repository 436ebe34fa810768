/* Lines as an agent counts them: see file_lines.h. */
#include "cli/files/file_lines.h"

#include <string.h>

uint64_t file_lines_count(const char *bytes, size_t length)
{
	uint64_t count = 1;
	const char *end = bytes + length;

	for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++)
		count++;
	return count;
}

/* Behind so many newlines; NULL: there are fewer. */
static const char *pass_lines(const char *at, const char *end, uint64_t count)
{
	for (; count && at; count--) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return at;
}

bool file_lines_find(const char *bytes, size_t length, uint64_t first, uint64_t count,
		     struct file_lines *ret_lines)
{
	uint64_t total = file_lines_count(bytes, length);
	const char *end = bytes + length;

	if (!first || !count || first > total)
		return false;
	if (count > total - first + 1)
		count = total - first + 1;
	const char *begin = pass_lines(bytes, end, first - 1);
	const char *behind = first + count > total ? NULL : pass_lines(begin, end, count);
	uint64_t lines = total - (length == 0 || bytes[length - 1] == '\n');
	uint64_t last = first + count - 1 < lines ? first + count - 1 : lines;

	*ret_lines = (struct file_lines){
		.first = first,
		.count = count,
		.total = total,
		.bytes = begin,
		.length = (size_t)((behind ? behind - 1 : end) - begin),
		.is_whole = first == 1 && count == total,
	};
	if (last >= first)
		ret_lines->span = (struct span){ first, last };
	return true;
}
