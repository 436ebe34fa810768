/*
 * Order among sessions: those that have had their time are removed (expiry.h), and those that killed
 * runs left are cut (session_cut.h).  A run has that done aside (aside.h), every ten minutes at most.
 *
 * The state directory has a file for it, STORE_STAMP: its time is when that was begun last, its text
 * what was removed and not reported yet.
 */
#ifndef SEEN_CLI_TIDY_H
#define SEEN_CLI_TIDY_H

#include <stdbool.h>

#include "config/config.h"

/* tidy_is_due(): is it time again?  Then it is noted that it is done now. */
bool tidy_is_due(const struct config *config);

/* tidy_sessions(): inspects all sessions, removes and cuts.  Those that are used stay, and the one in
 * the directory `own`: the run that has this done may be over by then.  The caller ignores SIGIO (store_remove.h).  A kill leaves whole sessions, and what store_clean() clears away. */
void tidy_sessions(const struct config *config, const char *own);

/* tidy_report(): says in a line what was removed since that was reported last. */
void tidy_report(const struct config *config);

#endif
