/*
 * An agent that was running before a run began, and that others of its name may hand their work to
 * (codex's TUI gives it to a daemon): nothing of what it does is observed.
 */
#ifndef SEEN_CLI_ELDER_H
#define SEEN_CLI_ELDER_H

#include <stdint.h>
#include <sys/types.h>

#include "tracker/process/role.h"
#include "tracker/segment/segment.h"

/* elder_find(): a process of this user that runs the same agent, was started before `before_ns`
 * (CLOCK_BOOTTIME), and listens on a local socket.  Inspects all of /proc.
 *
 * segment: for the names of agents.  agent: role, name and profile.  Returns its pid; 0: there is
 * none, or it is not known. */
pid_t elder_find(const struct segment *segment, const struct invocation *agent, uint64_t before_ns);

/* elder_without_daemon(): how an agent of that name that hands its work to a daemon is started
 * without; NULL: it has none. */
const char *elder_without_daemon(const char *name);

/* elder_remedy(): what a user may do about it, for an agent of that name. */
const char *elder_remedy(const char *name);

enum { ELDER_TEXT_BYTES = 1024 };

/* elder_describe(): a line on those of the agents that began in a run.  since_ns: when that was,
 * CLOCK_BOOTTIME.  Returns ret_text, ELDER_TEXT_BYTES long, "" where there are none. */
const char *elder_describe(const struct segment *segment, uint64_t since_ns, char *ret_text);

#endif
