/* Making a session, or opening one for another run. */
#ifndef SEEN_CLI_SESSION_MAKE_H
#define SEEN_CLI_SESSION_MAKE_H

#include "cli/session/session.h"

/* session_make(): opens a session, or makes it with the config's settings.
 *
 * name: NULL for a new one, named by time and chance.  Where the runtime directory has no room or
 * cannot be made, the state directory is used.  A session of an earlier boot begins a new epoch;
 * processes that are gone are taken off the table; the config's settings are put in place unless
 * processes of the session live.
 * Until session_close(), or the caller's end in any way, its directories are locked (flock(2),
 * shared), which keeps `seen gc` from removing it.
 * Returns 0 or as session_open(), -EBUSY when `seen gc` holds it for long, -ENOSPC, -EACCES ...
 */
int session_make(const struct config *config, const char *name, struct session *ret_session);

#endif
