/*
 * The picker of `seen undo` on a terminal: which step is chosen, and what keys do to that.  It knows
 * nothing of a terminal (pick_draw.h).
 */
#ifndef SEEN_CLI_PICK_H
#define SEEN_CLI_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pick_screen {
	PICK_STEPS,
	PICK_DIFF, /* of the chosen step */
	PICK_PLAN, /* what would be done, and the question whether it shall be */
};

struct pick {
	enum pick_screen shown, behind; /* behind: where a plan goes back to */
	size_t count;                   /* steps that can be chosen, at least one */
	size_t chosen, offset;          /* the youngest is 0; offset: the first that is shown */
	size_t line, line_count;        /* of the text of a diff or plan: the first that is shown */
	size_t page;                    /* rows that fit: pick_place() */
	bool is_since;                  /* the plan is about all from the chosen step on */
	bool is_empty;                  /* the plan would change nothing: there is no question */
};

enum pick_action {
	PICK_GO_ON,
	PICK_SHOW, /* another one is shown: its text is wanted */
	PICK_DO,
	PICK_QUIT,
};

/* pick_key(): what a key does (cli/screen/screen.h). */
enum pick_action pick_key(struct pick *pick, uint32_t key);

/* pick_place(): before drawing: how many rows of steps, or of text, fit. */
void pick_place(struct pick *pick, size_t page);

#endif
