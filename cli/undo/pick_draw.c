/* Drawing the picker: see pick_draw.h. */
#define NCURSES_NOMACROS 1
#include "cli/undo/pick_draw.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/screen/screen.h"
#include "cli/screen/screen_draw.h"
#include "cli/undo/step_draw.h"
#include "cli/undo/story_print.h"

enum {
	COLUMNS_MIN = 20,
	LINES_MIN = 5,
	FRAME_LINES = 3,     /* title, heads, keys */
	PANEL_LINES_MIN = 9, /* of a terminal that has room for the chosen step's files */
	PANEL_PART = 3,      /* of the lines at most */
	GAP = 1,
	TITLE_BYTES = 256,
};

static enum meaning meaning_of(enum story_change change)
{
	return change == STORY_MADE ? GOOD : change == STORY_REMOVED ? BAD : CAREFUL;
}

static void draw_file(const struct story_file *file, int line)
{
	char lines[STORY_WORD_BYTES];
	const int word = 8, numbers = COLS < 40 ? 0 : 11;
	int at = 3;

	(void)draw_text(line, at, word, color(meaning_of(file->change)),
			story_change_name(file->change));
	at += word + GAP;
	story_lines(file->added, file->removed, lines);
	draw_right(line, at, numbers, A_NORMAL,
		   file->is_binary   ? "binary"
		   : file->has_lines ? lines
				     : "");
	at += numbers + 2 * GAP;
	if (file->old_path) {
		int used = draw_cut(line, at, (COLS - at) / 2 - 4, A_NORMAL, SCREEN_CUT_START,
				    file->old_path);
		(void)draw_text(line, at + used, 4, A_NORMAL, " -> ");
		at += used + 4;
	}
	at += draw_cut(line, at, COLS - at - 1, A_NORMAL, SCREEN_CUT_START, file->path);
	if (file->note)
		(void)draw_text(line, at + GAP, COLS - at - GAP - 1, A_DIM, file->note);
}

/* The chosen step's files, as many as there is room for. */
static void draw_panel(const struct story_step *step, int line, int lines)
{
	char text[TITLE_BYTES];
	size_t shown = 0, room = lines > 1 ? (size_t)lines - 1 : 0;

	(void)mvhline(line, 0, (chtype)'-' | (chtype)A_DIM, COLS);
	(void)snprintf(text, sizeof(text), " step %u ", step->step->number);
	(void)draw_text(line, 2, COLS - 3, A_BOLD, text);
	if (step->lost_count && room) {
		(void)snprintf(text, sizeof(text), "%zu cannot be undone: %s (%s)",
			       step->lost_count, step->lost[0].path, step->lost[0].why);
		(void)draw_text(line + 1, 3, COLS - 4, color(BAD), text);
		line++;
		room--;
	}
	for (; shown < step->count && shown < room; shown++) {
		if (shown + 1 == room && step->count > room) {
			(void)snprintf(text, sizeof(text), "and %zu more", step->count - shown);
			(void)draw_text(line + 1 + (int)shown, 3, COLS - 4, A_DIM, text);
			return;
		}
		draw_file(&step->files[shown], line + 1 + (int)shown);
	}
}

static void draw_steps(struct pick *pick, const struct pick_picture *picture)
{
	const struct story_step *chosen = picture->steps[pick->chosen];
	int wanted = (int)(chosen->count + (chosen->lost_count > 0) + 1);
	int most = LINES / PANEL_PART;
	int panel = LINES < PANEL_LINES_MIN ? 0 : wanted < most ? wanted : most;

	step_draw_heads(1, A_BOLD);
	/* The panel's height changes from step to step: the rows above keep their places. */
	pick_place(pick, (size_t)(LINES - FRAME_LINES - (LINES < PANEL_LINES_MIN ? 0 : most)));
	for (size_t i = 0; i < pick->page && pick->offset + i < pick->count; i++) {
		const struct story_step *step = picture->steps[pick->offset + i];
		bool is_undone = picture->is_undone[step->step->number];
		step_draw(step, is_undone, 2 + (int)i,
			  pick->offset + i == pick->chosen ? A_REVERSE
			  : is_undone                      ? A_DIM
							   : A_NORMAL);
	}
	if (panel)
		draw_panel(chosen, LINES - 1 - most, panel);
}

