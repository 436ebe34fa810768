/* The hunks of a unified diff: see hunks.h. */
#include "cli/files/hunks.h"

#include <stdint.h>

const struct hunks_style HUNKS_PLAIN = { "", "", "", "" };

/* Where both texts are: the next line of each. */
struct place {
	size_t old, new;
};

struct hunk {
	struct place from, to;
};

static bool is_changed(const struct line_script *script, struct place at)
{
	return (at.old < script->old.count && script->old.changed[at.old]) ||
	       (at.new < script->new.count && script->new.changed[at.new]);
}

static bool is_done(const struct line_script *script, struct place at)
{
	return at.old >= script->old.count && at.new >= script->new.count;
}

/* Passes the changed lines at a place. */
static struct place behind_change(const struct line_script *script, struct place at)
{
	while (at.old < script->old.count && script->old.changed[at.old])
		at.old++;
	while (at.new < script->new.count && script->new.changed[at.new])
		at.new ++;
	return at;
}

/* The next hunk from `at` on.  Returns false where there is none. */
static bool next_hunk(const struct line_script *script, struct place at, struct hunk *ret_hunk)
{
	size_t lead = 0, quiet = 0;

	while (!is_done(script, at) && !is_changed(script, at)) {
		at.old++;
		at.new ++;
		lead++;
	}
	if (is_done(script, at))
		return false;
	lead = lead < HUNKS_CONTEXT ? lead : HUNKS_CONTEXT;
	ret_hunk->from = (struct place){ at.old - lead, at.new - lead };
	at = behind_change(script, at);
	ret_hunk->to = at;
	/* Changes with so few lines between them that their contexts meet are one hunk. */
	while (!is_done(script, at) && quiet <= (size_t)2 * HUNKS_CONTEXT) {
		if (is_changed(script, at)) {
			at = behind_change(script, at);
			ret_hunk->to = at;
			quiet = 0;
		} else {
			at.old++;
			at.new ++;
			quiet++;
		}
	}
	for (lead = 0; lead < HUNKS_CONTEXT && ret_hunk->to.old < script->old.count; lead++) {
		ret_hunk->to.old++;
		ret_hunk->to.new ++;
	}
	return true;
}

static void write_line(FILE *file, char sign, const struct line_list *list, size_t line,
		       const char *style, const char *off)
{
	const char *bytes = list->bytes + list->starts[line];
	size_t size = list->starts[line + 1] - list->starts[line];
	bool is_ended = bytes[size - 1] == '\n';

	(void)fputs(style, file);
	(void)fputc(sign, file);
	(void)fwrite(bytes, 1, size - is_ended, file);
	if (style[0])
		(void)fputs(off, file);
	(void)fputc('\n', file);
	if (!is_ended)
		(void)fputs("\\ No newline at end of file\n", file);
}

/* "FROM,COUNT"; of no lines the line that they would stand behind. */
static void write_range(FILE *file, char sign, size_t from, size_t to)
{
	(void)fprintf(file, "%c%zu", sign, to > from ? from + 1 : from);
	if (to - from != 1)
		(void)fprintf(file, ",%zu", to - from);
}

static void write_hunk(FILE *file, const struct line_script *script, const struct hunk *hunk,
		       const struct hunks_style *style)
{
	struct place at = hunk->from;

	(void)fprintf(file, "%s@@ ", style->head);
	write_range(file, '-', hunk->from.old, hunk->to.old);
	(void)fputc(' ', file);
	write_range(file, '+', hunk->from.new, hunk->to.new);
	(void)fprintf(file, " @@%s\n", style->off);
	while (at.old < hunk->to.old || at.new < hunk->to.new) {
		for (; at.old < hunk->to.old && script->old.changed[at.old]; at.old++)
			write_line(file, '-', &script->old, at.old, style->removed, style->off);
		for (; at.new < hunk->to.new && script->new.changed[at.new]; at.new ++)
			write_line(file, '+', &script->new, at.new, style->added, style->off);
		if (at.old < hunk->to.old && at.new < hunk->to.new) {
			write_line(file, ' ', &script->old, at.old++, "", "");
			at.new ++;
		}
	}
}

void hunks_write(FILE *file, const struct line_script *script, const struct hunks_style *style)
{
	struct hunk hunk = { { 0, 0 }, { 0, 0 } };

	while (next_hunk(script, hunk.to, &hunk))
		write_hunk(file, script, &hunk, style);
}

/* As write_range(). */
static uint64_t range_bytes(size_t from, size_t to)
{
	int length = to - from == 1 ? snprintf(NULL, 0, "-%zu", from + 1)
				    : snprintf(NULL, 0, "-%zu,%zu", to > from ? from + 1 : from,
					       to - from);

	return (uint64_t)length;
}

/* With the sign before each. */
static uint64_t lines_bytes(const struct line_list *list, size_t from, size_t to)
{
	return list->starts[to] - list->starts[from] + (to - from);
}

uint64_t hunks_bytes(const struct line_script *script)
{
	struct hunk hunk = { { 0, 0 }, { 0, 0 } };
	uint64_t bytes = 0;

	while (next_hunk(script, hunk.to, &hunk)) {
		bytes += sizeof("@@  @@\n") + range_bytes(hunk.from.old, hunk.to.old) +
			 range_bytes(hunk.from.new, hunk.to.new) +
			 lines_bytes(&script->old, hunk.from.old, hunk.to.old);
		for (size_t i = hunk.from.new; i < hunk.to.new; i++)
			if (script->new.changed[i])
				bytes += lines_bytes(&script->new, i, i + 1);
	}
	return bytes;
}

unsigned hunks_similarity(const struct line_script *script)
{
	const struct line_list *old = &script->old, *new = &script->new;
	size_t common = 0, larger = old->starts[old->count];

	if (new->starts[new->count] > larger)
		larger = new->starts[new->count];
	for (size_t i = 0; i < old->count; i++)
		if (!old->changed[i])
			common += old->starts[i + 1] - old->starts[i];
	unsigned percent = larger ? (unsigned)((unsigned long long)common * 100 / larger) : 100;
	/* Only the same content is 100 %. */
	return percent == 100 && (script->removed || script->added) ? 99 : percent;
}
