/*
 * What a run does for the next ones when it is over: its session takes no more room than it needs,
 * and those that have had their time are removed (expiry.h).
 */
#ifndef SEEN_CLI_TIDY_H
#define SEEN_CLI_TIDY_H

#include <stdbool.h>

#include "config/config.h"

/* tidy_sessions(): removes sessions, and cuts those that killed runs left (session_cut()).  Every ten
 * minutes at most: it inspects all of them.  is_reported: says in a line what went.
 * The session that the caller holds stays. */
void tidy_sessions(const struct config *config, bool is_reported);

#endif
