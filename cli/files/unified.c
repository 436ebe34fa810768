/* Unified diffs: see unified.h. */
#include "cli/files/unified.h"

#include <stdlib.h>
#include <string.h>

/* A text that is gone through line by line. */
struct lines {
	const char *at, *end;
};

/* The next line, with its newline; the last one may have none.  Returns its length in bytes, 0 at
 * the end. */
static size_t next(struct lines *lines, const char **ret_line)
{
	size_t left = (size_t)(lines->end - lines->at);
	const char *newline = left ? memchr(lines->at, '\n', left) : NULL;
	size_t length = newline ? (size_t)(newline - lines->at) + 1 : left;

	*ret_line = lines->at;
	lines->at += length;
	return length;
}

/* Goes past a line with these bytes.  False: there is another one. */
static bool parse(struct lines *lines, const char *bytes, size_t length)
{
	if ((size_t)(lines->end - lines->at) < length || memcmp(lines->at, bytes, length) != 0)
		return false;
	lines->at += length;
	return true;
}

/* Goes past the lines that are in both, up to line number `until`; *number is that of the next
 * one. */
static bool parse_both(struct lines *old, struct lines *new, uint64_t *number, uint64_t until)
{
	const char *line;

	for (; *number < until; ++*number) {
		size_t length = next(old, &line);
		if (!length || !parse(new, line, length))
			return false;
	}
	return true;
}

/* "A" or "A,B" at `text`.  Returns the place behind; NULL: it is something else. */
static const char *range(const char *text, uint64_t *ret_start, uint64_t *ret_count)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	*ret_start = strtoull(text, &end, 10);
	*ret_count = 1;
	if (*end == ',' && end[1] >= '0' && end[1] <= '9')
		*ret_count = strtoull(end + 1, &end, 10);
	return end;
}

/* "@@ -A,B +C,D @@" */
static bool parse_header(struct lines *diff, uint64_t *ret_start, uint64_t *ret_old,
			 uint64_t *ret_new)
{
	char text[128];
	const char *line;
	uint64_t unused;
	size_t length = next(diff, &line);

	if (length < 4 || length >= sizeof(text) || memcmp(line, "@@ -", 4) != 0)
		return false;
	memcpy(text, line, length);
	text[length] = '\0';
	const char *at = range(text + 4, ret_start, ret_old);
	if (!at || strncmp(at, " +", 2) != 0)
		return false;
	at = range(at + 2, &unused, ret_new);
	return at && strncmp(at, " @@", 3) == 0;
}

/* One hunk; *number: of the old text's next line, from 1. */
static bool parse_hunk(struct lines *diff, struct lines *old, struct lines *new, uint64_t *number)
{
	uint64_t start, old_left, new_left;
	const char *line, *after;

	if (!parse_header(diff, &start, &old_left, &new_left))
		return false;
	/* Of no lines, it names the line that it stands behind. */
	if (!parse_both(old, new, number, start + (old_left == 0)))
		return false;
	while (old_left || new_left) {
		size_t length = next(diff, &line);
		struct lines ahead = *diff;
		if (length < 2)
			return false;
		bool is_old = *line == ' ' || *line == '-', is_new = *line == ' ' || *line == '+';
		if ((!is_old && !is_new) || (is_old && !old_left) || (is_new && !new_left))
			return false;
		/* "\ No newline at end of file": the newline that is there is the diff's own. */
		if (next(&ahead, &after) && *after == '\\') {
			*diff = ahead;
			length--;
		}
		if ((is_old && !parse(old, line + 1, length - 1)) ||
		    (is_new && !parse(new, line + 1, length - 1)))
			return false;
		old_left -= is_old;
		new_left -= is_new;
		*number += is_old;
	}
	return true;
}

bool unified_leads_to(const char *old, size_t old_bytes, const char *diff, size_t diff_bytes,
		      const char *new, size_t new_bytes)
{
	struct lines from = { old, old + old_bytes }, to = { new, new + new_bytes };
	struct lines hunks = { diff, diff + diff_bytes };
	const char *line;
	uint64_t number = 1;

	if (!diff_bytes || diff[diff_bytes - 1] != '\n' || next(&hunks, &line) < 4 ||
	    memcmp(line, "---", 3) != 0 || next(&hunks, &line) < 4 || memcmp(line, "+++", 3) != 0)
		return false;
	while (hunks.at < hunks.end)
		if (!parse_hunk(&hunks, &from, &to, &number))
			return false;
	/* What is behind the last hunk is in both. */
	return from.end - from.at == to.end - to.at &&
	       parse(&to, from.at, (size_t)(from.end - from.at));
}
