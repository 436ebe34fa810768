/* process.h: tickets, who is below whom, and where a capture is taken.  Each process of a tree is a
 * fork that attaches as the library would; nothing is executed. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/process.h"

static struct world world;

static void start(void)
{
	world_open(&world, "session.processes=64", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(process, .init = start, .fini = stop);

static char codex[] = "codex", bash[] = "bash", dash_c[] = "-c", script[] = "build.sh",
	    cat[] = "cat", name[] = "f", make[] = "make";
static char *const AGENT[] = { codex, NULL }, *const SHELL[] = { bash, dash_c, name, NULL },
		   *const LASTING[] = { bash, NULL }, *const SCRIPT[] = { bash, script, NULL },
		   *const CAT[] = { cat, name, NULL }, *const TOOL[] = { make, NULL };

/* A process of the tree: what it knows after it attached. */
struct me {
	struct process_ref ref;
	struct context context;
};

static struct me attach_as(const char *ticket, const char *executable, char *const argv[],
			   const char *scope_name, enum session_agent_is agent_is)
{
	struct invocation invocation;
	struct me me;
	role_invocation(&world.segment, executable, argv, &invocation);
	me.ref = process_attach(&world.segment, ticket, false, &invocation, scope_name, agent_is,
				&me.context);
	return me;
}

static struct me attach(const char *ticket, const char *executable, char *const argv[])
{
	return attach_as(ticket, executable, argv, NULL, SESSION_AGENT_IS_AUTO);
}

static int body(void *data)
{
	return ((int (*)(void))(uintptr_t)data)();
}
#define IN_CHILD(function) cr_assert_eq(in_child(body, (void *)(uintptr_t)(function)), 0)

static void new_stdout(void)
{
	int pipes[2];
	must(pipe(pipes) == 0 && dup2(pipes[1], 1) == 1);
}

/* One generation: forks; the child is started by `parent` as a program and goes on with `next`. */
static const struct me *parent_of_step;
static struct me started;
struct step {
	const struct me *parent;
	const char *executable;
	char *const *argv;
	bool fresh_stdout;
	int (*next)(const struct me *me);
};

static int step_body(void *data)
{
	const struct step *step = data;
	char ticket[TICKET_BYTES];
	struct process_ref ref = process_announce(&world.segment, &step->parent->context,
						  step->parent->ref, getpid(), step->executable,
						  step->argv, ticket);
	must(ref.serial != 0 && strncmp(ticket, "SEEN_P=", 7) == 0);
	if (step->fresh_stdout)
		new_stdout();
	parent_of_step = step->parent;
	started = attach(ticket + 7, step->executable, step->argv);
	must(started.ref.serial == ref.serial && started.ref.index == ref.index);
	return step->next(&started);
}

static int run(const struct me *parent, const char *executable, char *const *argv,
	       bool fresh_stdout, int (*next)(const struct me *me))
{
	struct step step = { parent, executable, argv, fresh_stdout, next };
	struct me copy = *parent;
	step.parent = &copy;
	return in_child(step_body, &step);
}

/* ---- the usual tree ---- */

static uint64_t shells_capture;

static int viewer_below_shell(const struct me *me)
{
	must(me->context.role == ROLE_VIEWER);
	must(me->context.capture_id == shells_capture &&
	     me->context.scope_id == parent_of_step->context.scope_id);
	must(capture_is_sink(&world.segment, me->context.capture_id));
	must(process_anchor_alive(&me->context, 0));
	must(process_anchor_alive(&me->context,
				  capture_shell(&world.segment, me->context.capture_id)));
	must(!process_anchor_alive(&me->context, 4194305)); /* of a shell that is not between */
	return 0;
}

static int viewer_in_pipeline(const struct me *me)
{
	must(me->context.capture_id == shells_capture);
	must(!capture_is_sink(&world.segment, me->context.capture_id));
	return 0;
}

static int nested_shell(const struct me *me)
{
	must(me->context.capture_id == shells_capture); /* the outer one's: not taken anew */
	must(run(me, "/bin/cat", CAT, true, viewer_in_pipeline) == 0);
	return run(me, "/bin/cat", CAT, false, viewer_below_shell);
}

/* bash -c '...' > f: the outer capture is kept, and what stands there now is another stream. */
static int redirected_shell(const struct me *me)
{
	must(me->context.capture_id == shells_capture);
	return run(me, "/bin/cat", CAT, false, viewer_in_pipeline);
}

