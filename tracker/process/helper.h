/*
 * Helpers of agents: programs that an agent starts for one command, to put it into a sandbox say.  They are starts of the
 * agent's own program, or others that pass the command on.  A helper has no conversation of its own: what it starts, or
 * becomes, is the agent's.
 *
 * All functions walk /proc: they are for agents, their shells and what they become.
 */
#ifndef SEEN_TRACKER_HELPER_H
#define SEEN_TRACKER_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/process/role.h"
#include "tracker/process/subject.h"
#include "tracker/process/ticket.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* helper_own_head(): the head of the scopes of an agent (scope_head()). */
uint64_t helper_own_head(const struct segment *segment, uint64_t agent_serial);

/* helper_find_head(): the head of the agent that started this one as a helper of its own program, by itself or by what
 * passes a command on (bwrap); 0: none.
 *
 * from, kind: the slot that was found for the subject.  context: what it inherits. */
uint64_t helper_find_head(const struct segment *segment, struct subject subject,
			  const struct process_slot *from, enum ticket_kind kind,
			  const struct invocation *invocation, const struct context *context);

/* helper_became(): the starter was an agent that stood in the same process: a helper, which sets something up and
 * becomes the command (codex --codex-run-as-process-setup, claude's filter of system calls).  Finds the context of what
 * started the helper.  Returns whether that is known; else *ret_context is as it was. */
bool helper_became(const struct segment *segment, struct subject subject,
		   const struct process_slot *announced, struct context *ret_context);

/* helper_replaces_agent(): did an agent that no other agent started stand in the same process?  It is no more, and
 * nothing is below it. */
bool helper_replaces_agent(const struct segment *segment, struct subject subject,
			   const struct process_slot *announced);

/* helper_find_capture(): was the subject, a shell, started by a helper that was itself started below a shell of its
 * agent, and does it write to that one's output?  ret_context: of what started the helper. */
bool helper_find_capture(const struct segment *segment, struct subject subject,
			 const struct process_slot *from, enum ticket_kind kind,
			 struct context *ret_context);

/* helper_began_ns(): when an agent started the program that a process is, or is below: CLOCK_BOOTTIME, at most some ticks of
 * the kernel's late.  serial: of the process's slot.  scope_id: of the agent's process.
 * Returns 0 where that is not known. */
uint64_t helper_began_ns(const struct segment *segment, uint64_t serial, uint64_t scope_id);

/* helper_scope_began_ns(): when the topmost program of a scope began, of those that the process of that serial is or is below.
 * Clock, and 0: as helper_began_ns(). */
uint64_t helper_scope_began_ns(const struct segment *segment, uint64_t serial, uint64_t scope_id);

#endif
