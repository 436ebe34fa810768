/*
 * Starts the command of a run, as a child of this process or below a supervisor, and says its
 * result.
 */
#ifndef SEEN_CLI_RUN_START_H
#define SEEN_CLI_RUN_START_H

#include <stdbool.h>

#include "cli/run/recording.h"
#include "cli/run/via.h"
#include "cli/session/session.h"
#include "tracker/segment/tables.h"

/* run_prepare_environment(): the environment of the command: the library, the session, and what
 * would hide file access from it.
 * preloads: the library is wanted.  Returns 0, or a negative errno with a line that says why. */
int run_prepare_environment(const struct session *session, bool preloads);

/* run_start(): starts the command and waits for it.
 *
 * recording, context: NULL: there is no session.  via: the mechanism, as
 * via_choose() says.  words: of the command.
 * ret_signal: the signal that ended the command; 0: none did.
 * Returns its status, or an exit code of `seen run` with a line that says why it did not start. */
int run_start(struct recording *recording, const struct context *context, const struct via *via,
	      char **words, int *ret_signal);

#endif
