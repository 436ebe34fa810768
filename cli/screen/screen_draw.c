/* Texts and colours on the screen: see screen_draw.h. */
#define NCURSES_NOMACROS 1
#include "cli/screen/screen_draw.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "cli/screen/screen.h"

static bool has_meanings;

void screen_draw_init(void)
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

attr_t color(enum meaning meaning)
{
	return has_meanings && meaning != PLAIN ? (attr_t)COLOR_PAIR(meaning) : A_NORMAL;
}

int draw_cut(int line, int column, int columns, attr_t attributes, enum screen_cut cut,
	     const char *text)
{
	static char fitted[SCREEN_FIT_BYTES];

	if (columns > COLS - column)
		columns = COLS - column;
	int used = screen_fit(text, columns, cut, screen_is_utf8(), fitted);
	(void)attrset((int)attributes);
	(void)mvaddstr(line, column, fitted);
	(void)attrset(A_NORMAL);
	return used;
}

int draw_text(int line, int column, int columns, attr_t attributes, const char *text)
{
	return draw_cut(line, column, columns, attributes, SCREEN_CUT_END, text);
}

void draw_right(int line, int column, int columns, attr_t attributes, const char *text)
{
	int length = (int)strlen(text);
	if (length < columns)
		column += columns - length;
	(void)draw_text(line, column, length < columns ? length : columns, attributes, text);
}
