/*
 * Texts and colours on the screen of `seen top`.
 */
#ifndef SEEN_CLI_TOP_DRAW_TEXT_H
#define SEEN_CLI_TOP_DRAW_TEXT_H

#include <curses.h>

#include "cli/top/top_text.h"

enum {
	DRAW_CELL_LINES = 3, /* of numbers in the head */
	PATH_MIN = 12,       /* columns of a path that still say something */
};

/* Colours by meaning; each stands beside a word that says the same. */
enum meaning { PLAIN, GOOD, CAREFUL, BAD, SPECIAL, INFO };

/* top_draw_init(): colours, where there are any and NO_COLOR is not set.  After
 * top_screen_open(). */
void top_draw_init(void);

/* color(): attributes that stand for it; none where there are no colours. */
attr_t color(enum meaning meaning);

/* draw_text(), draw_cut(), draw_right(): bytes of others, or a text of ours, in so many columns;
 * what is too long is cut.  draw_right() takes ASCII alone.  Return how many columns it took. */
int draw_text(int line, int column, int columns, attr_t attributes, const char *text);
int draw_cut(int line, int column, int columns, attr_t attributes, enum top_cut cut,
	     const char *text);
void draw_right(int line, int column, int columns, attr_t attributes, const char *text);

#endif
