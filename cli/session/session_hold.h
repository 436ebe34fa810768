/* Directories of sessions: made, and locked so that `seen gc` leaves them. */
#ifndef SEEN_CLI_SESSION_HOLD_H
#define SEEN_CLI_SESSION_HOLD_H

#include "cli/session/session.h"

/* session_make_directory(): makes a directory and its parents, for this user alone.  A directory that
 * is there already must be this user's; its mode is theirs to choose.  Returns 0 or a negative
 * errno. */
int session_make_directory(const char *path);

/* session_hold(): locks a session's directory, until session_close().  Returns 0; -EAGAIN: `seen gc`
 * has it, or just removed it; errors of session_open_directory(). */
int session_hold(struct session *session, const char *path);

/* session_hold_state(): locks the directory of the journal and content store too, where it is another
 * one.  Returns 0 or -EAGAIN. */
int session_hold_state(struct session *session);

/* session_tighten(): makes the directory that was locked last this user's alone.  Returns 0 or a
 * negative errno. */
int session_tighten(const struct session *session);

/* session_mark_used(): the session was used until now. */
void session_mark_used(const struct session *session);

#endif
