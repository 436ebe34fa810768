/*
 * What goes on when a run has ended: daemons, terminal multiplexers, what an agent started in a
 * session of its own.
 */
#ifndef SEEN_CLI_OUTLIVE_H
#define SEEN_CLI_OUTLIVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/session/session.h"

/* outlive_print(): names on stderr the session's processes that live, and says what becomes of
 * their records.  What is about to end gets a tenth of a second to do so; where nothing lives this
 * takes a walk through /proc.
 *
 * leave_out: a child of this process that is none of the session; 0.  is_sealed: there is a
 * journal, and it was sealed. */
void outlive_print(const struct session *session, pid_t leave_out, bool is_sealed);

#endif
