/* Drawing: see top_draw.h. */
#define NCURSES_NOMACROS 1
#include "cli/top/top_draw.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/screen/screen.h"
#include "cli/screen/screen_draw.h"
#include "cli/top/top_draw_head.h"
#include "cli/top/top_draw_rows.h"
#include "cli/top/top_text.h"

enum { NOTE_LINES_MIN = 20 /* of a terminal that has room for the last events below */ };

/* ---- the help ---- */

/* As many lines as there is room for on 80x24. */
static const char *const HELP[] = {
	"1 2 3 4 Tab  files, processes, events, steps  q ^C   quit",
	"s            the next order of the rows       p      undo the last step",
	"/            rows that hold a text alone      z      pause, go on",
	"w            the workspace alone, or all      r      rates begin anew",
	"h ?          this text",
	"Up Down j k PgUp PgDn Home End g G            scroll",
	"",
	"READS WRITES opened for reading; for writing, made, removed, renamed",
	"REPEATS      given again to the agent that had been given the same",
	"STATE        conflict: a write was warned of or refused (conflicts)",
	"             ruled: a rule warned of it, refused it or fails the run",
	"             outside: changed by another program and not read since",
	"             noticed: a repeat was answered with a notice",
	"EV/S         events of a process a second, over some seconds",
	"yields       repeats given in full because the model asked again",
	"unobserved   programs that were started and not heard of",
	"lost         records that could not be written",
	"`seen log` has every event, `seen status` every counter.",
};

enum { HELP_LINES = sizeof(HELP) / sizeof(HELP[0]) };

/* ---- all ---- */

/* The pane's rows. */
static void make_rows(const struct top_feed *feed, const struct top_display *view,
		      struct top_rows *rows)
{
	struct top_wish wish = top_display_wish(view), any = wish;

	any.filter = ""; /* the last events are shown whatever is looked for */
	if (view->pane == TOP_FILES)
		(void)top_rows_files(feed->model, &wish, rows);
	else if (view->pane == TOP_PROCESSES)
		(void)top_rows_processes(feed->model, &wish, rows);
	(void)top_rows_notes(feed->model, view->pane == TOP_EVENTS ? &wish : &any, rows);
}

static size_t count_rows(const struct top_display *view, const struct top_rows *rows,
			 const struct top_steps *steps)
{
	if (view->is_helping)
		return HELP_LINES;
	switch (view->pane) {
	case TOP_FILES:
		return rows->file_count;
	case TOP_PROCESSES:
		return rows->branch_count;
	case TOP_STEPS:
		return steps->row_count;
	default:
		return rows->note_count;
	}
}

static void draw_row(const struct top_feed *feed, const struct top_display *view,
		     const struct top_rows *rows, const struct top_steps *steps, size_t index,
		     int line)
{
	if (view->is_helping)
		(void)draw_text(line, 1, COLS - 2, A_NORMAL, HELP[index]);
	else if (view->pane == TOP_FILES)
		draw_file(feed->model, rows->files[index], line);
	else if (view->pane == TOP_PROCESSES)
		draw_process(&rows->branches[index], line);
	else if (view->pane == TOP_STEPS)
		draw_step(steps, index, line);
	else
		draw_note(feed->model, rows->notes[index], line);
}

static void draw_empty(const struct top_feed *feed, const struct top_display *view,
		       const struct top_rows *rows, int line)
{
	const char *text = "nothing yet";

	if (!feed->caught_up)
		return;
	if (view->filter[0])
		text = "nothing holds that text";
	else if (view->pane == TOP_FILES && rows->files_hidden)
		text = "nothing in the workspace yet; w shows files of other directories";
	(void)draw_text(line, 1, COLS - 2, A_DIM, text);
}

static void draw_foot(const struct top_display *view, int line)
{
	static const char *const KEYS[] = { "q quit",           "h help",   "Tab pane",
					    "p undo last step", "/ filter", "s sort",
					    "z pause",          "w where",  "r reset" };
	char text[TOP_FILTER_BYTES + 16];
	int column = 1;

	if (view->is_filtering) {
		(void)snprintf(text, sizeof(text), "/%s", view->filter);
		column += draw_cut(line, 1, COLS - 3, A_BOLD, SCREEN_CUT_START, text);
		(void)draw_text(line, column, 1, A_REVERSE, " ");
		if (column + 32 < COLS)
			draw_right(line, column + 2, COLS - column - 3, A_DIM,
				   "Enter keeps, Esc drops");
		return;
	}
	if (view->filter[0]) {
		(void)snprintf(text, sizeof(text), "filter: %s", view->filter);
		column += draw_text(line, 1, COLS / 2, A_BOLD, text) + 2;
	}
	for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
		int length = (int)strlen(KEYS[i]);
		if (column + length >= COLS)
			break;
		(void)draw_text(line, column, length, A_DIM, KEYS[i]);
		column += length + 2;
	}
}

static void draw_too_small(void)
{
	char text[80];
	(void)snprintf(text, sizeof(text), "seen top: %dx%d, needs %dx%d", COLS, LINES,
		       TOP_COLUMNS_MIN, TOP_LINES_MIN);
	(void)draw_text(0, 0, COLS, A_NORMAL, text);
	if (LINES > 1)
		(void)draw_text(1, 0, COLS, A_NORMAL, "q quits");
}

void top_draw(const struct top_feed *feed, struct top_display *view, struct top_rows *rows,
	      const struct top_steps *steps)
{
	(void)erase();
	if (COLS < TOP_COLUMNS_MIN || LINES < TOP_LINES_MIN) {
		draw_too_small();
		(void)refresh();
		return;
	}
	bool is_tall = LINES >= 16;
	int last = LINES - 1;
	int notes = !view->is_helping && view->pane != TOP_EVENTS && LINES >= NOTE_LINES_MIN
			    ? (LINES - 4) / 5
			    : 0;

	make_rows(feed, view, rows);
	draw_title(feed, view);
	int line = draw_numbers(feed, 1, is_tall ? DRAW_CELL_LINES : 1);
	draw_remark(feed, line);
	line++;
	int tabs = line++, heads = line;
	line += !view->is_helping;
	int bottom = last - (notes ? notes + 1 : 0);
	size_t page = (size_t)(bottom - line);
	size_t count = count_rows(view, rows, steps), offset = top_display_place(view, count, page);
	draw_tabs(feed, view, rows, steps, tabs, offset);
	if (!view->is_helping)
		draw_heads(view->pane, heads);
	if (count == 0)
		draw_empty(feed, view, rows, line);
	for (size_t i = 0; i < page && offset + i < count; i++)
		draw_row(feed, view, rows, steps, offset + i, line + (int)i);
	if (notes) {
		(void)draw_text(bottom, 1, COLS - 2, A_UNDERLINE | A_DIM, "LAST EVENTS");
		for (int i = 0; i < notes && (size_t)i < rows->note_count; i++)
			draw_note(feed->model, rows->notes[i], bottom + 1 + i);
	}
	draw_foot(view, last);
	(void)refresh();
}