static int shell_below_agent(const struct me *me)
{
	must(me->context.role == ROLE_SHELL && me->context.scope_id != 0 &&
	     me->context.capture_id != 0);
	must(me->context.anchor_pid == (uint32_t)getppid());
	shells_capture = me->context.capture_id;
	must(run(me, "/bin/cat", CAT, false, viewer_below_shell) == 0);
	must(run(me, "/bin/cat", CAT, true, viewer_in_pipeline) == 0);
	must(run(me, "/bin/bash", SHELL, false, nested_shell) == 0);
	return run(me, "/bin/bash", SHELL, true, redirected_shell);
}

static int cat_below_agent(const struct me *me)
{
	must(me->context.role == ROLE_VIEWER && me->context.capture_id == 0);
	return 0;
}

static int shell_with_agents_output(const struct me *me)
{
	must(me->context.role == ROLE_SHELL && me->context.capture_id == 0);
	return 0;
}

static int agent_root(void)
{
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	must(root.ref.serial != 0);
	must((root.context.flags & (CONTEXT_ATTACHED | CONTEXT_AGENT)) ==
	     (CONTEXT_ATTACHED | CONTEXT_AGENT));
	must(!(root.context.flags & CONTEXT_OUTSIDE) &&
	     root.context.anchor_pid == (uint32_t)getpid());
	must(run(&root, "/bin/bash", SHELL, true, shell_below_agent) == 0);
	must(run(&root, "/bin/bash", LASTING, true, shell_below_agent) == 0);
	must(run(&root, "/bin/bash", SHELL, false, shell_with_agents_output) == 0);
	must(run(&root, "/bin/cat", CAT, true, cat_below_agent) == 0);
	return 0;
}

Test(process, agent_shell_viewer)
{
	IN_CHILD(agent_root);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_processes_unattached), 0);
}

/* ---- an agent below an agent has a scope of its own ---- */

static uint64_t outer_scope;

static int inner_shell(const struct me *me)
{
	must(me->context.scope_id != 0 && me->context.scope_id != outer_scope);
	return 0;
}

static int inner_agent(const struct me *me)
{
	must(me->context.scope_id == 0 && me->context.capture_id == 0);
	must(me->context.anchor_pid == (uint32_t)getpid());
	return run(me, "/bin/bash", SHELL, true, inner_shell);
}

static int outer_shell(const struct me *me)
{
	outer_scope = me->context.scope_id;
	return run(me, "/usr/bin/codex", AGENT, true, inner_agent);
}

static int agent_of_agent(void)
{
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	return run(&root, "/bin/bash", SHELL, true, outer_shell);
}

Test(process, an_agent_below_an_agent_shares_nothing)
{
	IN_CHILD(agent_of_agent);
}

/* ---- tickets ---- */

static const char *used_ticket;

static int with_ticket(void)
{
	struct me me = attach(used_ticket, "/bin/cat", CAT);
	return me.context.flags & CONTEXT_ATTACHED ? 1 : 0;
}

static int tickets(void)
{
	char ticket[TICKET_BYTES], changed[TICKET_BYTES];
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	/* pid 0: posix_spawn, a child of ours may take it before we know its number */
	struct process_ref ref = process_announce(&world.segment, &root.context, root.ref, 0,
						  "/bin/cat", CAT, ticket);
	used_ticket = ticket + 7;
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 1);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0); /* taken: now another's */
	/* announced for one pid, used by another, whose parent it is not */
	ref = process_announce(&world.segment, &root.context, root.ref, 1, "/bin/cat", CAT, ticket);
	must(ref.serial != 0);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	/* withdrawn */
	ref = process_announce(&world.segment, &root.context, root.ref, 0, "/bin/cat", CAT, ticket);
	process_withdraw(&world.segment, ref);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	process_withdraw(&world.segment, (struct process_ref){ 0, 0 });
	/* malformed and out of range */
	static const char *const BAD[] = { "",
					   ":",
					   "1",
					   "1:2",
					   "1:2:",
					   "1:2:3x",
					   "a:b:c",
					   "1:99999999:5",
					   "1:2:0",
					   "99999999999999999999999:1:1",
					   "-1:0:1",
					   " 1:0:1",
					   "1:0:18446744073709551616" };
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		used_ticket = BAD[i];
		must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	}
	/* another serial: the slot was given away */
	(void)process_announce(&world.segment, &root.context, root.ref, 0, "/bin/cat", CAT, ticket);
	(void)snprintf(changed, sizeof(changed), "%s0", ticket + 7);
	used_ticket = changed;
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	/* own ticket of the parent: a child behind an unobserved program */
	(void)snprintf(changed, sizeof(changed), "%d:%lu:%lu", (int)getpid(),
		       (unsigned long)root.ref.index, (unsigned long)root.ref.serial);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 1);
	/* and after that one ended it is void */
	process_exit(&world.segment, root.ref);
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	return 0;
}

