/* Drawing: see top_draw.h. */
#define NCURSES_NOMACROS 1
#include "cli/lib/top_draw.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lib/text.h"
#include "cli/lib/top_screen.h"
#include "cli/lib/top_text.h"
#include "tracker/role.h"
#include "tracker/segment.h"
#include "tracker/sys.h"
#include "tracker/tables.h"

enum {
	CELL_LABEL = 11, /* columns of the numbers' names */
	CELL_VALUE = 7,
	CELL = CELL_LABEL + CELL_VALUE + 2,
	CELLS_MAX = 12,
	GAP = 1, /* columns between those of a table */
	PATH_MIN = 12,
	NOTE_LINES_MIN = 20, /* of a terminal that has room for the last events below */
};

/* Colours by meaning; each stands beside a word that says the same. */
enum meaning { PLAIN, GOOD, CAREFUL, BAD, SPECIAL, INFO };

static bool has_meanings;

void top_draw_begin(void)
{
	const char *no_color = getenv("NO_COLOR");

	has_meanings = !(no_color && no_color[0]) && has_colors() && start_color() == OK;
	if (!has_meanings)
		return;
	(void)use_default_colors();
	(void)init_pair(GOOD, COLOR_GREEN, -1);
	(void)init_pair(CAREFUL, COLOR_YELLOW, -1);
	(void)init_pair(BAD, COLOR_RED, -1);
	(void)init_pair(SPECIAL, COLOR_MAGENTA, -1);
	(void)init_pair(INFO, COLOR_CYAN, -1);
}

static attr_t color(enum meaning meaning)
{
	return has_meanings && meaning != PLAIN ? (attr_t)COLOR_PAIR(meaning) : A_NORMAL;
}

/* ---- texts ---- */

/* Bytes of others, or a text of ours, in so many columns.  Returns how many it took. */
static int put_cut(int line, int column, int columns, attr_t attributes, enum top_cut cut,
		   const char *text)
{
	static char fitted[TOP_FIT_BYTES];

	if (columns > COLS - column)
		columns = COLS - column;
	int used = top_fit(text, columns, cut, top_screen_is_utf8(), fitted);
	(void)attrset((int)attributes);
	(void)mvaddstr(line, column, fitted);
	(void)attrset(A_NORMAL);
	return used;
}

static int put(int line, int column, int columns, attr_t attributes, const char *text)
{
	return put_cut(line, column, columns, attributes, TOP_CUT_END, text);
}

static void put_right(int line, int column, int columns, attr_t attributes, const char *text)
{
	int length = (int)strlen(text);
	if (length < columns)
		column += columns - length;
	(void)put(line, column, length < columns ? length : columns, attributes, text);
}

static void fill(int line, attr_t attributes)
{
	(void)attrset((int)attributes);
	(void)mvhline(line, 0, ' ' | attributes, COLS);
	(void)attrset(A_NORMAL);
}

/* ---- the head ---- */

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

static void draw_title(const struct top_feed *feed, const struct top_view *view)
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
	put_right(0, at, COLS - at, A_REVERSE | A_BOLD, right);
	int column = 1;
	column += put(0, column, at - column - 1, A_REVERSE, "seen top") + 2;
	if (column < at - 2)
		column += put(0, column, at - column - 1, A_REVERSE | A_BOLD, feed->session->name) +
			  2;
	if (root && column < at - PATH_MIN)
		(void)put_cut(0, column, at - column - 2, A_REVERSE, TOP_CUT_START, root);
}

