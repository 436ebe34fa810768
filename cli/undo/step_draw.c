/* Rows of steps on a screen: see step_draw.h. */
#define NCURSES_NOMACROS 1
#include "cli/undo/step_draw.h"

#include <stdio.h>

#include "cli/base/clock.h"
#include "cli/undo/story_print.h"

enum { GAP = 1 };

struct column {
	const char *title;
	int width; /* 0: the rest */
	int from;  /* shown on terminals of so many columns */
	bool is_left;
};

enum { STEP, CLOCK, STATUS, FILES, CHANGED_LINES, COMMAND, COLUMN_COUNT };

static const struct column COLUMNS_OF[COLUMN_COUNT] = {
	[STEP] = { "STEP", 4, 0, false },
	[CLOCK] = { "TIME", 8, 60, true },
	[STATUS] = { "EXIT", 6, 50, false },
	[FILES] = { "FILES", 5, 40, false },
	[CHANGED_LINES] = { "LINES", 11, 34, false },
	[COMMAND] = { "COMMAND", 0, 0, true },
};

/* The cells of one row, one beside the other. */
static void draw_cells(int line, attr_t attributes, const char *const cells[COLUMN_COUNT])
{
	int at = 1;

	if (attributes)
		(void)mvhline(line, 0, (chtype)' ' | attributes, COLS);
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		const struct column *column = &COLUMNS_OF[i];
		int width = column->width ? column->width : COLS - at - 1;
		if (COLS < column->from || width <= 0)
			continue;
		if (column->is_left)
			(void)draw_text(line, at, width, attributes, cells[i]);
		else
			draw_right(line, at, width, attributes, cells[i]);
		at += width + GAP;
	}
}

void step_draw_heads(int line, attr_t attributes)
{
	const char *titles[COLUMN_COUNT];

	for (size_t i = 0; i < COLUMN_COUNT; i++)
		titles[i] = COLUMNS_OF[i].title;
	draw_cells(line, attributes, titles);
}

void step_draw(const struct story_step *step, bool is_undone, int line, attr_t attributes)
{
	char number[STORY_WORD_BYTES], hours[CLOCK_WORD_BYTES], status[STORY_WORD_BYTES],
		files[STORY_WORD_BYTES], lines[STORY_WORD_BYTES];

	(void)snprintf(number, sizeof(number), "%u", step->step->number);
	(void)snprintf(files, sizeof(files), "%zu", step->count);
	story_lines(step->added, step->removed, lines);
	const char *const cells[COLUMN_COUNT] = {
		[STEP] = number,
		[CLOCK] = clock_hours(step->step->begin_ns, hours),
		[STATUS] = is_undone ? "undone" : story_status(step, status),
		[FILES] = files,
		[CHANGED_LINES] = lines,
		[COMMAND] = step->step->text,
	};
	draw_cells(line, attributes, cells);
}
