/*
 * What the user of `seen top` has chosen to see, and what keys do to that.  See top_model.h.
 */
#ifndef SEEN_CLI_TOP_DISPLAY_H
#define SEEN_CLI_TOP_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/top/top_rows.h"

enum top_pane { TOP_FILES, TOP_PROCESSES, TOP_EVENTS, TOP_STEPS, TOP_PANES };

enum { TOP_FILTER_BYTES = 128 };

struct top_display {
	enum top_pane pane;
	enum top_file_order file_order;
	enum top_process_order process_order;
	bool is_everywhere; /* files of other directories than the workspace too */
	bool is_paused;
	bool is_helping;
	bool is_filtering;             /* keys go into the filter */
	char filter[TOP_FILTER_BYTES]; /* UTF-8 */
	size_t offset[TOP_PANES];      /* rows above the first that is shown */
	size_t help_offset;
	/* top_display_place() */
	size_t count, page; /* rows that there are, and that fit */
};

enum top_action {
	TOP_GO_ON,
	TOP_QUIT,
	TOP_RESET, /* rates begin anew */
	TOP_UNDO,  /* the last step, after asking */
};

/* top_display_key(): what a key does. */
enum top_action top_display_key(struct top_display *view, uint32_t key);

/* top_display_place(): before drawing: how many rows there are in what is shown, and how many fit.
 * Returns the first that is to be drawn. */
size_t top_display_place(struct top_display *view, size_t count, size_t page);

/* top_display_wish(): which rows that asks for.  Borrows the filter. */
struct top_wish top_display_wish(const struct top_display *view);

/* top_display_order(): the word for the order of the pane: "recent", "tree" ... */
const char *top_display_order(const struct top_display *view);

#endif
