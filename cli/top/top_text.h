/*
 * Texts for a terminal: bytes of others in a number of columns, numbers that fit into a few.  See
 * top_model.h.
 */
#ifndef SEEN_CLI_TOP_TEXT_H
#define SEEN_CLI_TOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TOP_COLUMNS_MAX = 1024, /* of a terminal that are used */
	/* UTF-8 of as many columns: a character, and TOP_COMBINING_MAX that combine with it, in
	 * each */
	TOP_COMBINING_MAX = 3,
	TOP_FIT_BYTES = TOP_COLUMNS_MAX * 4 * (1 + TOP_COMBINING_MAX) + 4,
	TOP_NUMBER_BYTES = 16,
};

enum top_cut {
	TOP_CUT_END,   /* "a long te…" */
	TOP_CUT_START, /* "…ong/path/file": for paths */
};

/* top_fit(): bytes of others made safe, and cut to a number of columns.
 *
 * Control characters and what is no UTF-8 are escaped as by path_escape(); so are characters that
 * are not shown, that turn the direction of writing, or of which the locale does not know how wide
 * they are, and marks that combine with nothing.  Where something is cut, an ellipsis stands in its
 * place.
 * is_utf8: the terminal takes UTF-8; else whatever is not ASCII is escaped.  columns: at most
 * TOP_COLUMNS_MAX.  ret_text:
 * TOP_FIT_BYTES.  Returns how many columns the text takes; needs setlocale(3) for characters beyond
 * ASCII. */
int top_fit(const char *bytes, int columns, enum top_cut cut, bool is_utf8, char *ret_text);

/* top_size(): bytes in at most 7 columns: "0 B", "9,999 B", "9.8 KiB" ...  top_count(): a number in
 * at most 6: "99,999", "1234k", "12M" ...
 * top_per_second(): a rate in at most 6: "0", "0.3", "12", "4,567".  top_span(): a time span in at
 * most 4: "0s", "59s", "12m", "3h", "9d".
 * top_clock(): a time span as "0:00:07".  Return ret_text, TOP_NUMBER_BYTES long. */
const char *top_size(uint64_t bytes, char *ret_text);
const char *top_count(uint64_t number, char *ret_text);
const char *top_per_second(double rate, char *ret_text);
const char *top_span(uint64_t seconds, char *ret_text);
const char *top_clock(uint64_t seconds, char *ret_text);

#endif