static attr_t line_attributes(const struct pick *pick, const char *line)
{
	if (pick->shown != PICK_DIFF)
		return A_NORMAL;
	if (strncmp(line, "+++ ", 4) == 0 || strncmp(line, "--- ", 4) == 0 ||
	    strncmp(line, "diff ", 5) == 0)
		return A_BOLD;
	return line[0] == '+'   ? color(GOOD)
	       : line[0] == '-' ? color(BAD)
	       : line[0] == '@' ? color(INFO)
	       : line[0] == '#' ? A_DIM
				: A_NORMAL;
}

static void draw_lines(struct pick *pick, const struct pick_text *text)
{
	pick_place(pick, (size_t)(LINES - 2));
	for (size_t i = 0; i < pick->page && pick->line + i < text->count; i++) {
		const char *line = pick_text_line(text, pick->line + i);
		(void)draw_cut(1 + (int)i, 0, COLS, line_attributes(pick, line), SCREEN_CUT_TEXT,
			       line);
	}
}

static void draw_title(const struct pick *pick, const struct pick_picture *picture)
{
	const struct step *step = picture->steps[pick->chosen]->step;
	char text[TITLE_BYTES + STEP_TEXT_BYTES];

	if (pick->shown == PICK_STEPS)
		(void)snprintf(text, sizeof(text), "seen undo: %s, %zu step%s changed files%s",
			       picture->session, pick->count, text_plural(pick->count),
			       picture->all > pick->count ? " (`seen story` has all)" : "");
	else
		(void)snprintf(text, sizeof(text), "step %u%s: %s", step->number,
			       pick->shown == PICK_PLAN && pick->is_since ? " and all later ones"
									  : "",
			       step->text);
	(void)draw_text(0, 0, COLS, A_BOLD, text);
}

static void draw_keys(const struct pick *pick, const struct pick_picture *picture)
{
	const struct step *step = picture->steps[pick->chosen]->step;
	char text[TITLE_BYTES], place[STORY_WORD_BYTES] = "";
	size_t last = pick->line + pick->page < pick->line_count ? pick->line + pick->page
								 : pick->line_count;

	if (pick->shown != PICK_STEPS && pick->line_count > pick->page)
		(void)snprintf(place, sizeof(place), "%zu-%zu of %zu  ", pick->line + 1, last,
			       pick->line_count);
	if (pick->shown == PICK_STEPS)
		(void)snprintf(text, sizeof(text),
			       "Enter diff   u undo this step   s undo from here on   q quit");
	else if (pick->shown == PICK_DIFF)
		(void)snprintf(text, sizeof(text),
			       "%su undo this step   s undo from here on   q back", place);
	else if (pick->is_empty)
		(void)snprintf(text, sizeof(text), "%snothing to undo   q back", place);
	else
		(void)snprintf(text, sizeof(text), "%sundo step %u%s? [y/N] ", place, step->number,
			       pick->is_since ? " and all later ones" : "");
	(void)draw_text(LINES - 1, 0, COLS, pick->shown == PICK_PLAN ? A_BOLD : A_REVERSE, text);
}

void pick_draw(struct pick *pick, const struct pick_picture *picture)
{
	(void)erase();
	if (COLS < COLUMNS_MIN || LINES < LINES_MIN) {
		(void)draw_text(0, 0, COLS, A_NORMAL, "too small; q quits");
		pick_place(pick, 1);
	} else {
		draw_title(pick, picture);
		if (pick->shown == PICK_STEPS)
			draw_steps(pick, picture);
		else
			draw_lines(pick, picture->text);
		draw_keys(pick, picture);
	}
	(void)refresh();
}

void pick_draw_anew(void)
{
	(void)clearok(curscr, TRUE);
}
