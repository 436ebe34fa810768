/* Taking a place in the tree: see attach.h. */
#include "tracker/process/attach.h"

#include <errno.h>
#include <string.h>

#include "tracker/process/ancestors.h"
#include "tracker/process/capture.h"
#include "tracker/process/helper.h"
#include "tracker/process/identity.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process_slot.h"
#include "tracker/process/scope.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

/* Where a descriptor leads.  False where the kernel does not tell. */
static bool identify_output(struct subject subject, int fd, struct identity *ret_identity)
{
	struct stat stat;
	int error = subject_stat(subject, fd, &stat);

	if (error == -ENOENT || error == -EBADF)
		*ret_identity = (struct identity){ 0, 0, 0 }; /* closed: nothing can equal it */
	else if (error < 0)
		return false;
	else
		*ret_identity = identity_of(&stat);
	return true;
}

/* The agent's own outputs as the kernel shows them, for an agent that is not observed itself. */
static bool identify_outputs(uint32_t pid, struct identity ret_outputs[2])
{
	for (int i = 0; i < 2; i++)
		if (!identify_output((struct subject){ pid }, 1 + i, &ret_outputs[i]))
			return false;
	return true;
}

/* From here on, what hangs below this process belongs to an agent with that slot.  pid 0, serial 0
 * or pid_ns 0, where one of them is not known: nothing below it will be answered. */
static void enter_agent(struct context *context, uint32_t pid, uint32_t pid_ns, uint64_t serial,
			uint32_t profile)
{
	context->flags |= CONTEXT_AGENT;
	context->flags &= ~(uint32_t)(CONTEXT_EXTERNAL_AGENT | CONTEXT_EXTERNAL_DECLARED |
				      CONTEXT_AGENT_OUT | CONTEXT_ROOT | CONTEXT_FORK |
				      CONTEXT_TAKEN);
	context->scope_id = 0;
	context->capture_id = 0;
	context->pid_ns = pid_ns;
	context->anchor_pid = serial ? pid : 0;
	context->profile = profile;
	context->agent_serial = serial;
}

/* From here on, no agent is above this process. */
static void leave_agent(struct context *context)
{
	enter_agent(context, 0, context->pid_ns, 0, 0);
	context->flags &= ~(uint32_t)CONTEXT_AGENT;
}

/* A fork of the agent that holds a conversation of its own. */
struct agent_fork {
	uint32_t pid; /* 0: none */
	struct kernel_status status;
};

/* Finds the scope that a capture taken now belongs to, and makes it known. */
static void enter_scope(const struct segment *segment, struct context *context,
			const char *agent_name, const char *scope_name,
			const struct agent_fork *fork)
{
	uint64_t serial = context->flags & CONTEXT_EXTERNAL_AGENT ? 0 : context->agent_serial;
	uint64_t id = scope_id_of(
		fork->pid ? scope_serial_of_fork(serial, fork->pid, fork->status.start_ns) : serial,
		scope_name);
	if (!serial && !(context->flags & CONTEXT_EXTERNAL_AGENT))
		return; /* an agent without a slot has nothing that would tell its scope from another's */
	const char *name = scope_name                                ? scope_name
			   : context->flags & CONTEXT_EXTERNAL_AGENT ? "session"
								     : agent_name;
	uint32_t pid = fork->pid ? fork->pid : context->anchor_pid;
	context->scope_id = scope_claim(segment, id, context, pid, context->profile, name) ? id : 0;
	if (fork->pid)
		context->flags |= CONTEXT_FORK;
	if ((scope_name || fork->pid) && context->scope_id)
		scope_set_head(segment, id, helper_own_head(segment, serial));
}

/* What an agent reads by itself is its scope's, also before it starts a shell. */
static void claim_own_scope(const struct segment *segment, const struct context *context,
			    uint64_t head, const char *agent_name, const char *scope_name)
{
	uint64_t id = scope_id_of(context->agent_serial, scope_name);

	if (!context->agent_serial)
		return;
	(void)scope_claim(segment, id, context, context->anchor_pid, context->profile, agent_name);
	if (head || scope_name)
		scope_set_head(segment, id, head ? head : scope_id_of(context->agent_serial, NULL));
}