struct cell {
	const char *label;
	char value[TEXT_NUMBER_BYTES];
	enum meaning meaning; /* PLAIN: a number as it should be */
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

/* The numbers, the most important first. */
static int make_cells(const struct top_feed *feed, struct cell *ret_cells)
{
	const uint64_t *counters = feed->counters;
	struct cell *at = ret_cells;

	set_rate(at++, "events/s", feed->rates.events);
	set_count(at++, "conflicts", top_feed_conflicts(feed), BAD);
	set_count(at++, "notices",
		  counters[COUNTER_notices] + counters[COUNTER_diffs] +
			  counters[COUNTER_requests_answered],
		  GOOD);
	set_rate(at++, "reads/s", feed->rates.reads);
	set_count(at++, "outside", counters[COUNTER_edits_outside], CAREFUL);
	*at = (struct cell){ .label = "saved",
			     .meaning = counters[COUNTER_bytes_saved] ? GOOD : PLAIN };
	(void)top_size(counters[COUNTER_bytes_saved], (at++)->value);
	set_rate(at++, "writes/s", feed->rates.writes);
	set_count(at++, "unobserved", feed->unobserved, CAREFUL);
	set_count(at++, "lost", top_feed_lost(feed), BAD);
	return (int)(at - ret_cells);
}

static void draw_cell(int line, int column, const struct cell *cell)
{
	(void)put(line, column, CELL_LABEL, A_NORMAL, cell->label);
	put_right(line, column + CELL_LABEL, CELL_VALUE, A_BOLD | color(cell->meaning),
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
		(void)put(line, column + columns - 1 - i, 1, color(INFO),
			  top_screen_is_utf8() ? BARS[height] : plain);
	}
}

/* Returns the line below. */
static int draw_numbers(const struct top_feed *feed, int line, int lines)
{
	struct cell cells[CELLS_MAX];
	int count = make_cells(feed, cells), across = (COLS + 2) / CELL;

	/* Room for the bars: they take what is left at the right of the first line. */
	if (across > 3)
		across = 3;
	for (int i = 0; i < count && i / across < lines; i++)
		draw_cell(line + i / across, 1 + i % across * CELL, &cells[i]);
	int used = 1 + across * CELL;
	if (COLS - used >= 10) {
		int columns = COLS - used - 1;
		if (columns > TOP_HISTORY)
			columns = TOP_HISTORY;
		draw_history(feed, line, COLS - 1 - columns, columns);
	}
	return line + lines;
}

/* ---- what there is to say ---- */

static void draw_remark(const struct top_feed *feed, int line)
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
	} else {
		return;
	}
	(void)put(line, 1, COLS - 2, color(meaning), text);
}

static void draw_tabs(const struct top_feed *feed, const struct top_view *view,
		      const struct top_rows *rows, int line, size_t offset)
{
	static const char *const NAMES[TOP_PANES] = { "files", "processes", "events" };
	const struct top_model *model = feed->model;
	size_t counts[TOP_PANES] = { model->file_count, model->running_count, model->note_count };
	char number[TOP_NUMBER_BYTES], text[64], right[192];
	int column = 1;

	for (int i = 0; i < TOP_PANES; i++) {
		bool is_chosen = !view->is_helping && (int)view->pane == i;
		(void)snprintf(text, sizeof(text), " %d %s %s ", i + 1, NAMES[i],
			       top_count(counts[i], number));
		column += put(line, column, COLS - column,
			      is_chosen ? A_REVERSE | A_BOLD : A_NORMAL, text);
	}
	if (view->is_helping)
		return;
	(void)snprintf(right, sizeof(right), "%s", top_view_order(view));
	if (view->pane == TOP_FILES && !view->is_everywhere && rows->files_hidden)
		(void)snprintf(right, sizeof(right), "%s, workspace", top_view_order(view));
	if (view->count > view->page) {
		size_t length = strlen(right);
		(void)snprintf(right + length, sizeof(right) - length, "  %zu-%zu of %zu",
			       offset + 1, offset + view->page, view->count);
	}
	if (column + (int)strlen(right) + 2 < COLS)
		put_right(line, column, COLS - 1 - column, A_DIM, right);
}

/* ---- the tables ---- */

struct column {
	const char *title;
	int width; /* 0: the rest */
	int from;  /* shown on terminals of so many columns */
	bool is_left;
};

/* Where a column lies on this terminal; false: it is not shown. */
static bool place(const struct column *columns, int index, int *ret_column, int *ret_width)
{
	int at = 1;

	if (COLS < columns[index].from)
		return false;
	for (int i = 0; i < index; i++)
		if (COLS >= columns[i].from)
			at += columns[i].width + GAP;
	*ret_column = at;
	*ret_width = columns[index].width ? columns[index].width : COLS - at - 1;
	return *ret_width > 0;
}

