/* The head of `seen top`: its title, its numbers, its tabs.  See screen_draw.h. */
#define NCURSES_NOMACROS 1
#include "cli/top/top_draw_head.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/screen/screen.h"
#include "cli/screen/screen_draw.h"
#include "cli/session/counts.h"
#include "cli/top/top_text.h"
#include "tracker/segment/segment.h"
#include "tracker/sys/sys.h"

enum {
	CELL_LABEL = 11, /* columns of a number's name */
	CELL_VALUE = 7,
	CELL = CELL_LABEL + CELL_VALUE + 2,
	CELLS_ACROSS = 4,
};

static void fill(int line, attr_t attributes)
{
	(void)attrset((int)attributes);
	(void)mvhline(line, 0, ' ' | attributes, COLS);
	(void)attrset(A_NORMAL);
}

static uint64_t last_ns(const struct top_feed *feed)
{
	return feed->model->last_realtime_ns;
}

static const char *state_of(const struct top_feed *feed, enum meaning *ret_meaning)
{
	*ret_meaning = CAREFUL;
	if (feed->is_removed)
		return "removed";
	switch (feed->life) {
	case SESSION_LIVED_IN:
		*ret_meaning = GOOD;
		return "running";
	case SESSION_UNSURE:
		return "unsure";
	case SESSION_EMPTY:
		break;
	}
	return "ended";
}

void draw_title(const struct top_feed *feed, const struct top_display *view)
{
	const struct segment *segment = &feed->session->segment;
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);
	uint64_t now_ns = sys_realtime_ns(), begin_ns = segment->header->created_realtime_ns;
	uint64_t end_ns = feed->life == SESSION_EMPTY && last_ns(feed) ? last_ns(feed) : now_ns;
	char clock[TOP_NUMBER_BYTES], right[64];
	enum meaning meaning;
	const char *state = state_of(feed, &meaning);

	fill(0, A_REVERSE);
	(void)snprintf(right, sizeof(right), "%s%s  %s ", view->is_paused ? "paused  " : "", state,
		       top_clock(end_ns > begin_ns ? (end_ns - begin_ns) / 1000000000 : 0, clock));
	int at = COLS - (int)strlen(right);
	draw_right(0, at, COLS - at, A_REVERSE | A_BOLD, right);
	int column = 1;
	column += draw_text(0, column, at - column - 1, A_REVERSE, "seen top") + 2;
	if (column < at - 2)
		column += draw_text(0, column, at - column - 1, A_REVERSE | A_BOLD,
				    feed->session->name) +
			  2;
	if (root && column < at - PATH_MIN)
		(void)draw_cut(0, column, at - column - 2, A_REVERSE, SCREEN_CUT_START, root);
}

struct cell {
	const char *label;
	char value[TEXT_NUMBER_BYTES];
	enum meaning meaning; /* PLAIN: a number as it should be */
};

enum cell_name {
	CELL_EVENTS,
	CELL_READS,
	CELL_WRITES,
	CELL_CONFLICTS,
	CELL_RULES,
	CELL_EXTERNAL,
	CELL_NOTICES,
	CELL_SAVED,
	CELL_YIELDS,
	CELL_UNOBSERVED,
	CELL_LOST,
	CELLS,
};

static void set_count(struct cell *cell, const char *label, uint64_t count, enum meaning meaning)
{
	*cell = (struct cell){ .label = label, .meaning = count ? meaning : PLAIN };
	(void)top_count(count, cell->value);
}

static void set_rate(struct cell *cell, const char *label, double rate)
{
	*cell = (struct cell){ .label = label };
	(void)top_per_second(rate, cell->value);
}