/* The root of a run or of a command: records its output, and with the agent outside takes it as the
 * capture. */
static void enter_root(const struct segment *segment, struct subject subject,
		       const struct invocation *invocation, const char *scope_name, uint32_t pid,
		       struct context *context)
{
	context->flags &= ~(uint32_t)CONTEXT_ROOT;
	if (identify_output(subject, 1, &context->root_out))
		context->flags |= CONTEXT_ROOT_OUT;
	if (!(context->flags & CONTEXT_EXTERNAL_AGENT) || invocation->role == ROLE_AGENT)
		return;
	context->anchor_pid = pid;
	enter_scope(segment, context, NULL, scope_name, &(struct agent_fork){ 0 });
	context->capture_id = capture_claim(segment, subject, context,
					    !invocation->runs_command &&
						    invocation->role == ROLE_SHELL);
}

static bool stdin_is_terminal(struct subject subject)
{
	char buffer[64]; /* struct termios of the kernel: 36 bytes */
	enum { TCGETS_REQUEST = 0x5401 };
	struct stat stat;

	if (subject.pid)
		return subject_stat(subject, 0, &stat) == 0 && is_terminal_device(&stat);
	return sys_call3(SYS_ioctl, 0, TCGETS_REQUEST, (long)buffer) == 0;
}

/* A process without a ticket that no registered process started: `LD_PRELOAD=... SEEN_SESSION=...
 * CMD`. */
static bool become_root(const struct segment *segment, struct subject subject,
			const struct invocation *invocation, enum session_agent_is agent_is,
			struct context *context)
{
	if (ancestors_have_registered(segment, subject))
		return false;
	bool said = agent_is != SESSION_AGENT_IS_AUTO;
	if (!said)
		agent_is = (enum session_agent_is)segment->settings->session_agent_is;
	bool external = agent_is == SESSION_AGENT_IS_OUTSIDE ||
			(agent_is == SESSION_AGENT_IS_AUTO &&
			 role_root_is_external(invocation, stdin_is_terminal(subject)));
	context->flags = CONTEXT_ATTACHED | CONTEXT_ROOT;
	context->pid_ns = process_pid_ns();
	if (external)
		context->flags |= CONTEXT_EXTERNAL_AGENT;
	if (agent_is == SESSION_AGENT_IS_OUTSIDE)
		context->flags |= CONTEXT_EXTERNAL_DECLARED;
	return true;
}

/* A shell whose agent the context has: its descriptor 1 is the capture, where nothing else lies between. */
static void claim_shells_output(const struct segment *segment, struct subject subject,
				const struct invocation *invocation, const char *agent_name,
				const char *scope_name, struct context *context)
{
	struct agent_fork fork;

	/* As they are now: agents connect their own to something else, too. */
	if (!identify_outputs(context->anchor_pid, context->agent_out))
		return;
	context->flags |= CONTEXT_AGENT_OUT;
	if (!ancestors_are_agents_own(segment, subject, context, &fork.pid, &fork.status))
		return;
	enter_scope(segment, context, agent_name, scope_name, &fork);
	context->capture_id = capture_claim(segment, subject, context, !invocation->runs_command);
}

/* Another place in the tree, for the same program. */
static void move_to(struct context *context, const struct context *place)
{
	struct context moved = *place;

	moved.flags &= ~(uint32_t)(CONTEXT_ROOT | CONTEXT_OWN_FLAGS);
	moved.flags |= context->flags & CONTEXT_OWN_FLAGS;
	moved.role = context->role;
	moved.process_ns = context->process_ns;
	*context = moved;
}

/* The same, of a shell that a helper of the agent started (a sandbox): the agent's is what the helper passes on. */
static void enter_shell_behind_helper(const struct segment *segment, struct subject subject,
				      const struct process_slot *starter, enum ticket_kind kind,
				      const struct invocation *invocation, const char *scope_name,
				      struct context *context)
{
	struct process_slot agent;
	struct context outer;