static void draw_heads(const struct column *columns, int count, int line)
{
	int column, width;

	for (int i = 0; i < count; i++) {
		if (!place(columns, i, &column, &width))
			continue;
		if (columns[i].is_left)
			(void)put(line, column, width, A_UNDERLINE | A_DIM, columns[i].title);
		else
			put_right(line, column, width, A_UNDERLINE | A_DIM, columns[i].title);
	}
}

/* A text of ours. */
static void draw_field(const struct column *columns, int index, int line, attr_t attributes,
		       const char *text)
{
	int column, width;

	if (!place(columns, index, &column, &width))
		return;
	if (columns[index].is_left)
		(void)put(line, column, width, attributes, text);
	else
		put_right(line, column, width, attributes, text);
}

static void draw_number(const struct column *columns, int index, int line, uint64_t number)
{
	char text[TOP_NUMBER_BYTES];
	draw_field(columns, index, line, A_NORMAL, number ? top_count(number, text) : "-");
}

static const char *shown_path(const struct top_model *model, const char *path)
{
	size_t length = model->workspace ? strlen(model->workspace) : 0;
	if (length > 1 && strncmp(path, model->workspace, length) == 0 && path[length] == '/' &&
	    path[length + 1])
		return path + length + 1;
	return path;
}

static const char *since(uint64_t realtime_ns, char *ret_text)
{
	uint64_t now_ns = sys_realtime_ns();
	if (!realtime_ns)
		return "-";
	return top_span(now_ns > realtime_ns ? (now_ns - realtime_ns) / 1000000000 : 0, ret_text);
}

/* ---- files ---- */

enum {
	FILE_AGE,
	FILE_READS,
	FILE_BYTES,
	FILE_REPEATS,
	FILE_NOTICES,
	FILE_WRITES,
	FILE_STATE,
	FILE_PATH
};

static const struct column FILE_COLUMNS[] = {
	[FILE_AGE] = { "AGO", 4, 60, false },          [FILE_READS] = { "READS", 6, 0, false },
	[FILE_BYTES] = { "BYTES", 7, 72, false },      [FILE_REPEATS] = { "REPEATS", 7, 64, false },
	[FILE_NOTICES] = { "NOTICES", 7, 100, false }, [FILE_WRITES] = { "WRITES", 6, 50, false },
	[FILE_STATE] = { "STATE", 8, 0, true },        [FILE_PATH] = { "PATH", 0, 0, true },
};

static const char *file_state(const struct top_file *file, enum meaning *ret_meaning)
{
	*ret_meaning = BAD;
	if (file->flags & TOP_FILE_CONFLICT)
		return "conflict";
	*ret_meaning = CAREFUL;
	if (file->flags & TOP_FILE_OUTSIDE)
		return "outside";
	*ret_meaning = PLAIN;
	if (file->flags & TOP_FILE_DELETED)
		return "deleted";
	*ret_meaning = INFO;
	if (file->flags & TOP_FILE_WRITTEN)
		return "written";
	*ret_meaning = GOOD;
	return file->notices ? "noticed" : "";
}

static void draw_file(const struct top_model *model, const struct top_file *file, int line)
{
	char text[TOP_NUMBER_BYTES];
	int column, width;
	enum meaning meaning;
	const char *state = file_state(file, &meaning);

	draw_field(FILE_COLUMNS, FILE_AGE, line, A_DIM, since(file->last_realtime_ns, text));
	draw_number(FILE_COLUMNS, FILE_READS, line, file->reads);
	draw_field(FILE_COLUMNS, FILE_BYTES, line, A_NORMAL,
		   file->bytes ? top_size(file->bytes, text) : "-");
	draw_number(FILE_COLUMNS, FILE_REPEATS, line, file->repeats);
	draw_number(FILE_COLUMNS, FILE_NOTICES, line, file->notices);
	draw_number(FILE_COLUMNS, FILE_WRITES, line, file->writes);
	draw_field(FILE_COLUMNS, FILE_STATE, line, color(meaning), state);
	if (place(FILE_COLUMNS, FILE_PATH, &column, &width))
		(void)put_cut(line, column, width, meaning == BAD ? A_BOLD : A_NORMAL,
			      TOP_CUT_START, shown_path(model, file->path));
}

