/* The length of a diff: see line_diff.h.  The shortest edit script is found by E. W. Myers' greedy
 * algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986). */
#include "cli/replay/line_diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { EDITS_MAX = 1500, CONTEXT = 3 };

/* What is left of both lists once their common beginning and end are off. */
struct pair {
	const struct shown_line *a, *b;
	long a_count, b_count;
	bool *deleted, *added; /* by line: marks of the script */
};

static bool equal(const struct shown_line *a, const struct shown_line *b)
{
	return a->hash == b->hash && a->bytes == b->bytes;
}

/* From where the furthest path to diagonal k goes on, with d edits: down (a line added) from
 * diagonal k + 1, or right (one deleted) from k - 1.
 *
 * before: the ends with d - 1 edits.  Returns where it begins on k, -1: there is none inside the
 * lists. */
static long step(const struct pair *pair, const long *before, long d, long k, bool *ret_is_down)
{
	long down = k + 1 <= d - 1 ? before[k + 1 + d - 1] : -1;
	long right = k - 1 >= -(d - 1) ? before[k - 1 + d - 1] : -1;

	if (down >= 0 && down - k > pair->b_count)
		down = -1;
	right = right >= 0 && right < pair->a_count ? right + 1 : -1;
	*ret_is_down = down >= right;
	return *ret_is_down ? down : right;
}

/* Marks the script that the furthest reaching paths tell, from its end.  trace: row d holds 2 d + 1
 * ends, of diagonals -d ... d, each row behind the other. */
static void mark(struct pair *pair, const long *trace, long edits)
{
	long x = pair->a_count, y = pair->b_count;

	for (long d = edits; d > 0; d--) {
		const long *row = trace + (d - 1) * (d - 1); /* of d - 1; sum of 2 i + 1 below it */
		long k = x - y;
		bool is_down;
		long at = step(pair, row, d, k, &is_down);
		long from = is_down ? at : at - 1;
		long from_y = from - (is_down ? k + 1 : k - 1);
		if (is_down)
			pair->added[from_y] = true;
		else
			pair->deleted[from] = true;
		x = from;
		y = from_y;
	}
}

/* Returns the number of edits, or -1. */
static long find_script(struct pair *pair)
{
	long limit = pair->a_count + pair->b_count;
	if (limit > EDITS_MAX)
		limit = EDITS_MAX;
	long *trace = NULL;
	size_t capacity = 0;

	for (long d = 0; d <= limit; d++) {
		size_t needed = (size_t)((d + 1) * (d + 1));
		if (needed > capacity) {
			size_t grown = needed * 2;
			long *more = realloc(trace, grown * sizeof(*more));
			if (!more)
				break;
			trace = more;
			capacity = grown;
		}
		long *row = trace + d * d;
		const long *before = d ? trace + (d - 1) * (d - 1) : NULL;
		for (long k = -d; k <= d; k++) {
			row[k + d] = -1;
			if ((k + d) % 2)
				continue;
			bool is_down;
			long x = 0;
			if (before)
				x = step(pair, before, d, k, &is_down);
			long y = x - k;
			if (x < 0)
				continue;
			while (x < pair->a_count && y < pair->b_count &&
			       equal(&pair->a[x], &pair->b[y])) {
				x++;
				y++;
			}
			row[k + d] = x;
			if (x == pair->a_count && y == pair->b_count) {
				mark(pair, trace, d);
				free(trace);
				return d;
			}
		}
	}
	free(trace);
	return -1;
}

static uint64_t digits(uint64_t number)
{
	uint64_t count = 1;

	for (; number > 9; number /= 10)
		count++;
	return count;
}

/* "@@ -1,2 +3,4 @@\n"; a count of one is left out. */
static uint64_t heading(long a_from, long a_lines, long b_from, long b_lines)
{
	uint64_t bytes = 10;

	bytes += digits((uint64_t)(a_lines ? a_from + 1 : a_from));
	bytes += digits((uint64_t)(b_lines ? b_from + 1 : b_from));
	bytes += a_lines == 1 ? 0 : 1 + digits((uint64_t)a_lines);
	bytes += b_lines == 1 ? 0 : 1 + digits((uint64_t)b_lines);
	return bytes;
}

/* Adds up the hunks.  before, behind: lines in common that were taken off at the beginning and at
 * the end. */
static uint64_t measure(const struct pair *pair, long before, long behind)
{
	long x = 0, y = 0;
	uint64_t bytes = 0;

	while (x < pair->a_count || y < pair->b_count) {
		bool changed = (x < pair->a_count && pair->deleted[x]) ||
			       (y < pair->b_count && pair->added[y]);
		if (!changed) {
			x++;
			y++;
			continue;
		}
		/* A hunk: up to three lines before, as far as changes come with no more than six
		 * lines between them. */
		long lead = x + before < CONTEXT ? x + before : CONTEXT;
		long a_from = x - lead, b_from = y - lead, quiet = 0;
		long end_x = x, end_y = y;
		for (long i = -lead; i < 0; i++) /* may lie before what is left */
			bytes += pair->a[x + i].bytes + 2;
		while (x < pair->a_count || y < pair->b_count) {
			if (x < pair->a_count && pair->deleted[x]) {
				bytes += pair->a[x++].bytes + 2;
			} else if (y < pair->b_count && pair->added[y]) {
				bytes += pair->b[y++].bytes + 2;
			} else {
				long ahead = 0;
				/* How many lines until the next change? */
				while (x + ahead < pair->a_count && y + ahead < pair->b_count &&
				       !pair->deleted[x + ahead] && !pair->added[y + ahead])
					ahead++;
				bool last = x + ahead >= pair->a_count &&
					    y + ahead >= pair->b_count;
				if (last || ahead > CONTEXT + CONTEXT)
					break;
				for (; ahead > 0; ahead--, x++, y++)
					bytes += pair->a[x].bytes + 2;
			}
			end_x = x;
			end_y = y;
		}
		/* Context behind it; at the end of what is left, that which was taken off. */
		long left = pair->a_count - end_x + behind;
		quiet = left < CONTEXT ? left : CONTEXT;
		for (long i = 0; i < quiet; i++)
			bytes += pair->a[end_x + i].bytes + 2;
		bytes += heading(a_from + before, end_x + quiet - a_from, b_from + before,
				 end_y + quiet - b_from);
		x = end_x;
		y = end_y;
	}
	return bytes;
}

uint64_t line_diff_bytes(const struct shown_line *old_lines, size_t old_count,
			 const struct shown_line *new_lines, size_t new_count)
{
	size_t before = 0, behind = 0;
	uint64_t bytes = UINT64_MAX;

	while (before < old_count && before < new_count &&
	       equal(&old_lines[before], &new_lines[before]))
		before++;
	while (behind < old_count - before && behind < new_count - before &&
	       equal(&old_lines[old_count - 1 - behind], &new_lines[new_count - 1 - behind]))
		behind++;
	if (before == old_count && before == new_count)
		return 0;
	struct pair pair = { .a = old_lines + before,
			     .b = new_lines + before,
			     .a_count = (long)(old_count - before - behind),
			     .b_count = (long)(new_count - before - behind) };
	pair.deleted = calloc((size_t)pair.a_count + 1, sizeof(bool));
	pair.added = calloc((size_t)pair.b_count + 1, sizeof(bool));
	if (pair.deleted && pair.added && find_script(&pair) >= 0)
		bytes = measure(&pair, (long)before, (long)behind);
	free(pair.deleted);
	free(pair.added);
	return bytes;
}
