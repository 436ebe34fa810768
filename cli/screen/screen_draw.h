/*
 * Texts and colours on the screen (screen.h).
 */
#ifndef SEEN_CLI_SCREEN_DRAW_H
#define SEEN_CLI_SCREEN_DRAW_H

#include <curses.h>

#include "cli/screen/screen_fit.h"

/* Colours by meaning; each stands beside a word that says the same. */
enum meaning { PLAIN, GOOD, CAREFUL, BAD, SPECIAL, INFO };

/* screen_draw_init(): colours, where there are any and NO_COLOR is not set.  After
 * screen_open(). */
void screen_draw_init(void);

/* color(): attributes that stand for it; none where there are no colours. */
attr_t color(enum meaning meaning);

/* draw_text(), draw_cut(), draw_right(): bytes of others, or a text of ours, in so many columns;
 * what is too long is cut.  draw_right() takes ASCII alone.  Return how many columns it took. */
int draw_text(int line, int column, int columns, attr_t attributes, const char *text);
int draw_cut(int line, int column, int columns, attr_t attributes, enum screen_cut cut,
	     const char *text);
void draw_right(int line, int column, int columns, attr_t attributes, const char *text);

#endif