	if (helper_find_capture(segment, subject, starter, kind, &outer)) {
		move_to(context, &outer);
		return;
	}
	if (!ancestors_find_agent(segment, subject, &agent) || !agent.context.pid_ns ||
	    process_pid_ns() != agent.context.pid_ns)
		return;
	outer = agent.context;
	claim_shells_output(segment, subject, invocation, agent.name, scope_name, &outer);
	if (outer.capture_id)
		move_to(context, &outer);
}

/* A shell that the agent started. */
static void enter_shell(const struct segment *segment, struct subject subject,
			const struct process_slot *starter, enum ticket_kind kind,
			const struct invocation *invocation, const char *scope_name,
			struct context *context)
{
	/* In another PID namespace the agent's number may be another process's; so it may when the
	 * agent was killed and an environment of its time is still in use. */
	if (!context->anchor_pid || !context->pid_ns || process_pid_ns() != context->pid_ns ||
	    (kind == TICKET_PARENT && process_is_gone(starter)))
		return;
	struct process_slot agent = *starter;
	if (kind == TICKET_OWN) {
		const struct process_slot *slot = process_slot_at(segment, starter->starter_index);
		if (!slot || !slot_read(slot, &agent, PROCESS_CHECKED_BYTES))
			memcpy(agent.name, "agent", sizeof("agent"));
	}
	claim_shells_output(segment, subject, invocation, agent.name, scope_name, context);
}

/* Does a program that may be an agent take this shell's output?  Inspects one descriptor, for a
 * shell without an agent above it alone. */
static bool is_taken_by_unknown(const struct segment *segment, struct subject subject,
				const struct process_slot *from, enum ticket_kind kind,
				const struct context *context)
{
	struct process_slot starter = *from;
	const struct process_slot *slot = process_slot_at(segment, from->starter_index);
	struct stat stat;

	if (kind == TICKET_OWN && (!slot || !slot_read(slot, &starter, PROCESS_CHECKED_BYTES)))
		return false;
	if (!(starter.context.flags & CONTEXT_UNKNOWN) || starter.time_ns > from->time_ns ||
	    subject_stat(subject, 1, &stat) < 0 ||
	    (!S_ISFIFO(stat.st_mode) && !S_ISSOCK(stat.st_mode)))
		return false;
	struct identity output = identity_of(&stat);
	return !identity_equal(&output, &context->root_out);
}

/* Counts what cannot be answered, and why: a run says it at its end. */
static void count_unanswered(const struct segment *segment, uint32_t role, uint32_t starter_role,
			     const struct context *context)
{
	bool shows = role == ROLE_VIEWER || role == ROLE_READER;

	if (shows && (context->flags & CONTEXT_TAKEN))
		segment_count(segment, COUNTER_viewers_without_agent, 1);
	if (role == ROLE_VIEWER && starter_role == ROLE_AGENT && (context->flags & CONTEXT_AGENT))
		segment_count(segment, COUNTER_viewers_without_shell, 1);
}

/* The program that announced this one stood in the same process: its image is no more. */
static void replace_image(const struct segment *segment, const struct process_slot *announced,
			  uint32_t self)
{
	struct process_slot copy;
	struct process_slot *slot = process_slot_at(segment, announced->starter_index);

	if (announced->spawner_pid != self) /* another process started this one */
		return;
	if (!slot || __atomic_load_n(&slot->pid, __ATOMIC_RELAXED) != self ||
	    !slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES))
		return;
	if (copy.pid == self && copy.serial != announced->serial &&
	    copy.state == PROCESS_ATTACHED) {
		copy.state = PROCESS_EXITED;
		slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	} else {
		slot_abandon(slot, &copy, PROCESS_CHECKED_BYTES);
	}
}