static void make_cells(const struct top_feed *feed, struct cell *ret_cells)
{
	const uint64_t *counters = feed->counters;
	uint64_t saved = counters[COUNTER_bytes_saved];
	enum meaning refused = counters[COUNTER_rules_denied] || counters[COUNTER_rules_failed]
				       ? BAD
				       : CAREFUL;

	set_rate(&ret_cells[CELL_EVENTS], "events/s", feed->rates.events);
	set_rate(&ret_cells[CELL_READS], "reads/s", feed->rates.reads);
	set_rate(&ret_cells[CELL_WRITES], "writes/s", feed->rates.writes);
	set_count(&ret_cells[CELL_CONFLICTS], "conflicts", counts_sum(counters, COUNT_CONFLICTS),
		  BAD);
	set_count(&ret_cells[CELL_RULES], "rule hits", counts_sum(counters, COUNT_RULE_HITS),
		  refused);
	set_count(&ret_cells[CELL_EXTERNAL], "outside", counters[COUNTER_edits_outside], CAREFUL);
	set_count(&ret_cells[CELL_NOTICES], "notices", counts_sum(counters, COUNT_NOTICES), GOOD);
	ret_cells[CELL_SAVED] = (struct cell){ .label = "saved", .meaning = saved ? GOOD : PLAIN };
	(void)top_size(saved, ret_cells[CELL_SAVED].value);
	set_count(&ret_cells[CELL_YIELDS], "yields", counters[COUNTER_yields], INFO);
	set_count(&ret_cells[CELL_UNOBSERVED], "unobserved", feed->unobserved, CAREFUL);
	set_count(&ret_cells[CELL_LOST], "lost", top_feed_lost(feed), BAD);
}

static void draw_cell(int line, int column, const struct cell *cell)
{
	(void)draw_text(line, column, CELL_LABEL, A_NORMAL, cell->label);
	draw_right(line, column + CELL_LABEL, CELL_VALUE, A_BOLD | color(cell->meaning),
		   cell->value);
}

/* The rate of the last seconds as bars, the last one at the right. */
static void draw_history(const struct top_feed *feed, int line, int column, int columns)
{
	static const char *const BARS[] = { " ",
					    "\xe2\x96\x81",
					    "\xe2\x96\x82",
					    "\xe2\x96\x83",
					    "\xe2\x96\x84",
					    "\xe2\x96\x85",
					    "\xe2\x96\x86",
					    "\xe2\x96\x87",
					    "\xe2\x96\x88" };
	static const char PLAIN_BARS[] = " .:-=+*#@";
	double highest = 1;
	int count = feed->history_count < columns ? feed->history_count : columns;

	for (int i = 0; i < count; i++)
		if (feed->history[i] > highest)
			highest = feed->history[i];
	for (int i = 0; i < count; i++) {
		double share = feed->history[i] / highest;
		int height = feed->history[i] > 0 ? 1 + (int)(share * 7 + 0.5) : 0;
		char plain[2] = { PLAIN_BARS[height], '\0' };
		(void)draw_text(line, column + columns - 1 - i, 1, color(INFO),
				screen_is_utf8() ? BARS[height] : plain);
	}
}

/* How fast, what needs attention, what was saved, what was not seen: a column each.  Where there is
 * no room for that, the most important ones.  Returns the line below. */
int draw_numbers(const struct top_feed *feed, int line, int lines)
{
	static const int GRID[DRAW_CELL_LINES][CELLS_ACROSS] = {
		{ CELL_EVENTS, CELL_CONFLICTS, CELL_NOTICES, CELLS },
		{ CELL_READS, CELL_RULES, CELL_SAVED, CELL_UNOBSERVED },
		{ CELL_WRITES, CELL_EXTERNAL, CELL_YIELDS, CELL_LOST },
	};
	static const int FIRST[] = { CELL_EVENTS,     CELL_CONFLICTS, CELL_SAVED,
				     CELL_RULES,      CELL_NOTICES,   CELL_EXTERNAL,
				     CELL_UNOBSERVED, CELL_READS,     CELL_WRITES };
	enum { FIRST_COUNT = sizeof(FIRST) / sizeof(FIRST[0]) };
	struct cell cells[CELLS];
	int across = (COLS + 1) / CELL;

	make_cells(feed, cells);
	if (across < CELLS_ACROSS || lines < DRAW_CELL_LINES) {
		for (int i = 0; i < FIRST_COUNT && i / across < lines; i++)
			draw_cell(line + i / across, 1 + i % across * CELL, &cells[FIRST[i]]);
		return line + lines;
	}
	for (int i = 0; i < DRAW_CELL_LINES * CELLS_ACROSS; i++) {
		int cell = GRID[i / CELLS_ACROSS][i % CELLS_ACROSS];
		if (cell < CELLS)
			draw_cell(line + i / CELLS_ACROSS, 1 + i % CELLS_ACROSS * CELL,
				  &cells[cell]);
	}
	int begin = 1 + (CELLS_ACROSS - 1) * CELL, columns = COLS - 1 - begin;
	if (columns > TOP_HISTORY)
		columns = TOP_HISTORY;
	draw_history(feed, line, begin, columns);
	return line + lines;
}

