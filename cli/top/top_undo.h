/* The key of `seen top` that takes the last step back: its plan, a question, and what was done. */
#ifndef SEEN_CLI_TOP_UNDO_H
#define SEEN_CLI_TOP_UNDO_H

#include <stdbool.h>

#include "config/config.h"

/* top_undo_last(): asks, and does what `seen undo --last` does; on the screen that is open.
 *
 * session: its name.  Returns false where the program is to end (SCREEN_WAIT_END). */
bool top_undo_last(const struct config *config, const char *session);

#endif