/* A process that takes its place in the tree. */
struct arrival {
	struct subject subject;
	uint32_t pid;
	const struct invocation *invocation; /* what it is */
	const char *scope_name;              /* NULL: none */
	enum session_agent_is agent_is;
	bool is_supervised;    /* inspected by another, the library is not in it */
	bool may_be_root;      /* where it has no place: nothing says that it had one */
	enum ticket_kind kind; /* of the slot found */
	struct process_ref found;
	struct process_slot from; /* its content, unless it is void */
};

/* The context that the process gets from its place in the tree, and the role of the program that
 * started it.  False: it has no place. */
static bool inherit_context(const struct segment *segment, const struct arrival *arrival,
			    struct context *ret_context, uint32_t *ret_starter_role)
{
	const struct process_slot *from = &arrival->from;

	*ret_starter_role = ROLE_TOOL;
	*ret_context = (struct context){ 0 };
	if (arrival->kind == TICKET_VOID)
		return arrival->may_be_root &&
		       become_root(segment, arrival->subject, arrival->invocation,
				   arrival->agent_is, ret_context);
	*ret_context = from->context;
	if (arrival->kind == TICKET_OWN) {
		*ret_starter_role = from->starter_role;
		/* A launcher that has an agent's name (a version manager's script) and becomes
		 * another program is no agent whose command that would be. */
		if (from->starter_role == ROLE_AGENT && arrival->invocation->role != ROLE_AGENT) {
			if (helper_became(segment, arrival->subject, from, ret_context)) {
				*ret_starter_role = ret_context->role;
			} else if (helper_replaces_agent(segment, arrival->subject, from)) {
				leave_agent(ret_context);
				*ret_starter_role = ROLE_TOOL;
			}
		}
		replace_image(segment, from, arrival->pid);
		return true;
	}
	ret_context->flags &= ~(uint32_t)CONTEXT_ROOT;
	*ret_starter_role = from->context.role;
	/* The parent is an agent that is not observed: only the run's root can vouch that its
	 * number means the same here. */
	if (from->state == PROCESS_ANNOUNCED && from->context.role == ROLE_AGENT)
		enter_agent(ret_context, from->pid, from->context.pid_ns, from->serial,
			    from->context.profile);
	return true;
}

/* The PID namespace of the process: its starter's where it sees that as its parent, or is it. */
static uint32_t namespace_of(const struct arrival *arrival)
{
	const struct process_slot *from = &arrival->from;
	uint32_t starter = arrival->kind == TICKET_OWN ? from->spawner_pid : from->pid;

	if (arrival->kind == TICKET_VOID || arrival->is_supervised || !from->context.process_ns ||
	    !starter || (starter != arrival->pid && starter != subject_parent(arrival->subject)))
		return process_pid_ns();
	return from->context.process_ns;
}

/* Acquires the slot that was announced for the process, else claims one.  NULL: the table is
 * full. */
static struct process_slot *acquire_slot(const struct segment *segment,
					 const struct arrival *arrival,
					 struct process_slot *ret_copy,
					 struct process_ref *ret_process)
{
	*ret_process = arrival->kind == TICKET_OWN ? arrival->found : (struct process_ref){ 0, 0 };
	struct process_slot *slot = process_slot_acquire(segment, *ret_process, ret_copy);

	if (slot)
		return slot;
	slot = process_slot_claim(segment, ret_copy, &ret_process->index);
	ret_process->serial = slot ? segment_serial(segment) : 0;
	return slot;
}

/* A script of the workspace that has an agent's name, run by an agent, is what that agent works
 * on. */
static uint32_t role_in(const struct invocation *invocation, const struct context *context)
{
	bool is_work = invocation->role == ROLE_AGENT && invocation->local &&
		       (context->flags & CONTEXT_AGENT);
	return is_work ? ROLE_TOOL : invocation->role;
}