Test(process, tickets)
{
	IN_CHILD(tickets);
}

static int late_pid(void)
{
	char ticket[TICKET_BYTES];
	struct process_slot slot;
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	struct process_ref ref = process_announce(&world.segment, &root.context, root.ref, 0,
						  "/bin/cat", CAT, ticket);
	process_set_pid(&world.segment, ref, 4321);
	must(process_read(&world.segment, ref.index, &slot));
	must(slot.pid == 4321 && slot.state == PROCESS_ANNOUNCED && strcmp(slot.name, "cat") == 0);
	process_set_pid(&world.segment, ref, 4322); /* known already */
	must(process_read(&world.segment, ref.index, &slot) && slot.pid == 4321);
	process_set_pid(&world.segment, (struct process_ref){ 1000000, 5 }, 1);
	process_exit(&world.segment, (struct process_ref){ 1000000, 5 });
	used_ticket = ticket + 7;
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	return 0;
}

Test(process, pid_told_after_a_spawn)
{
	IN_CHILD(late_pid);
}

/* ---- without a ticket ---- */

static int child_without_ticket(void)
{
	struct me me = attach(NULL, "/bin/cat", CAT);
	must(!(me.context.flags & CONTEXT_ATTACHED) && me.context.capture_id == 0 &&
	     me.context.scope_id == 0);
	return 0;
}

static int lost_ticket(void)
{
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	must(root.context.flags & CONTEXT_ATTACHED);
	return in_child(body, (void *)(uintptr_t)child_without_ticket); /* env -i: no new root */
}

Test(process, a_lost_ticket_makes_no_new_root)
{
	IN_CHILD(lost_ticket);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_processes_unattached), 1);
}

/* ---- the agent outside ---- */

static int outside_said(void)
{
	new_stdout();
	struct me root = attach_as(NULL, "/bin/bash", SHELL, "chat-1", SESSION_AGENT_IS_OUTSIDE);
	must((root.context.flags & CONTEXT_OUTSIDE_SAID) && root.context.capture_id != 0);
	must(root.context.scope_id == scope_id_of(0, "chat-1"));
	shells_capture = root.context.capture_id;
	return run(&root, "/bin/cat", CAT, false, viewer_below_shell);
}

static int outside_auto_pipe(void)
{
	new_stdout();
	struct me root = attach(NULL, "/bin/bash", SHELL);
	must((root.context.flags & CONTEXT_OUTSIDE) &&
	     !(root.context.flags & CONTEXT_OUTSIDE_SAID));
	must(root.context.capture_id == 0);
	return 0;
}

static int outside_viewer(void)
{
	new_stdout();
	struct me root = attach_as(NULL, "/bin/cat", CAT, NULL, SESSION_AGENT_IS_OUTSIDE);
	must(root.context.capture_id != 0 && root.context.scope_id == scope_id_of(0, NULL));
	must(process_anchor_alive(&root.context, 0));
	return 0;
}

static int inside_script(void)
{
	new_stdout();
	struct me root = attach(NULL, "/bin/bash", SCRIPT);
	must((root.context.flags & CONTEXT_ATTACHED) && !(root.context.flags & CONTEXT_OUTSIDE));
	must(root.context.capture_id == 0 && root.context.scope_id == 0);
	return 0;
}

static int inside_said(void)
{
	new_stdout();
	struct me root = attach_as(NULL, "/bin/bash", SHELL, NULL, SESSION_AGENT_IS_INSIDE);
	must(!(root.context.flags & CONTEXT_OUTSIDE) && root.context.capture_id == 0);
	return 0;
}

static int tool_root(void)
{
	struct me root = attach(NULL, "/usr/bin/make", TOOL);
	must((root.context.flags & CONTEXT_ATTACHED) && !(root.context.flags & CONTEXT_OUTSIDE));
	return run(&root, "/bin/bash", SHELL, true,
		   shell_with_agents_output); /* no agent: no capture */
}