/* ---- processes ---- */

enum {
	PROCESS_PID,
	PROCESS_ROLE,
	PROCESS_READS,
	PROCESS_WRITES,
	PROCESS_RATE,
	PROCESS_LIFE,
	PROCESS_COMMAND
};

static const struct column PROCESS_COLUMNS[] = {
	[PROCESS_PID] = { "PID", 7, 0, false },
	[PROCESS_ROLE] = { "ROLE", 6, 50, true },
	[PROCESS_READS] = { "READS", 6, 60, false },
	[PROCESS_WRITES] = { "WRITES", 6, 60, false },
	[PROCESS_RATE] = { "EV/S", 6, 72, false },
	[PROCESS_LIFE] = { "STATE", 8, 0, true },
	[PROCESS_COMMAND] = { "COMMAND", 0, 0, true },
};

static enum meaning role_meaning(int role)
{
	switch (role) {
	case ROLE_AGENT:
		return SPECIAL;
	case ROLE_VIEWER:
		return GOOD;
	case ROLE_READER:
		return INFO;
	default:
		return PLAIN;
	}
}

static const char *life_text(const struct top_process *process, enum meaning *ret_meaning,
			     char *ret_text)
{
	*ret_meaning = GOOD;
	if (process->life == TOP_RUNS)
		return "runs";
	*ret_meaning = CAREFUL;
	if (process->life == TOP_GONE)
		return "gone";
	*ret_meaning = process->status ? CAREFUL : PLAIN;
	(void)snprintf(ret_text, TOP_NUMBER_BYTES, "exit %llu",
		       (unsigned long long)process->status);
	return ret_text;
}

static int draw_branch_lines(const struct top_branch *branch, int line, int column, int width)
{
	const char *text = top_screen_is_utf8() ? (branch->is_last ? "\xe2\x94\x94\xe2\x94\x80 "
								   : "\xe2\x94\x9c\xe2\x94\x80 ")
						: (branch->is_last ? "`- " : "|- ");
	int indent = (branch->depth - 1) * 2;

	if (branch->depth == 0 || indent + 3 + PATH_MIN > width)
		return 0;
	return indent + put(line, column + indent, 3, A_DIM, text);
}

static void draw_process(const struct top_branch *branch, int line)
{
	const struct top_process *process = branch->process;
	char text[TOP_NUMBER_BYTES];
	int column, width;
	enum meaning meaning;
	attr_t faint = process->life == TOP_RUNS ? A_NORMAL : A_DIM;

	(void)snprintf(text, sizeof(text), "%u", process->pid);
	draw_field(PROCESS_COLUMNS, PROCESS_PID, line, faint, text);
	draw_field(PROCESS_COLUMNS, PROCESS_ROLE, line, faint | color(role_meaning(process->role)),
		   process->role >= 0 ? role_name((uint32_t)process->role) : "-");
	draw_number(PROCESS_COLUMNS, PROCESS_READS, line, process->reads);
	draw_number(PROCESS_COLUMNS, PROCESS_WRITES, line, process->writes);
	draw_field(PROCESS_COLUMNS, PROCESS_RATE, line, faint,
		   process->rate > 0 ? top_per_second(process->rate, text) : "-");
	const char *life = life_text(process, &meaning, text);
	draw_field(PROCESS_COLUMNS, PROCESS_LIFE, line, color(meaning), life);
	if (!place(PROCESS_COLUMNS, PROCESS_COMMAND, &column, &width))
		return;
	int used = draw_branch_lines(branch, line, column, width);
	(void)put(line, column + used, width - used, faint, process->command);
}

/* ---- events ---- */

enum { NOTE_TIME, NOTE_OP, NOTE_PID, NOTE_TEXT };

static const struct column NOTE_COLUMNS[] = {
	[NOTE_TIME] = { "UTC", 8, 0, true },
	[NOTE_OP] = { "EVENT", 10, 0, true },
	[NOTE_PID] = { "PID", 7, 64, false },
	[NOTE_TEXT] = { "PATH  WHAT", 0, 0, true },
};