/* An agent that is observed, with that slot: what hangs below it is its own. */
static void become_agent(const struct segment *segment, const struct arrival *arrival,
			 uint32_t starter_role, uint64_t serial, struct context *context)
{
	const struct invocation *invocation = arrival->invocation;
	uint64_t head = arrival->kind != TICKET_VOID &&
					(starter_role == ROLE_AGENT || starter_role == ROLE_TOOL)
				? helper_find_head(segment, arrival->subject, &arrival->from,
						   arrival->kind, invocation, context)
				: 0;

	bool is_nested = (context->flags & CONTEXT_AGENT) &&
			 !(arrival->kind == TICKET_OWN &&
			   helper_replaces_agent(segment, arrival->subject, &arrival->from));
	enter_agent(context, arrival->pid, process_pid_ns(), serial, invocation->profile);
	context->flags &= ~(uint32_t)CONTEXT_NESTED;
	if (is_nested)
		context->flags |= CONTEXT_NESTED;
	claim_own_scope(segment, context, head, invocation->name, arrival->scope_name);
	if (identify_output(arrival->subject, 1, &context->agent_out[0]) &&
	    identify_output(arrival->subject, 2, &context->agent_out[1]))
		context->flags |= CONTEXT_AGENT_OUT;
}

/* A shell below an agent. */
static void enter_agents_shell(const struct segment *segment, const struct arrival *arrival,
			       uint32_t starter_role, struct context *context)
{
	if (starter_role == ROLE_AGENT)
		enter_shell(segment, arrival->subject, &arrival->from, arrival->kind,
			    arrival->invocation, arrival->scope_name, context);
	if (!context->capture_id && arrival->kind != TICKET_VOID &&
	    (starter_role == ROLE_AGENT || starter_role == ROLE_TOOL))
		enter_shell_behind_helper(segment, arrival->subject, &arrival->from, arrival->kind,
					  arrival->invocation, arrival->scope_name, context);
}

/* What the program itself makes of its context: of a root, an agent, an agent's shell.  serial: of
 * its slot. */
static void enter_program(const struct segment *segment, const struct arrival *arrival,
			  uint32_t starter_role, uint64_t serial, struct context *context)
{
	const struct invocation *invocation = arrival->invocation;
	const struct process_slot *from = &arrival->from;
	struct subject subject = arrival->subject;
	uint32_t role = role_in(invocation, context);

	context->role = role;
	context->flags &= ~(uint32_t)CONTEXT_OWN_FLAGS;
	if (arrival->is_supervised)
		context->flags |= CONTEXT_SUPERVISED;
	if (context->flags & CONTEXT_ROOT)
		enter_root(segment, subject, invocation, arrival->scope_name, arrival->pid,
			   context);
	if (role == ROLE_AGENT && (context->flags & CONTEXT_ATTACHED))
		become_agent(segment, arrival, starter_role, serial, context);
	else if (role == ROLE_SHELL && (context->flags & CONTEXT_AGENT))
		enter_agents_shell(segment, arrival, starter_role, context);
	else if (role == ROLE_SHELL && starter_role == ROLE_TOOL && arrival->kind != TICKET_VOID &&
		 !(context->flags & (CONTEXT_AGENT | CONTEXT_EXTERNAL_AGENT)) &&
		 is_taken_by_unknown(segment, subject, from, arrival->kind, context))
		context->flags |= CONTEXT_TAKEN;
	if (invocation->unknown && (context->flags & CONTEXT_ATTACHED))
		context->flags |= CONTEXT_UNKNOWN;
}

static void commit_slot(struct process_slot *slot, struct process_slot *copy,
			const struct arrival *arrival, uint32_t starter_role, uint64_t serial,
			const struct context *context)
{
	copy->serial = serial;
	copy->pid = arrival->pid;
	if (arrival->kind != TICKET_OWN) {
		copy->spawner_pid = subject_parent(arrival->subject);
		copy->starter_role = starter_role;
		copy->starter_index = UINT64_MAX;
	}
	copy->state = PROCESS_ATTACHED;
	copy->time_ns = sys_boottime_ns();
	copy->context = *context;
	memcpy(copy->name, arrival->invocation->name, sizeof(copy->name));
	slot_commit(slot, copy, PROCESS_CHECKED_BYTES);
}