Test(process, outside_said)
{
	IN_CHILD(outside_said);
}

Test(process, outside_by_itself_takes_no_pipe)
{
	IN_CHILD(outside_auto_pipe);
}

Test(process, outside_viewer_as_root)
{
	IN_CHILD(outside_viewer);
}

Test(process, a_script_is_inside)
{
	IN_CHILD(inside_script);
}

Test(process, inside_when_said)
{
	IN_CHILD(inside_said);
}

Test(process, below_a_tool_nothing_is_captured)
{
	IN_CHILD(tool_root);
}

/* ---- the anchor ---- */

static int pipe_of_orphan[2];

static int orphan_at_the_end(const struct me *me)
{
	char byte;
	pid_t viewer = getpid();
	if (fork() != 0)
		_exit(0);
	for (int i = 0; i < 2000 && getppid() == viewer; i++)
		usleep(1000); /* until init, or a subreaper, has it */
	byte = process_anchor_alive(&me->context, 0) ? 'y' : 'n';
	must(write(pipe_of_orphan[1], &byte, 1) == 1);
	_exit(0);
}

static int dying_agent(void)
{
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	(void)run(&root, "/bin/cat", CAT, false, orphan_at_the_end);
	_exit(0);
}

Test(process, an_orphan_has_no_anchor)
{
	char byte = '?';
	cr_assert_eq(pipe(pipe_of_orphan), 0);
	IN_CHILD(dying_agent);
	cr_assert_eq(read(pipe_of_orphan[0], &byte, 1), 1);
	cr_assert_eq(byte, 'n');
}

Test(process, anchor_must_be_known)
{
	struct context context = { .anchor_pid = (uint32_t)getpid(), .pid_ns = process_pid_ns() };
	cr_assert(process_anchor_alive(&context, 0));
	context.pid_ns++;
	cr_assert(!process_anchor_alive(&context, 0), "another namespace");
	context.pid_ns = 0;
	cr_assert(!process_anchor_alive(&context, 0));
	context.pid_ns = process_pid_ns();
	context.anchor_pid = 0;
	cr_assert(!process_anchor_alive(&context, 0));
	context.anchor_pid = (uint32_t)getppid();
	cr_assert(process_anchor_alive(&context, 0));
	context.anchor_pid = 4194305; /* beyond every pid_max */
	cr_assert(!process_anchor_alive(&context, 0));
}

Test(process, is_gone)
{
	struct process_slot slot = { .pid = (uint32_t)getpid(), .time_ns = UINT64_MAX / 2 };
	slot.context.pid_ns = process_pid_ns();
	cr_assert(!process_is_gone(&slot));
	slot.time_ns = 1; /* long before this process started: another one with its number */
	cr_assert(process_is_gone(&slot));
	slot.context.pid_ns++;
	cr_assert(!process_is_gone(&slot), "cannot be judged");
	slot.context.pid_ns--;
	slot.pid = 0;
	cr_assert(!process_is_gone(&slot));
	slot.pid = 4194305;
	cr_assert(process_is_gone(&slot));
}

/* ---- a full table ---- */

static int full_table(void)
{
	char ticket[TICKET_BYTES];
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	uint64_t capacity = world.segment.capacity[TABLE_PROCESSES];
	/* killed tools, which never gave their slots back, give way */
	for (uint64_t i = 0; i < 3 * capacity; i++)
		must(process_announce(&world.segment, &root.context, root.ref, 1, "/usr/bin/make",
				      TOOL, ticket)
			     .serial != 0);
	must(segment_counter(&world.segment, COUNTER_lost_processes) == 0);
	/* the agent's own slot was kept */
	struct process_slot slot;
	must(process_read(&world.segment, root.ref.index, &slot));
	must(slot.serial == root.ref.serial);
	for (uint64_t i = 0; i < capacity; i++)
		(void)process_announce(&world.segment, &root.context, root.ref, getpid(),
				       "/bin/bash", SHELL, ticket);
	struct process_ref none = process_announce(&world.segment, &root.context, root.ref, 1,
						   "/bin/cat", CAT, ticket);
	must(none.serial == 0 && ticket[0] == '\0');
	must(segment_counter(&world.segment, COUNTER_lost_processes) > 0);
	process_set_pid(&world.segment, none, 1);
	process_withdraw(&world.segment, none);
	process_exit(&world.segment, none);
	return 0;
}

Test(process, full_table_is_counted_and_harmless)
{
	IN_CHILD(full_table);
}
