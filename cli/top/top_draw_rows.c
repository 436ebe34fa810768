/* The rows of `seen top`: files, processes, events.  See screen_draw.h. */
#define NCURSES_NOMACROS 1
#include "cli/top/top_draw_rows.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/text.h"
#include "cli/screen/screen.h"
#include "cli/screen/screen_draw.h"
#include "cli/top/top_text.h"
#include "cli/undo/step_draw.h"
#include "tracker/process/role.h"
#include "tracker/sys/sys.h"

enum { GAP = 1 /* columns between those of a table */ };

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

static void draw_titles(const struct column *columns, int count, int line)
{
	int column, width;

	for (int i = 0; i < count; i++) {
		if (!place(columns, i, &column, &width))
			continue;
		if (columns[i].is_left)
			(void)draw_text(line, column, width, A_UNDERLINE | A_DIM, columns[i].title);
		else
			draw_right(line, column, width, A_UNDERLINE | A_DIM, columns[i].title);
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
		(void)draw_text(line, column, width, attributes, text);
	else
		draw_right(line, column, width, attributes, text);
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
	if (file->flags & TOP_FILE_RULED)
		return "ruled";
	*ret_meaning = CAREFUL;
	if (file->flags & TOP_FILE_EXTERNAL)
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

void draw_file(const struct top_model *model, const struct top_file *file, int line)
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
		(void)draw_cut(line, column, width, meaning == BAD ? A_BOLD : A_NORMAL,
			       SCREEN_CUT_START, shown_path(model, file->path));
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
	const char *text = screen_is_utf8() ? (branch->is_last ? "\xe2\x94\x94\xe2\x94\x80 "
							       : "\xe2\x94\x9c\xe2\x94\x80 ")
					    : (branch->is_last ? "`- " : "|- ");
	int indent = (branch->depth - 1) * 2;

	if (branch->depth == 0 || indent + 3 + PATH_MIN > width)
		return 0;
	for (int depth = 1; depth < branch->depth; depth++)
		if (branch->open & UINT64_C(1) << depth)
			(void)draw_text(line, column + (depth - 1) * 2, 1, A_DIM,
					screen_is_utf8() ? "\xe2\x94\x82" : "|");
	return indent + draw_text(line, column + indent, 3, A_DIM, text);
}

void draw_process(const struct top_branch *branch, int line)
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
		   process->rate > 0 && process->life == TOP_RUNS
			   ? top_per_second(process->rate, text)
			   : "-");
	const char *life = life_text(process, &meaning, text);
	draw_field(PROCESS_COLUMNS, PROCESS_LIFE, line, color(meaning), life);
	if (!place(PROCESS_COLUMNS, PROCESS_COMMAND, &column, &width))
		return;
	int used = draw_branch_lines(branch, line, column, width);
	(void)draw_text(line, column + used, width - used, faint, process->command);
}

/* ---- events ---- */

enum { NOTE_TIME, NOTE_OP, NOTE_PID, NOTE_TEXT };

static const struct column NOTE_COLUMNS[] = {
	[NOTE_TIME] = { "TIME", 8, 0, true },
	[NOTE_OP] = { "EVENT", 10, 0, true },
	[NOTE_PID] = { "PID", 7, 64, false },
	[NOTE_TEXT] = { "PATH  WHAT", 0, 0, true },
};

static enum meaning note_meaning(const struct top_note *note)
{
	if (note->is_grave)
		return note->op == JOURNAL_UNOBSERVED ? CAREFUL : BAD;
	unsigned effect = op_info(note->op)->effect;
	if (effect == EFFECT_ANSWERS || effect == EFFECT_DIFFS || effect == EFFECT_COMMANDS)
		return GOOD;
	return effect == EFFECT_CHANGES ? CAREFUL : INFO;
}

void draw_note(const struct top_model *model, const struct top_note *note, int line)
{
	char hours[CLOCK_WORD_BYTES], pid[TOP_NUMBER_BYTES];
	int column, width;
	enum meaning meaning = note_meaning(note);
	const char *op = event_op_name(note->op);

	draw_field(NOTE_COLUMNS, NOTE_TIME, line, A_DIM,
		   clock_hours(note->time_realtime_ns, hours));
	draw_field(NOTE_COLUMNS, NOTE_OP, line,
		   (note->is_grave ? A_BOLD : A_NORMAL) | color(meaning), op ? op : "?");
	(void)snprintf(pid, sizeof(pid), "%u", note->pid);
	draw_field(NOTE_COLUMNS, NOTE_PID, line, A_DIM, note->pid ? pid : "-");
	if (!place(NOTE_COLUMNS, NOTE_TEXT, &column, &width))
		return;
	/* What there is to say is not cut for a long path, nor the path to less than half. */
	int path = width - (int)strlen(note->text) - 2;
	if (path < width / 2)
		path = width / 2;
	int used = 0;
	if (note->path)
		used = draw_cut(line, column, note->text[0] ? path : width, A_NORMAL,
				SCREEN_CUT_START, shown_path(model, note->path)) +
		       2;
	if (used < width)
		(void)draw_text(line, column + used, width - used, A_DIM, note->text);
}

/* ---- steps ---- */

void draw_step(const struct top_steps *steps, size_t index, int line)
{
	const struct story_step *step = steps->rows[index];
	bool is_undone = steps->is_undone[step->step->number];

	step_draw(step, is_undone, line, is_undone ? A_DIM : A_NORMAL);
}

void draw_heads(enum top_pane pane, int line)
{
	if (pane == TOP_FILES)
		draw_titles(FILE_COLUMNS, FILE_PATH + 1, line);
	else if (pane == TOP_PROCESSES)
		draw_titles(PROCESS_COLUMNS, PROCESS_COMMAND + 1, line);
	else if (pane == TOP_STEPS)
		step_draw_heads(line, A_UNDERLINE | A_DIM);
	else
		draw_titles(NOTE_COLUMNS, NOTE_TEXT + 1, line);
}