static enum meaning note_meaning(const struct top_note *note)
{
	if (note->is_grave)
		return note->op == JOURNAL_UNOBSERVED ? CAREFUL : BAD;
	switch (note->op) {
	case JOURNAL_NOTICE:
	case JOURNAL_DIFFED:
	case JOURNAL_REQUEST:
		return GOOD;
	case JOURNAL_CHANGED:
		return CAREFUL;
	default:
		return INFO;
	}
}

static void draw_note(const struct top_model *model, const struct top_note *note, int line)
{
	char time[TEXT_TIME_BYTES], pid[TOP_NUMBER_BYTES];
	int column, width;
	enum meaning meaning = note_meaning(note);
	const char *op = event_op_name(note->op);

	(void)text_time(note->time_realtime_ns, time);
	time[time[0] ? sizeof("YYYY-MM-DDThh:mm:ss") - 1 : 0] = '\0';
	draw_field(NOTE_COLUMNS, NOTE_TIME, line, A_DIM,
		   time[0] ? time + sizeof("YYYY-MM-DDT") - 1 : "-");
	draw_field(NOTE_COLUMNS, NOTE_OP, line,
		   (note->is_grave ? A_BOLD : A_NORMAL) | color(meaning), op ? op : "?");
	(void)snprintf(pid, sizeof(pid), "%u", note->pid);
	draw_field(NOTE_COLUMNS, NOTE_PID, line, A_DIM, note->pid ? pid : "-");
	if (!place(NOTE_COLUMNS, NOTE_TEXT, &column, &width))
		return;
	/* What there is to say is not cut for a long path, nor the path to nothing. */
	int text = (int)strlen(note->text) + 2;
	int path = width - text > PATH_MIN ? width - text : PATH_MIN;
	int used = 0;
	if (note->path)
		used = put_cut(line, column, note->text[0] ? path : width, A_NORMAL, TOP_CUT_START,
			       shown_path(model, note->path)) +
		       2;
	if (used < width)
		(void)put(line, column + used, width - used, A_DIM, note->text);
}

/* ---- the help ---- */

static const char *const HELP[] = {
	"q            quit; so do ^C and the end of the terminal",
	"1 2 3, Tab   files, processes, events",
	"s            the next order of the rows",
	"/            show rows that hold a text; Enter keeps it, Esc drops it",
	"w            files of the workspace alone, or all",
	"Up Down j k  a row; PgUp PgDn: a page; Home End g G: first, last",
	"p            pause: nothing moves until p is pressed again",
	"r            rates begin anew",
	"h ?          this text",
	"",
	"AGO          since the file was last touched",
	"READS WRITES opened for reading; for writing, made, removed, renamed",
	"REPEATS      given again to the agent that had been given the same",
	"STATE        conflict: a write was warned of or refused; outside:",
	"             changed by somebody else and not read since; noticed: a",
	"             repeat was answered with a notice",
	"EV/S         events a second, over some seconds",
	"conflicts    what the guard warned of or refused",
	"outside      changes by somebody outside the session",
	"unobserved   programs that were started and not heard of",
	"lost         records that could not be written",
	"",
	"`seen log` has every event, `seen status` every counter.",
};

enum { HELP_LINES = sizeof(HELP) / sizeof(HELP[0]) };

/* ---- all ---- */

/* The pane's rows, where something changed. */
static void make_rows(const struct top_feed *feed, const struct top_view *view,
		      struct top_rows *rows)
{
	struct top_wish wish = top_view_wish(view), any = wish;

	any.filter = ""; /* the last events are shown whatever is looked for */
	if (view->pane == TOP_FILES)
		(void)top_rows_files(feed->model, &wish, rows);
	else if (view->pane == TOP_PROCESSES)
		(void)top_rows_processes(feed->model, &wish, rows);
	(void)top_rows_notes(feed->model, view->pane == TOP_EVENTS ? &wish : &any, rows);
}

static size_t count_rows(const struct top_view *view, const struct top_rows *rows)
{
	if (view->is_helping)
		return HELP_LINES;
	switch (view->pane) {
	case TOP_FILES:
		return rows->file_count;
	case TOP_PROCESSES:
		return rows->branch_count;
	default:
		return rows->note_count;
	}
}

