/* Helpers of agents: see helper.h. */
#include "tracker/process/helper.h"

#include <string.h>

#include "tracker/process/ancestors.h"
#include "tracker/process/capture.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/process_slot.h"
#include "tracker/process/scope.h"

enum { PROGRAMS_MAX = 16 }; /* one below the other */

uint64_t helper_own_head(const struct segment *segment, uint64_t agent_serial)
{
	uint64_t own = scope_id_of(agent_serial, NULL);
	uint64_t head = scope_head(segment, own);
	return head ? head : own;
}

/* Is a program a start of another agent's own program, a compiled one (codex --codex-run-as-...)?
 * A script that starts itself again may be another conversation. */
static bool is_program_of(const struct invocation *invocation, const struct process_slot *agent)
{
	return !invocation->scripted && agent->context.role == ROLE_AGENT &&
	       agent->context.profile == invocation->profile &&
	       (invocation->profile ||
		strncmp(agent->name, invocation->name, sizeof(agent->name)) == 0);
}

uint64_t helper_find_head(const struct segment *segment, struct subject subject,
			  const struct process_slot *from, enum ticket_kind kind,
			  const struct invocation *invocation, const struct context *context)
{
	struct process_slot agent = *from;
	const struct process_slot *slot = process_slot_at(segment, from->starter_index);
	struct kernel_status status;
	uint32_t fork;

	if (invocation->scripted)
		return 0;
	if (kind == TICKET_OWN && (!slot || !slot_read(slot, &agent, PROCESS_CHECKED_BYTES)))
		return 0;
	/* The slot of one that attached later was given anew. */
	if (agent.time_ns <= from->time_ns && is_program_of(invocation, &agent))
		return helper_own_head(segment, agent.context.agent_serial);
	/* Below a shell it is a command, and has a conversation of its own. */
	if (!(context->flags & CONTEXT_AGENT) || context->capture_id ||
	    agent.context.role == ROLE_SHELL || !ancestors_find_agent(segment, subject, &agent) ||
	    !is_program_of(invocation, &agent) ||
	    !ancestors_are_agents_own(segment, subject, &agent.context, &fork, &status))
		return 0;
	return helper_own_head(segment, agent.context.agent_serial);
}

/* What started a program, where that is known: a copy of its slot. */
static bool find_starter(const struct segment *segment, const struct process_slot *process,
			 struct process_slot *ret_starter)
{
	const struct process_slot *slot = process_slot_at(segment, process->starter_index);

	/* The slot of one that attached later was given anew. */
	return slot && slot_read(slot, ret_starter, PROCESS_CHECKED_BYTES) &&
	       ret_starter->time_ns <= process->time_ns;
}

/* Finds what the starter of an agent's helper hands on: what the helper becomes belongs where the helper was
 * started.  helper: a copy of its slot.  Returns whether that is known. */
static bool find_place_of_helper(const struct segment *segment, uint32_t self, uint32_t parent,
				 const struct process_slot *helper, struct context *ret_context)
{
	enum { HELPERS_MAX = 4 }; /* that stood in the same process, one after the other */
	struct process_slot at = *helper, starter;

	for (int i = 0; i < HELPERS_MAX; i++) {
		if (!find_starter(segment, &at, &starter))
			return false;
		if (starter.pid != self || starter.context.role != ROLE_AGENT)
			break;
		at = starter;
	}
	bool is_there = starter.pid == self ||
			(parent && starter.pid == parent && starter.state == PROCESS_ATTACHED &&
			 !process_is_gone(&starter));
	/* Else it is a launcher, whose command is no agent's. */
	if (!is_there || (starter.context.role != ROLE_AGENT && !starter.context.capture_id))
		return false;
	*ret_context = starter.context;
	ret_context->flags &= ~(uint32_t)CONTEXT_ROOT;
	return true;
}

bool helper_became(const struct segment *segment, struct subject subject,
		   const struct process_slot *announced, struct context *ret_context)
{
	struct process_slot helper;
	uint32_t self = subject_pid(subject);
	const struct process_slot *slot = process_slot_at(segment, announced->starter_index);

	return slot && slot_read(slot, &helper, PROCESS_CHECKED_BYTES) && helper.pid == self &&
	       find_place_of_helper(segment, self, subject_parent(subject), &helper, ret_context);
}

bool helper_replaces_agent(const struct segment *segment, struct subject subject,
			   const struct process_slot *announced)
{
	struct process_slot agent;
	const struct process_slot *slot = process_slot_at(segment, announced->starter_index);

	return slot && slot_read(slot, &agent, PROCESS_CHECKED_BYTES) &&
	       agent.pid == subject_pid(subject) && agent.context.role == ROLE_AGENT &&
	       !(agent.context.flags & CONTEXT_NESTED);
}

bool helper_find_capture(const struct segment *segment, struct subject subject,
			 const struct process_slot *from, enum ticket_kind kind,
			 struct context *ret_context)
{
	struct process_slot helper = *from;
	const struct process_slot *slot = process_slot_at(segment, from->starter_index);

	if (kind == TICKET_OWN && (!slot || !slot_read(slot, &helper, PROCESS_CHECKED_BYTES)))
		return false;
	return helper.context.role == ROLE_AGENT && (helper.context.flags & CONTEXT_NESTED) &&
	       helper.time_ns <= from->time_ns &&
	       find_place_of_helper(segment, helper.pid, process_parent_of(helper.pid), &helper,
				    ret_context) &&
	       ret_context->capture_id && ret_context->profile == helper.context.profile &&
	       process_same_image(helper.pid, ret_context->anchor_pid) &&
	       capture_is_sink(segment, subject, ret_context->capture_id);
}

/* The slot has the time when its program attached, after it was loaded: where the kernel tells, the process began before that.
 * A pid of another namespace may be another process here, and makes it no later. */
static uint64_t began_ns(const struct process_slot *process)
{
	const uint64_t TICK_NS = 10000000;
	uint64_t start_ns;

	if (process_start(process->pid, &start_ns) && start_ns + TICK_NS < process->time_ns)
		return start_ns + TICK_NS;
	return process->time_ns;
}

static bool is_scope_of(const struct process_slot *process, uint64_t scope_id)
{
	const struct context *context = &process->context;

	return context->scope_id ? context->scope_id == scope_id
				 : context->agent_serial &&
					   scope_id_of(context->agent_serial, NULL) == scope_id;
}

static bool find_serial(const struct segment *segment, uint64_t serial,
			struct process_slot *ret_process)
{
	uint64_t used = serial ? segment_processes_used(segment) : 0;

	for (uint64_t i = 0; i < used; i++)
		if (process_read(segment, i, ret_process) && ret_process->serial == serial)
			return true;
	return false;
}

uint64_t helper_began_ns(const struct segment *segment, uint64_t serial, uint64_t scope_id)
{
	struct process_slot at, starter;

	if (!find_serial(segment, serial, &at))
		return 0;
	for (int i = 0; i < PROGRAMS_MAX; i++) {
		if (!find_starter(segment, &at, &starter))
			return 0;
		if (is_scope_of(&starter, scope_id))
			return began_ns(&at);
		at = starter;
	}
	return 0;
}

uint64_t helper_scope_began_ns(const struct segment *segment, uint64_t serial, uint64_t scope_id)
{
	struct process_slot at, starter;

	if (!find_serial(segment, serial, &at))
		return 0;
	for (int i = 0; i < PROGRAMS_MAX && find_starter(segment, &at, &starter) &&
			is_scope_of(&starter, scope_id);
	     i++)
		at = starter;
	return began_ns(&at);
}
