/*
 * What `seen top` draws.  See top_model.h.
 */
#ifndef SEEN_CLI_TOP_DRAW_H
#define SEEN_CLI_TOP_DRAW_H

#include "cli/top/top_display.h"
#include "cli/top/top_feed.h"
#include "cli/top/top_rows.h"
#include "cli/top/top_steps.h"

enum {
	TOP_COLUMNS_MIN = 40,
	TOP_LINES_MIN = 10,
	DRAW_CELL_LINES = 3, /* of numbers in the head */
	PATH_MIN = 12,       /* columns of a path that still say something */
};

/* top_draw(): draws all that is shown now, at the size that the terminal has; what did not change
 * is not sent again.
 *
 * rows: what was made at the last call, all zero before the first; made anew at each. */
void top_draw(const struct top_feed *feed, struct top_display *view, struct top_rows *rows,
	      const struct top_steps *steps);

#endif