static void draw_head_line(const struct top_view *view, int line)
{
	if (view->is_helping)
		return;
	if (view->pane == TOP_FILES)
		draw_heads(FILE_COLUMNS, FILE_PATH + 1, line);
	else if (view->pane == TOP_PROCESSES)
		draw_heads(PROCESS_COLUMNS, PROCESS_COMMAND + 1, line);
	else
		draw_heads(NOTE_COLUMNS, NOTE_TEXT + 1, line);
}

static void draw_row(const struct top_feed *feed, const struct top_view *view,
		     const struct top_rows *rows, size_t index, int line)
{
	if (view->is_helping)
		(void)put(line, 1, COLS - 2, A_NORMAL, HELP[index]);
	else if (view->pane == TOP_FILES)
		draw_file(feed->model, rows->files[index], line);
	else if (view->pane == TOP_PROCESSES)
		draw_process(&rows->branches[index], line);
	else
		draw_note(feed->model, rows->notes[index], line);
}

static void draw_empty(const struct top_feed *feed, const struct top_view *view,
		       const struct top_rows *rows, int line)
{
	const char *text = "nothing yet";

	if (!feed->caught_up)
		return;
	if (view->filter[0])
		text = "nothing holds that text";
	else if (view->pane == TOP_FILES && rows->files_hidden)
		text = "nothing in the workspace yet; w shows files of other folders";
	(void)put(line, 1, COLS - 2, A_DIM, text);
}

static void draw_foot(const struct top_view *view, int line)
{
	static const char *const KEYS[] = { "q quit",   "h help",  "Tab pane", "s sort",
					    "/ filter", "p pause", "w where",  "r reset" };
	char text[TOP_FILTER_BYTES + 16];
	int column = 1;

	if (view->is_filtering) {
		(void)snprintf(text, sizeof(text), "/%s", view->filter);
		column += put_cut(line, 1, COLS - 3, A_BOLD, TOP_CUT_START, text);
		(void)put(line, column, 1, A_REVERSE, " ");
		if (column + 32 < COLS)
			put_right(line, column + 2, COLS - column - 3, A_DIM,
				  "Enter keeps, Esc drops");
		return;
	}
	if (view->filter[0]) {
		(void)snprintf(text, sizeof(text), "filter: %s", view->filter);
		column += put(line, 1, COLS / 2, A_BOLD, text) + 2;
	}
	for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
		int length = (int)strlen(KEYS[i]);
		if (column + length >= COLS)
			break;
		(void)put(line, column, length, A_DIM, KEYS[i]);
		column += length + 2;
	}
}

static void draw_too_small(void)
{
	char text[80];
	(void)snprintf(text, sizeof(text), "seen top: %dx%d, needs %dx%d", COLS, LINES,
		       TOP_COLUMNS_MIN, TOP_LINES_MIN);
	(void)put(0, 0, COLS, A_NORMAL, text);
	if (LINES > 1)
		(void)put(1, 0, COLS, A_NORMAL, "q quits");
}

void top_draw(const struct top_feed *feed, struct top_view *view, struct top_rows *rows)
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
	int line = draw_numbers(feed, 1, is_tall ? 3 : 1);
	draw_remark(feed, line);
	line++;
	int tabs = line++, heads = line;
	line += !view->is_helping;
	int bottom = last - (notes ? notes + 1 : 0);
	size_t page = (size_t)(bottom - line);
	size_t count = count_rows(view, rows), offset = top_view_place(view, count, page);
	draw_tabs(feed, view, rows, tabs, offset);
	draw_head_line(view, heads);
	if (count == 0)
		draw_empty(feed, view, rows, line);
	for (size_t i = 0; i < page && offset + i < count; i++)
		draw_row(feed, view, rows, offset + i, line + (int)i);
	if (notes) {
		(void)put(bottom, 1, COLS - 2, A_UNDERLINE | A_DIM, "LAST EVENTS");
		for (int i = 0; i < notes && (size_t)i < rows->note_count; i++)
			draw_note(feed->model, rows->notes[i], bottom + 1 + i);
	}
	draw_foot(view, last);
	(void)refresh();
}
