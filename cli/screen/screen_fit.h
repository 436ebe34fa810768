/*
 * Texts for a terminal: bytes of others in a number of columns.
 */
#ifndef SEEN_CLI_SCREEN_FIT_H
#define SEEN_CLI_SCREEN_FIT_H

#include <stdbool.h>

enum {
	SCREEN_COLUMNS_MAX = 1024, /* of a terminal that are used */
	/* UTF-8 of as many columns: a character, and SCREEN_COMBINING_MAX that combine with it, in
	 * each */
	SCREEN_COMBINING_MAX = 3,
	SCREEN_FIT_BYTES = SCREEN_COLUMNS_MAX * 4 * (1 + SCREEN_COMBINING_MAX) + 4,
};

enum screen_cut {
	SCREEN_CUT_END,   /* "a long te…" */
	SCREEN_CUT_TEXT,  /* the same, of a text in which a backslash stands for itself */
	SCREEN_CUT_START, /* "…ong/path/file": for paths */
};

/* screen_fit(): bytes of others made safe, and cut to a number of columns.
 *
 * Control characters and what is no UTF-8 are escaped as by path_escape(); so are characters that
 * are not shown, that turn the direction of writing, or of which the locale does not know how wide
 * they are, and marks that combine with nothing.  Where something is cut, an ellipsis stands in its
 * place.
 * is_utf8: the terminal takes UTF-8; else whatever is not ASCII is escaped.  columns: at most
 * SCREEN_COLUMNS_MAX.  ret_text:
 * SCREEN_FIT_BYTES.  Returns how many columns the text takes; needs setlocale(3) for characters beyond
 * ASCII. */
int screen_fit(const char *bytes, int columns, enum screen_cut cut, bool is_utf8, char *ret_text);

#endif