/* ---- what there is to say ---- */

void draw_remark(const struct top_feed *feed, int line)
{
	char size[TOP_NUMBER_BYTES], text[256];
	enum meaning meaning = CAREFUL;

	if (!feed->events) {
		(void)snprintf(text, sizeof(text),
			       "this session has no journal: only its counters are known");
	} else if (!feed->caught_up) {
		(void)snprintf(text, sizeof(text), "reading the journal: %d%%",
			       top_feed_progress(feed));
		meaning = INFO;
	} else if (feed->is_behind) {
		(void)snprintf(text, sizeof(text),
			       "behind: %s of the journal passed over; the numbers above are exact",
			       top_size(feed->skipped_bytes, size));
	} else if (feed->unobserved_names[0]) {
		(void)snprintf(text, sizeof(text), "unobserved: %s", feed->unobserved_names);
	} else if (feed->skipped_bytes) {
		(void)snprintf(text, sizeof(text),
			       "%s of the journal not read: the tables know what came after",
			       top_size(feed->skipped_bytes, size));
	} else if (feed->life == SESSION_EMPTY) {
		(void)snprintf(text, sizeof(text), "nothing of this session runs");
		meaning = PLAIN;
	} else {
		return;
	}
	(void)draw_text(line, 1, COLS - 2, color(meaning), text);
}

/* The panes; where there is little room the counts of the others are left out, then all. */
static int draw_names(const struct top_feed *feed, const struct top_display *view,
		      const struct top_steps *steps, int line)
{
	static const char *const NAMES[TOP_PANES] = { "files", "processes", "events", "steps" };
	enum { COUNTED_FROM = 56, ALL_COUNTED_FROM = 100 };
	const struct top_model *model = feed->model;
	const size_t counts[TOP_PANES] = { model->file_count, model->process_count,
					   model->note_count, steps->count };
	char number[TOP_NUMBER_BYTES], text[64];
	int column = 1;

	for (int i = 0; i < TOP_PANES; i++) {
		bool is_chosen = !view->is_helping && (int)view->pane == i;
		bool is_counted = (i != TOP_STEPS || steps->was_read) &&
				  (COLS >= ALL_COUNTED_FROM || (COLS >= COUNTED_FROM && is_chosen));
		(void)snprintf(text, sizeof(text), "%s%d %s%s%s ", COLS < COUNTED_FROM ? "" : " ",
			       i + 1, NAMES[i], is_counted ? " " : "",
			       is_counted ? top_count(counts[i], number) : "");
		column += draw_text(line, column, COLS - column,
				    is_chosen ? A_REVERSE | A_BOLD : A_NORMAL, text);
	}
	return column;
}

void draw_tabs(const struct top_feed *feed, const struct top_display *view,
	       const struct top_rows *rows, const struct top_steps *steps, int line, size_t offset)
{
	char right[192];
	int column = draw_names(feed, view, steps, line);

	(void)snprintf(right, sizeof(right), "%s", view->is_helping ? "" : top_display_order(view));
	if (!view->is_helping && view->pane == TOP_FILES && !view->is_everywhere &&
	    rows->files_hidden)
		(void)snprintf(right, sizeof(right), "%s, workspace", top_display_order(view));
	if (view->count > view->page) {
		size_t length = strlen(right);
		(void)snprintf(right + length, sizeof(right) - length, "  %zu-%zu of %zu",
			       offset + 1, offset + view->page, view->count);
	}
	if (column + (int)strlen(right) + 2 < COLS)
		draw_right(line, column, COLS - 1 - column, A_DIM, right);
}
