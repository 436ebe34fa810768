/*
 * The line diff: see line_script.h.
 *
 * The middle of a shortest edit script is found from both ends at once, and both halves by the same
 * means: the linear space variant of E. W. Myers, "An O(ND) Difference Algorithm and Its
 * Variations" (Algorithmica, 1986).  Lines that only one text has are marked before.  After so many
 * edits that more would take long, the point that got furthest divides the texts.
 */
#include "cli/files/line_script.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { EDITS_MIN = 256 };

/* ---- lines ---- */

static int list_alloc(size_t count, struct line_list *ret_list)
{
	*ret_list = (struct line_list){
		.starts = calloc(count + 1, sizeof(*ret_list->starts)),
		.ids = calloc(count + 1, sizeof(*ret_list->ids)),
		.changed = calloc(count + 1, sizeof(*ret_list->changed)),
	};
	return ret_list->starts && ret_list->ids && ret_list->changed ? 0 : -ENOMEM;
}

static int list_make(const char *bytes, size_t size, struct line_list *ret_list)
{
	size_t count = 0, at = 0;

	for (const char *end; at < size; at = (size_t)(end - bytes), count++) {
		end = memchr(bytes + at, '\n', size - at);
		end = end ? end + 1 : bytes + size;
	}
	if (list_alloc(count, ret_list) < 0)
		return -ENOMEM;
	ret_list->bytes = bytes;
	at = 0;
	for (const char *end; at < size; at = (size_t)(end - bytes)) {
		end = memchr(bytes + at, '\n', size - at);
		end = end ? end + 1 : bytes + size;
		ret_list->starts[ret_list->count++] = at;
	}
	ret_list->starts[count] = size;
	return 0;
}

