/*
 * Taking a place in the tree of processes: a program attaches, or a supervisor adopts it.  What it
 * is and what started it make its context: the agent it belongs to, the scope, the capture.
 */
#ifndef SEEN_TRACKER_ATTACH_H
#define SEEN_TRACKER_ATTACH_H

#include <stdbool.h>

#include "tracker/process/process_slot.h"
#include "tracker/process/role.h"
#include "tracker/process/subject.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* process_attach(): the library starts inside a program: finds out its context and takes a slot.
 *
 * ticket: value of SEEN_P, or NULL.  scrubbed: the environment lacks even SEEN_SESSION: the ticket
 * went with it, and the process's place is looked for by its pid and its parent's.  invocation:
 * what the program is.  scope_name: SEEN_SCOPE, or NULL.
 * agent_is: what the environment says (SEEN_AGENT_IS), SESSION_AGENT_IS_AUTO when nothing; it
 * counts only for a process without a ticket.
 * ret_context: the process's own context, capture taken where this is a shell that an agent started
 * or the root of a run whose agent is external.
 * Returns the slot, serial 0 when the table is full (the context is valid all the same).
 * Makes a constant number of system calls for a tool; more for the others.
 */
struct process_ref process_attach(const struct segment *segment, struct subject subject,
				  const char *ticket, bool scrubbed,
				  const struct invocation *invocation, const char *scope_name,
				  enum session_agent_is agent_is, struct context *ret_context);

/* process_adopt(): as process_attach(), by a supervisor, for a process that it watches and in which
 * the library is not.
 *
 * announced: the slot that was announced for this program, by any process; it is believed as a
 * ticket is.  serial 0: looked for by the process's pid and its parent's, as for a scrubbed
 * environment.
 * A process that has no place in the tree is unattached: never a root.
 * ret_context and the slot have CONTEXT_SUPERVISED.  To be released before the library in the
 * process attaches.
 */
struct process_ref process_adopt(const struct segment *segment, struct subject subject,
				 struct process_ref announced, const struct invocation *invocation,
				 const char *scope_name, struct context *ret_context);

/* process_find_announced(): the slot that process_adopt() would take over for a process without a
 * ticket.  For a caller that may have to release it: its context is to be kept.  False when no
 * process announced it. */
bool process_find_announced(const struct segment *segment, struct subject subject,
			    struct process_ref *ret_process, struct process_slot *ret_slot);

/* process_release(): the library turned out to be inside a process that was adopted: its slot is
 * announced again, so that the library can take it.
 *
 * announced_context: what the slot was announced with; NULL when no process announced it (its
 * serial is not the announced one's):
 * then the slot is free, and the library finds a place of its own.  Nothing is done to a slot that
 * is no adopted one.
 */
void process_release(const struct segment *segment, struct process_ref process,
		     const struct context *announced_context);

#endif