/* process_attach(), past the question how the slot is found. */
static struct process_ref arrive(const struct segment *segment, const struct arrival *arrival,
				 struct context *ret_context)
{
	struct process_ref process;
	struct process_slot copy;
	struct context context;
	uint32_t starter_role;

	bool is_unattached = !inherit_context(segment, arrival, &context, &starter_role);
	context.process_ns = namespace_of(arrival);
	struct process_slot *slot = acquire_slot(segment, arrival, &copy, &process);
	enter_program(segment, arrival, starter_role, process.serial, &context);
	count_unanswered(segment, context.role, starter_role, &context);
	/* below an unattached one, too: process_release() can tell that */
	if (arrival->is_supervised)
		is_unattached = !(context.flags & CONTEXT_ATTACHED);
	if (is_unattached)
		segment_count(segment, COUNTER_processes_unattached, 1);
	if (slot)
		commit_slot(slot, &copy, arrival, starter_role, process.serial, &context);
	else
		segment_count(segment, COUNTER_processes_attached, 1);
	*ret_context = context;
	return process;
}

struct process_ref process_attach(const struct segment *segment, struct subject subject,
				  const char *ticket, bool scrubbed,
				  const struct invocation *invocation, const char *scope_name,
				  enum session_agent_is agent_is, struct context *ret_context)
{
	struct arrival arrival = { .subject = subject,
				   .pid = subject_pid(subject),
				   .invocation = invocation,
				   .scope_name = scope_name,
				   .agent_is = agent_is,
				   .may_be_root = !ticket && !scrubbed,
				   .kind = TICKET_VOID };
	uint64_t pid;

	if (ticket && ticket_parse(ticket, &pid, &arrival.found))
		arrival.kind = ticket_find(segment, subject, arrival.found, &arrival.from);
	else if (!ticket && scrubbed)
		arrival.kind = ticket_search(segment, subject, &arrival.found, &arrival.from);
	return arrive(segment, &arrival, ret_context);
}

bool process_find_announced(const struct segment *segment, struct subject subject,
			    struct process_ref *ret_process, struct process_slot *ret_slot)
{
	struct process_ref process;
	struct process_slot slot;

	if (ticket_search(segment, subject, &process, &slot) != TICKET_OWN)
		return false;
	*ret_process = process;
	*ret_slot = slot;
	return true;
}

struct process_ref process_adopt(const struct segment *segment, struct subject subject,
				 struct process_ref announced, const struct invocation *invocation,
				 const char *scope_name, struct context *ret_context)
{
	struct arrival arrival = { .subject = subject,
				   .pid = subject_pid(subject),
				   .invocation = invocation,
				   .scope_name = scope_name,
				   .agent_is = SESSION_AGENT_IS_AUTO,
				   .is_supervised = true,
				   .found = announced };

	arrival.kind = announced.serial
			       ? ticket_find(segment, subject, announced, &arrival.from)
			       : ticket_search(segment, subject, &arrival.found, &arrival.from);
	segment_count(segment, COUNTER_processes_supervised, 1);
	return arrive(segment, &arrival, ret_context);
}

void process_release(const struct segment *segment, struct process_ref process,
		     const struct context *announced_context)
{
	struct process_slot copy;
	struct process_slot *slot = process_slot_acquire(segment, process, &copy);

	if (!slot)
		return;
	if (copy.state != PROCESS_ATTACHED || !(copy.context.flags & CONTEXT_SUPERVISED)) {
		slot_abandon(slot, &copy, PROCESS_CHECKED_BYTES);
		return;
	}
	bool is_unattached = !(copy.context.flags & CONTEXT_ATTACHED);
	copy.state = announced_context ? PROCESS_ANNOUNCED : PROCESS_FREE;
	if (announced_context)
		copy.context = *announced_context;
	else
		process_slot_add_counts(segment, slot);
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	segment_count(segment, COUNTER_processes_supervised, (uint64_t)-1);
	if (is_unattached)
		segment_count(segment, COUNTER_processes_unattached, (uint64_t)-1);
}