static int list_of_keys(const struct line_key *keys, size_t count, struct line_list *ret_list)
{
	if (list_alloc(count, ret_list) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ret_list->starts[i + 1] = ret_list->starts[i] + keys[i].bytes + 1;
	ret_list->count = count;
	return 0;
}

/* A line that stands for all equal ones: its id is its place in the table. */
struct line {
	const char *bytes; /* NULL: not there */
	size_t size;
	uint64_t hash;
	unsigned texts; /* bits: 1 the old one has it, 2 the new one */
};

static uint32_t id_of(struct line *table, size_t mask, const struct line *line)
{
	size_t at = (size_t)line->hash & mask;

	while (table[at].texts &&
	       (table[at].hash != line->hash || table[at].size != line->size ||
		(line->bytes && memcmp(table[at].bytes, line->bytes, line->size) != 0)))
		at = (at + 1) & mask;
	unsigned texts = table[at].texts | line->texts;
	table[at] = *line;
	table[at].texts = texts;
	return (uint32_t)at;
}

/* keys: of both texts; NULL: the texts are there. */
static int number_lines(struct line_script *script, const struct line_key *const *keys,
			struct line **ret_table)
{
	size_t capacity = 64, lines = script->old.count + script->new.count;

	if (lines > INT32_MAX)
		return -EFBIG;
	while (capacity < 2 * lines)
		capacity *= 2;
	struct line *table = calloc(capacity, sizeof(*table));
	if (!table)
		return -ENOMEM;
	struct line_list *lists[] = { &script->old, &script->new };
	for (unsigned text = 0; text < 2; text++) {
		struct line_list *list = lists[text];
		for (size_t i = 0; i < list->count; i++) {
			struct line line = { .size = list->starts[i + 1] - list->starts[i],
					     .texts = 1U << text };
			if (!keys)
				line.bytes = list->bytes + list->starts[i];
			line.hash = keys ? keys[text][i].hash : XXH3_64bits(line.bytes, line.size);
			list->ids[i] = id_of(table, capacity - 1, &line);
		}
	}
	*ret_table = table;
	return 0;
}

/* ---- the shortest script ---- */

/* What is compared: the lines that both texts have, by their ids and their places. */
struct side {
	uint32_t *ids;
	size_t *places;
	bool *changed; /* of the text, by place */
	long count;
};

struct search {
	struct side a, b;
	/* furthest x on each diagonal, from the beginning and from the end; index 0 is diagonal 0
	 */
	long *forward, *backward;
	long edits_max;
};

struct box {
	long x, x_end, y, y_end;
};

/* One more edit from the beginning.  Returns true where it met the way from the end. */
static bool go_forward(const struct search *search, const struct box *box, long *low, long *high,
		       long back_low, long back_high, bool is_uneven, long *ret_x, long *ret_y)
{
	long *ends = search->forward;
	long lowest = box->x - box->y_end, highest = box->x_end - box->y;

	if (*low > lowest)
		ends[--*low - 1] = -1;
	else
		++*low;
	if (*high < highest)
		ends[++*high + 1] = -1;
	else
		--*high;
	for (long k = *high; k >= *low; k -= 2) {
		long x = ends[k - 1] < ends[k + 1] ? ends[k + 1] : ends[k - 1] + 1, y = x - k;
		while (x < box->x_end && y < box->y_end && search->a.ids[x] == search->b.ids[y])
			x++, y++;
		ends[k] = x;
		if (is_uneven && back_low <= k && k <= back_high && search->backward[k] <= x) {
			*ret_x = x;
			*ret_y = y;
			return true;
		}
	}
	return false;
}

/* The same from the end. */
static bool go_backward(const struct search *search, const struct box *box, long *low, long *high,
			long ahead_low, long ahead_high, bool is_uneven, long *ret_x, long *ret_y)
{
	long *ends = search->backward;
	long lowest = box->x - box->y_end, highest = box->x_end - box->y;

	if (*low > lowest)
		ends[--*low - 1] = LONG_MAX;
	else
		++*low;
	if (*high < highest)
		ends[++*high + 1] = LONG_MAX;
	else
		--*high;
	for (long k = *high; k >= *low; k -= 2) {
		long x = ends[k - 1] < ends[k + 1] ? ends[k - 1] : ends[k + 1] - 1, y = x - k;
		while (x > box->x && y > box->y && search->a.ids[x - 1] == search->b.ids[y - 1])
			x--, y--;
		ends[k] = x;
		if (!is_uneven && ahead_low <= k && k <= ahead_high && x <= search->forward[k]) {
			*ret_x = x;
			*ret_y = y;
			return true;
		}
	}
	return false;
}

/* The point that got furthest, where the search takes too long. */
static void furthest(const struct search *search, const struct box *box, const long *low,
		     const long *high, long *ret_x, long *ret_y)
{
	long best = -1, best_back = LONG_MAX, x_of = box->x, x_back = box->x_end;

	for (long k = low[0]; k <= high[0]; k += 2) {
		long x = search->forward[k] < box->x_end ? search->forward[k] : box->x_end;
		long y = x - k;
		if (y > box->y_end) {
			x = box->y_end + k;
			y = box->y_end;
		}
		if (x + y > best) {
			best = x + y;
			x_of = x;
		}
	}
	for (long k = low[1]; k <= high[1]; k += 2) {
		long x = search->backward[k] > box->x ? search->backward[k] : box->x;
		long y = x - k;
		if (y < box->y) {
			x = box->y + k;
			y = box->y;
		}
		if (x + y < best_back) {
			best_back = x + y;
			x_back = x;
		}
	}
	bool is_forward = box->x_end + box->y_end - best_back < best - (box->x + box->y);
	*ret_x = is_forward ? x_of : x_back;
	*ret_y = (is_forward ? best : best_back) - *ret_x;
}

/* A point that a shortest script passes, neither corner of the box. */
static void middle(const struct search *search, const struct box *box, long *ret_x, long *ret_y)
{
	long ahead = box->x - box->y, back = box->x_end - box->y_end;
	long low[] = { ahead, back }, high[] = { ahead, back };
	bool is_uneven = (ahead - back) & 1;

	search->forward[ahead] = box->x;
	search->backward[back] = box->x_end;
	for (long edits = 1;; edits++) {
		if (go_forward(search, box, &low[0], &high[0], low[1], high[1], is_uneven, ret_x,
			       ret_y) ||
		    go_backward(search, box, &low[1], &high[1], low[0], high[0], is_uneven, ret_x,
				ret_y))
			return;
		if (edits >= search->edits_max) {
			furthest(search, box, low, high, ret_x, ret_y);
			return;
		}
	}
}

static void compare(const struct search *search, struct box box)
{
	for (;;) {
		while (box.x < box.x_end && box.y < box.y_end &&
		       search->a.ids[box.x] == search->b.ids[box.y])
			box.x++, box.y++;
		while (box.x < box.x_end && box.y < box.y_end &&
		       search->a.ids[box.x_end - 1] == search->b.ids[box.y_end - 1])
			box.x_end--, box.y_end--;
		if (box.x == box.x_end || box.y == box.y_end)
			break;
		long x, y;
		middle(search, &box, &x, &y);
		struct box first = { box.x, x, box.y, y }, second = { x, box.x_end, y, box.y_end };
		bool is_first_smaller = (x - box.x) + (y - box.y) <
					(box.x_end - x) + (box.y_end - y);
		/* The smaller half calls itself: as deep as the logarithm of the lines. */
		compare(search, is_first_smaller ? first : second);
		box = is_first_smaller ? second : first;
	}
	for (; box.x < box.x_end; box.x++)
		search->a.changed[search->a.places[box.x]] = true;
	for (; box.y < box.y_end; box.y++)
		search->b.changed[search->b.places[box.y]] = true;
}

/* ---- both ---- */

/* Lines that the other text does not have are changed; the others are compared. */
static int side_make(const struct line_list *list, const struct line *table, struct side *ret_side)
{
	*ret_side = (struct side){
		.ids = calloc(list->count + 1, sizeof(*ret_side->ids)),
		.places = calloc(list->count + 1, sizeof(*ret_side->places)),
		.changed = list->changed,
	};
	if (!ret_side->ids || !ret_side->places)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		list->changed[i] = table[list->ids[i]].texts != 3;
		if (list->changed[i])
			continue;
		ret_side->ids[ret_side->count] = list->ids[i];
		ret_side->places[ret_side->count++] = i;
	}
	return 0;
}

