/*
 * What the files that draw for `seen top` share: top_draw.c (all), top_draw_head.c (its head), top_draw_rows.c (its rows).
 */
#ifndef SEEN_CLI_TOP_DRAW_INTERNAL_H
#define SEEN_CLI_TOP_DRAW_INTERNAL_H

#include <curses.h>

#include "cli/top/top_draw.h"
#include "cli/top/top_text.h"

enum {
	DRAW_CELL_LINES = 3, /* of numbers in the head */
	PATH_MIN = 12,       /* columns of a path that still say something */
};

/* Colours by meaning; each stands beside a word that says the same. */
enum meaning { PLAIN, GOOD, CAREFUL, BAD, SPECIAL, INFO };

/* color(): attributes that stand for it; none where there are no colours. */
attr_t color(enum meaning meaning);

/* put(), put_cut(), put_right(): bytes of others, or a text of ours, in so many columns; what is too long is cut.  put_right() takes
 * ASCII alone.  Return how many columns it took. */
int put(int line, int column, int columns, attr_t attributes, const char *text);
int put_cut(int line, int column, int columns, attr_t attributes, enum top_cut cut,
	    const char *text);
void put_right(int line, int column, int columns, attr_t attributes, const char *text);

/* ---- the head ---- */

void draw_title(const struct top_feed *feed, const struct top_view *view);
/* lines: that there is room for.  Returns the line below. */
int draw_numbers(const struct top_feed *feed, int line, int lines);
/* What there is to say beside them, if anything. */
void draw_remark(const struct top_feed *feed, int line);
/* offset: the first row that is shown. */
void draw_tabs(const struct top_feed *feed, const struct top_view *view,
	       const struct top_rows *rows, int line, size_t offset);

/* ---- the rows ---- */

void draw_heads(enum top_pane pane, int line);
void draw_file(const struct top_model *model, const struct top_file *file, int line);
void draw_process(const struct top_branch *branch, int line);
void draw_note(const struct top_model *model, const struct top_note *note, int line);

#endif
