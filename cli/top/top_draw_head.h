/*
 * The head of the screen of `seen top`.
 */
#ifndef SEEN_CLI_TOP_DRAW_HEAD_H
#define SEEN_CLI_TOP_DRAW_HEAD_H

#include "cli/top/top_draw.h"

void draw_title(const struct top_feed *feed, const struct top_display *view);
/* lines: that there is room for.  Returns the line below. */
int draw_numbers(const struct top_feed *feed, int line, int lines);
/* What there is to say beside them, if anything. */
void draw_remark(const struct top_feed *feed, int line);
/* offset: the first row that is shown. */
void draw_tabs(const struct top_feed *feed, const struct top_display *view,
	       const struct top_rows *rows, const struct top_steps *steps, int line, size_t offset);

#endif
