/*
 * Where a command that an agent started stands: its session and its scope, told by its ancestors.
 * For hooks, which agents run as children of theirs, with an environment that may have been
 * scrubbed.
 */
#ifndef SEEN_CLI_ANCESTRY_H
#define SEEN_CLI_ANCESTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* ancestry_session(): the session that this process runs in: $SEEN_SESSION, else that of the
 * nearest ancestor whose environment names a directory (proc(5), environ).
 *
 * Returns false outside of any session, and where /proc tells nothing. */
bool ancestry_session(char *ret_session, size_t capacity);

/* ancestry_scope(): the scope of the nearest agent above this process, or of $SEEN_SCOPE in it.  It
 * is made known if it is not, so that what is reported of it counts.
 *
 * Returns false where no agent of the session is above, or the table is full. */
bool ancestry_scope(const struct segment *segment, uint64_t *ret_scope);

/* ancestry_agent(): the same, and the context of that agent's own process. */
bool ancestry_agent(const struct segment *segment, uint64_t *ret_scope, struct context *ret_agent);

/* ancestry_context(): what this process, or the nearest one above that has a scope, was handed on:
 * its capture, its profile.
 *
 * Returns false where there is none. */
bool ancestry_context(const struct segment *segment, struct context *ret_context);

#endif
