/*
 * Ancestors: what lies between a process and its agent, read from /proc.
 *
 * All functions walk /proc: they are not for tools that have a ticket of their own.
 */
#ifndef SEEN_TRACKER_ANCESTORS_H
#define SEEN_TRACKER_ANCESTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/process/kernel_status.h"
#include "tracker/process/subject.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* process_anchor_alive(): is the anchor of the context (the agent's process, or with an external
 * agent the root) the subject or still one of its ancestors, and, unless it is 0, `shell_pid` the
 * subject or one between? Walks /proc; false in another PID namespace, for orphans, and where /proc
 * cannot be read.  Not for tools. */
bool process_anchor_alive(struct subject subject, const struct context *context,
			  uint32_t shell_pid);

/* process_anchor_alive_in(): the same.  pid_ns: what process_pid_ns() said, and would say still; 0:
 * it is asked, for about 3 us. */
bool process_anchor_alive_in(struct subject subject, const struct context *context,
			     uint32_t shell_pid, uint64_t pid_ns);

/* ancestors_are_agents_own(): are all processes between the agent and the subject the agent's own:
 * forks of it, or other starts of its executable (its sandbox's helper), or such as pass the subject's
 * command and output on (bwrap)?  Anything else that lies between, a server it started say, has this
 * shell for itself.
 *
 * ret_fork: the nearest of them that is a fork, and holds a conversation of its own; 0: none.
 * ret_status: of that fork. */
bool ancestors_are_agents_own(const struct segment *segment, struct subject subject,
			      const struct context *context, uint32_t *ret_fork,
			      struct kernel_status *ret_status);

/* ancestors_find_agent(): the nearest observed agent above the subject that does not have the subject's
 * output as its own: a helper that does only passes it on. */
bool ancestors_find_agent(const struct segment *segment, struct subject subject,
			  struct process_slot *ret_agent);

/* ancestors_nearest_is(): is a registered process the parent, or an ancestor with none but
 * unobserved ones between? */
bool ancestors_nearest_is(const struct segment *segment, struct subject subject, uint32_t pid);

/* ancestors_have_registered(): does any ancestor belong to the session?  Then a process without a
 * ticket lost it: no new root. */
bool ancestors_have_registered(const struct segment *segment, struct subject subject);

#endif
