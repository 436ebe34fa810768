/* Does a process's environment name a session?  What it began with, that is (proc(5)). */
#ifndef SEEN_CLI_SESSION_NAMED_H
#define SEEN_CLI_SESSION_NAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/session/session.h"

/* session_is_named_by(): False, too, for one that has ended, and where /proc does not tell.  One thread. */
bool session_is_named_by(const struct session *session, uint32_t pid);

#endif
