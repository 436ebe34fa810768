/* The picker of `seen undo`: on a terminal a person chooses a step, sees its diff and what an undo
 * of it would do, and confirms. */
#ifndef SEEN_CLI_PICK_RUN_H
#define SEEN_CLI_PICK_RUN_H

#include <stdbool.h>

#include "cli/undo/undo_run.h"

enum { PICK_NUMBER_BYTES = 12 };

struct pick_choice {
	bool is_shown; /* false: there is no terminal that can be drawn on, or nothing to choose */
	bool is_made;  /* the request's `step` or `since` is the number */
	char session[SEGMENT_NAME_BYTES];
	char number[PICK_NUMBER_BYTES];
};

/* pick_run(): shows the steps of a session.
 *
 * Nothing is shown to an agent: a command of one that runs in the session waits for no person.
 * name: of the session, NULL: as undo_session_find().  request: what is asked but for the step;
 * ret_choice is borrowed by it, where a choice was made.  Says on stderr what is wrong, and returns
 * an exit code. */
int pick_run(const struct config *config, const char *name, struct undo_request *request,
	     struct pick_choice *ret_choice);

#endif
