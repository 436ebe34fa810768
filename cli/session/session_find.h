/* Finding the session that a command is about. */
#ifndef SEEN_CLI_SESSION_FIND_H
#define SEEN_CLI_SESSION_FIND_H

#include <stdbool.h>

#include "cli/session/session.h"

/* session_find(): the session a command means: the word `name` (session_word.h) if not NULL, else
 * $SEEN_SESSION, else the newest of the config's workspace, or, where that is not named, of the
 * nearest directory above it that has one.  Says on stderr what is wrong, and which of several it
 * is; returns an exit code: EXIT_CODE_OK and the session, or another. */
int session_find(const struct config *config, const char *name, struct session *ret_session);

/* session_find_newest(): the newest session of the config's workspace, or, where that is not named,
 * of the nearest above it that has one.  Returns whether there is one. */
bool session_find_newest(const struct config *config, struct session *ret_session);

/* session_none(): says that the workspace has no session; returns EXIT_CODE_NO_SESSION. */
int session_none(const struct config *config);

#endif