static int search_all(struct line_script *script, const struct line *table)
{
	struct search search = { .edits_max = EDITS_MIN };
	long *ends = NULL;
	int error = side_make(&script->old, table, &search.a);

	if (error == 0)
		error = side_make(&script->new, table, &search.b);
	if (error == 0) {
		size_t diagonals = (size_t)(search.a.count + search.b.count) + 3;
		ends = calloc(2 * diagonals, sizeof(*ends));
		error = ends ? 0 : -ENOMEM;
		if (ends) {
			search.forward = ends + search.b.count + 1;
			search.backward = search.forward + diagonals;
		}
	}
	/* About the square root of what is compared. */
	while (search.edits_max * search.edits_max < search.a.count + search.b.count)
		search.edits_max *= 2;
	if (error == 0)
		compare(&search, (struct box){ 0, search.a.count, 0, search.b.count });
	free(ends);
	free(search.a.ids);
	free(search.a.places);
	free(search.b.ids);
	free(search.b.places);
	return error;
}

/* A group of changed lines is moved as far down as it can be: people see whole blocks then. */
static void slide(struct line_list *list)
{
	for (size_t start = 0; start < list->count;) {
		if (!list->changed[start]) {
			start++;
			continue;
		}
		size_t end = start;
		while (end < list->count && list->changed[end])
			end++;
		while (end < list->count && list->ids[start] == list->ids[end]) {
			list->changed[start++] = false;
			list->changed[end++] = true;
			while (end < list->count && list->changed[end])
				end++; /* it met the next group */
		}
		start = end;
	}
}

static size_t count_changed(const struct line_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->changed[i];
	return count;
}

static int compare_lists(struct line_script *script, const struct line_key *const *keys)
{
	struct line *table = NULL;
	int error = number_lines(script, keys, &table);

	if (error == 0)
		error = search_all(script, table);
	free(table);
	if (error < 0)
		return error;
	slide(&script->old);
	slide(&script->new);
	script->removed = count_changed(&script->old);
	script->added = count_changed(&script->new);
	return 0;
}

int line_script_make(const char *old, size_t old_bytes, const char *new, size_t new_bytes,
		     struct line_script *ret_script)
{
	*ret_script = (struct line_script){ .removed = 0 };
	int error = list_make(old, old_bytes, &ret_script->old);
	if (error == 0)
		error = list_make(new, new_bytes, &ret_script->new);
	return error < 0 ? error : compare_lists(ret_script, NULL);
}

int line_script_of_keys(const struct line_key *old, size_t old_count, const struct line_key *new,
			size_t new_count, struct line_script *ret_script)
{
	const struct line_key *const keys[] = { old, new };

	*ret_script = (struct line_script){ .removed = 0 };
	int error = list_of_keys(old, old_count, &ret_script->old);
	if (error == 0)
		error = list_of_keys(new, new_count, &ret_script->new);
	return error < 0 ? error : compare_lists(ret_script, keys);
}

static void list_free(struct line_list *list)
{
	free(list->starts);
	free(list->ids);
	free(list->changed);
}

void line_script_free(struct line_script *script)
{
	list_free(&script->old);
	list_free(&script->new);
	*script = (struct line_script){ .removed = 0 };
}
