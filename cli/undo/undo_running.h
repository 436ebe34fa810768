/* Does a command of a session run, whose files an undo would change under it? */
#ifndef SEEN_CLI_UNDO_RUNNING_H
#define SEEN_CLI_UNDO_RUNNING_H

#include "cli/undo/undo_session.h"

/* undo_running(): a command that runs, but for the one that this process is of.  What began a moment ago and is not on
 * record yet (a copy that has not run, a program that is being loaded) is waited for: a second, and one pause and reading of
 * the journal more at most; the session's steps are read again then.  Inspects every process of the machine: a few
 * milliseconds.
 *
 * ret_step: NULL: none; borrowed from the session.  Returns 0, or the errors of steps_read(). */
int undo_running(struct undo_session *session, const struct step **ret_step);

#endif
