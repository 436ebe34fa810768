/* What the picker of `seen undo` draws. */
#ifndef SEEN_CLI_PICK_DRAW_H
#define SEEN_CLI_PICK_DRAW_H

#include "cli/undo/pick.h"
#include "cli/undo/pick_text.h"
#include "cli/undo/story.h"

struct pick_picture {
	const char *session;                   /* its name */
	const struct story_step *const *steps; /* those that can be chosen, the youngest first */
	const bool *is_undone;                 /* by the number of a step */
	size_t all;                            /* steps of the session */
	const struct pick_text *text;          /* of a diff or plan */
};

/* pick_draw(): draws all that is shown now, at the size that the terminal has. */
void pick_draw(struct pick *pick, const struct pick_picture *picture);

/* pick_draw_anew(): something else may have written to the terminal: the next time all is sent. */
void pick_draw_anew(void);

#endif
