/* process.h: tickets, who is below whom, and where a capture is taken.  Each process of a tree is a
 * fork that attaches as the library would; nothing is executed. */
#include "process_case.h"
#include "tracker/process/helper.h"
#include "tracker/process/process_slot.h"
#include "tracker/process/scope.h"
#include "tracker/sys/sys.h"

TestSuite(process, .init = start, .fini = stop);

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
	struct process_ref ref = process_announce(&world.segment, SUBJECT_SELF,
						  &step->parent->context, step->parent->ref,
						  getpid(), step->executable, step->argv, ticket);
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
	must(capture_is_sink(&world.segment, SUBJECT_SELF, me->context.capture_id));
	must(process_anchor_alive(SUBJECT_SELF, &me->context, 0));
	must(process_anchor_alive(SUBJECT_SELF, &me->context,
				  capture_shell(&world.segment, me->context.capture_id)));
	must(!process_anchor_alive(SUBJECT_SELF, &me->context,
				   4194305)); /* of a shell that is not between */
	return 0;
}

static int viewer_in_pipeline(const struct me *me)
{
	must(me->context.capture_id == shells_capture);
	must(!capture_is_sink(&world.segment, SUBJECT_SELF, me->context.capture_id));
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
	must(!(root.context.flags & CONTEXT_EXTERNAL_AGENT) &&
	     root.context.anchor_pid == (uint32_t)getpid());
	must(run(&root, "/bin/bash", SHELL, true, shell_below_agent) == 0);
	must(run(&root, "/bin/bash", LASTING, true, shell_below_agent) == 0);
	must(run(&root, "/bin/bash", SHELL, false, shell_with_agents_output) == 0);
	must(run(&root, "/bin/cat", CAT, true, cat_below_agent) == 0);
	return 0;
}

static int shell_with_no_capture(const struct me *me)
{
	must(me->context.role == ROLE_SHELL && me->context.capture_id == 0);
	return 0;
}

/* The agent's number is of another PID namespace: here it may be another process's. */
static int agent_elsewhere(void)
{
	struct process_slot copy;

	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	struct process_slot *slot = process_slot_acquire(&world.segment, root.ref, &copy);
	must(slot != NULL);
	copy.context.pid_ns++;
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	root.context = copy.context;
	return run(&root, "/bin/bash", SHELL, true, shell_with_no_capture);
}

Test(process, a_shell_in_another_pid_namespace_has_no_capture)
{
	IN_CHILD(agent_elsewhere);
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

/* ---- a launcher with an agent's name becomes another program ---- */

static struct me become(const struct me *me, const char *executable, char *const argv[])
{
	char ticket[TICKET_BYTES];

	(void)process_announce(&world.segment, SUBJECT_SELF, &me->context, me->ref, getpid(),
			       executable, argv, ticket);
	return attach(ticket + sizeof(TICKET_VARIABLE), executable, argv);
}

static int launcher(void)
{
	static char env[] = "env";
	static char *const ENV[] = { env, bash, script, NULL };

	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	must(root.context.flags & CONTEXT_AGENT);
	struct me me = become(&root, "/usr/bin/env", ENV);
	must((me.context.flags & CONTEXT_ATTACHED) && !(me.context.flags & CONTEXT_AGENT));
	must(me.context.agent_serial == 0 && me.context.anchor_pid == 0);
	me = become(&me, "/bin/bash", SCRIPT);
	must(me.context.capture_id == 0 && !(me.context.flags & CONTEXT_AGENT));
	me = become(&me, "/usr/bin/codex", AGENT);
	must((me.context.flags & CONTEXT_AGENT) && !(me.context.flags & CONTEXT_NESTED));
	return run(&me, "/bin/bash", SHELL, true, shell_below_agent);
}

/* Below an agent, what its helper becomes goes on being that agent's. */
static int nested_launcher(const struct me *me)
{
	must(me->context.flags & CONTEXT_NESTED);
	struct me tool = become(me, "/usr/bin/make", TOOL);
	must(tool.context.flags & CONTEXT_AGENT);
	return 0;
}

static int launcher_below_shell(const struct me *me)
{
	return run(me, "/usr/bin/codex", AGENT, true, nested_launcher);
}

static int launchers_of_agent(void)
{
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	must(!(root.context.flags & CONTEXT_NESTED));
	return run(&root, "/bin/bash", SHELL, true, launcher_below_shell);
}

Test(process, a_launcher_is_no_agent_once_it_is_another_program)
{
	IN_CHILD(launcher);
	IN_CHILD(launchers_of_agent);
}

/* ---- a helper of the agent's program below its shell: what it becomes or starts is the command's ---- */

static int shell_of_helper(const struct me *me)
{
	must(me->context.capture_id == shells_capture && me->context.scope_id == outer_scope);
	must(me->context.role == ROLE_SHELL);
	return run(me, "/bin/cat", CAT, false, viewer_below_shell);
}

static int helper_starts(const struct me *me)
{
	must(me->context.capture_id == 0);
	must(run(me, "/bin/bash", SHELL, false, shell_of_helper) == 0);
	/* What it reads itself is its own. */
	return run(me, "/bin/bash", SHELL, true, inner_shell);
}

static int shell_with_helpers(const struct me *me)
{
	shells_capture = me->context.capture_id;
	outer_scope = me->context.scope_id;
	must(shells_capture != 0);
	must(run(me, "/usr/bin/codex", AGENT, false, helper_starts) == 0);
	struct me helper = become(me, "/usr/bin/codex", AGENT);
	must(helper.context.capture_id == 0);
	helper = become(&helper, "/usr/bin/codex", AGENT);
	struct me shell = become(&helper, "/bin/bash", SHELL);
	return shell_of_helper(&shell);
}

static int helpers_of_agent(void)
{
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	return run(&root, "/bin/bash", SHELL, true, shell_with_helpers);
}

Test(process, helpers_below_a_shell)
{
	IN_CHILD(helpers_of_agent);
}

/* ---- when the agent started a helper ---- */

static uint64_t agents_scope, helpers_scope, helper_began;

static int below_helper(const struct me *me)
{
	must(helper_began_ns(&world.segment, me->ref.serial, agents_scope) == helper_began);
	return 0;
}

static int tool_of_helper(const struct me *me)
{
	must(scope_id_of(me->context.agent_serial, NULL) == helpers_scope);
	must(helper_scope_began_ns(&world.segment, me->ref.serial, helpers_scope) == helper_began);
	return below_helper(me);
}

static int helper_alone(const struct me *me)
{
	must(me->context.flags & CONTEXT_NESTED);
	helper_began = helper_began_ns(&world.segment, me->ref.serial, agents_scope);
	must(helper_began != 0 && helper_began <= sys_boottime_ns());
	must(helper_began_ns(&world.segment, me->ref.serial, agents_scope + 1) == 0);
	helpers_scope = scope_id_of(me->context.agent_serial, NULL);
	must(helper_scope_began_ns(&world.segment, me->ref.serial, helpers_scope) == helper_began);
	(void)usleep(30000);
	must(run(me, "/usr/bin/make", TOOL, false, tool_of_helper) == 0);
	/* What it becomes, and what that starts, began with it. */
	struct me again = become(me, "/usr/bin/codex", AGENT);
	must(below_helper(&again) == 0);
	return run(&again, "/usr/bin/make", TOOL, false, below_helper);
}

/* A process that takes long until its program runs began before that. */
static int late_helper(void *data)
{
	const struct me *root = data;
	uint64_t forked_ns = sys_boottime_ns();

	(void)usleep(200000);
	struct me me = become(root, "/usr/bin/codex", AGENT);
	uint64_t began = helper_began_ns(&world.segment, me.ref.serial, agents_scope);
	must(began && began < forked_ns + 100000000);
	return 0;
}

static int agent_with_helpers(void)
{
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	agents_scope = scope_id_of(root.context.agent_serial, NULL);
	must(helper_began_ns(&world.segment, root.ref.serial, agents_scope) == 0);
	must(run(&root, "/usr/bin/codex", AGENT, false, helper_alone) == 0);
	return in_child(late_helper, &root);
}

Test(process, when_a_helper_began)
{
	IN_CHILD(agent_with_helpers);
}

/* ---- tickets ---- */

Test(process, tickets)
{
	IN_CHILD(tickets);
}

static int late_pid(void)
{
	char ticket[TICKET_BYTES];
	struct process_slot slot;
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	struct process_ref ref = process_announce(&world.segment, SUBJECT_SELF, &root.context,
						  root.ref, 0, "/bin/cat", CAT, ticket);
	process_set_pid(&world.segment, ref, 4321);
	must(process_read(&world.segment, ref.index, &slot));
	must(slot.pid == 4321 && slot.state == PROCESS_ANNOUNCED && strcmp(slot.name, "cat") == 0);
	process_set_pid(&world.segment, ref, 4322); /* known already */
	must(process_read(&world.segment, ref.index, &slot) && slot.pid == 4321);
	process_renumber(&world.segment, ref, 4323);
	must(process_read(&world.segment, ref.index, &slot) && slot.pid == 4323);
	process_set_pid(&world.segment, (struct process_ref){ 1000000, 5 }, 1);
	process_exit(&world.segment, (struct process_ref){ 1000000, 5 });
	used_ticket = ticket + 7;
	must(in_child(body, (void *)(uintptr_t)with_ticket) == 0);
	return 0;
}

Test(process, pid_reported_after_a_spawn)
{
	IN_CHILD(late_pid);
}

/* ---- one that attached and ended since its slot was read ---- */

static int announce_alone(void *data)
{
	const struct me *root = data;
	char ticket[TICKET_BYTES];
	struct process_ref ref = process_announce(&world.segment, SUBJECT_SELF, &root->context,
						  root->ref, getpid(), "/bin/cat", CAT, ticket);
	must(ref.serial != 0);
	return (int)ref.index;
}

static int stale_copy(void)
{
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	uint64_t now_ns = sys_boottime_ns(), index = (uint64_t)in_child(announce_alone, &root);
	struct process_slot gone;

	must(process_read(&world.segment, index, &gone) && gone.state == PROCESS_ANNOUNCED);
	must(process_is_unobserved(&world.segment, index, &gone, now_ns, PROCESS_STARTS_NS));
	process_exit(&world.segment, (struct process_ref){ index, gone.serial });
	must(!process_is_unobserved(&world.segment, index, &gone, now_ns, PROCESS_STARTS_NS));
	/* another program has the slot: what became of that one is not known */
	process_withdraw(&world.segment, (struct process_ref){ index, gone.serial });
	gone.serial += 1000;
	must(process_is_unobserved(&world.segment, index, &gone, now_ns, PROCESS_STARTS_NS));
	return 0;
}

Test(process, one_that_attached_and_ended_was_observed)
{
	IN_CHILD(stale_copy);
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

static int external_declared(void)
{
	new_stdout();
	struct me root = attach_as(NULL, "/bin/bash", SHELL, "chat-1", SESSION_AGENT_IS_OUTSIDE);
	must((root.context.flags & CONTEXT_EXTERNAL_DECLARED) && root.context.capture_id != 0);
	must(root.context.scope_id == scope_id_of(0, "chat-1"));
	shells_capture = root.context.capture_id;
	return run(&root, "/bin/cat", CAT, false, viewer_below_shell);
}

static int external_auto_pipe(void)
{
	new_stdout();
	struct me root = attach(NULL, "/bin/bash", SHELL);
	must((root.context.flags & CONTEXT_EXTERNAL_AGENT) &&
	     !(root.context.flags & CONTEXT_EXTERNAL_DECLARED));
	must(root.context.capture_id == 0);
	return 0;
}

static int external_viewer(void)
{
	new_stdout();
	struct me root = attach_as(NULL, "/bin/cat", CAT, NULL, SESSION_AGENT_IS_OUTSIDE);
	must(root.context.capture_id != 0 && root.context.scope_id == scope_id_of(0, NULL));
	must(process_anchor_alive(SUBJECT_SELF, &root.context, 0));
	return 0;
}

static int inside_script(void)
{
	new_stdout();
	struct me root = attach(NULL, "/bin/bash", SCRIPT);
	must((root.context.flags & CONTEXT_ATTACHED) &&
	     !(root.context.flags & CONTEXT_EXTERNAL_AGENT));
	must(root.context.capture_id == 0 && root.context.scope_id == 0);
	return 0;
}

static int inside_said(void)
{
	new_stdout();
	struct me root = attach_as(NULL, "/bin/bash", SHELL, NULL, SESSION_AGENT_IS_INSIDE);
	must(!(root.context.flags & CONTEXT_EXTERNAL_AGENT) && root.context.capture_id == 0);
	return 0;
}

static int tool_root(void)
{
	struct me root = attach(NULL, "/usr/bin/make", TOOL);
	must((root.context.flags & CONTEXT_ATTACHED) &&
	     !(root.context.flags & CONTEXT_EXTERNAL_AGENT));
	return run(&root, "/bin/bash", SHELL, true,
		   shell_with_agents_output); /* no agent: no capture */
}

Test(process, external_declared)
{
	IN_CHILD(external_declared);
}

Test(process, undeclared_external_claims_no_pipe)
{
	IN_CHILD(external_auto_pipe);
}

Test(process, external_viewer_as_root)
{
	IN_CHILD(external_viewer);
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

static int last_orphan(const struct me *me)
{
	char byte;
	pid_t viewer = getpid();
	if (fork() != 0)
		_exit(0);
	for (int i = 0; i < 2000 && getppid() == viewer; i++)
		usleep(1000); /* until init, or a subreaper, has it */
	byte = process_anchor_alive(SUBJECT_SELF, &me->context, 0) ? 'y' : 'n';
	must(write(pipe_of_orphan[1], &byte, 1) == 1);
	_exit(0);
}

static int dying_agent(void)
{
	new_stdout();
	struct me root = attach(NULL, "/usr/bin/codex", AGENT);
	(void)run(&root, "/bin/cat", CAT, false, last_orphan);
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
	cr_assert(process_anchor_alive(SUBJECT_SELF, &context, 0));
	context.pid_ns++;
	cr_assert(!process_anchor_alive(SUBJECT_SELF, &context, 0), "another namespace");
	context.pid_ns = 0;
	cr_assert(!process_anchor_alive(SUBJECT_SELF, &context, 0));
	context.pid_ns = process_pid_ns();
	context.anchor_pid = 0;
	cr_assert(!process_anchor_alive(SUBJECT_SELF, &context, 0));
	context.anchor_pid = (uint32_t)getppid();
	cr_assert(process_anchor_alive(SUBJECT_SELF, &context, 0));
	context.anchor_pid = 4194305; /* beyond every pid_max */
	cr_assert(!process_anchor_alive(SUBJECT_SELF, &context, 0));
}

Test(process, is_gone)
{
	struct process_slot slot = { .pid = (uint32_t)getpid(), .time_ns = UINT64_MAX / 2 };
	slot.context.process_ns = process_pid_ns();
	cr_assert(!process_is_gone(&slot));
	slot.time_ns = 1; /* long before this process started: another one with its number */
	cr_assert(process_is_gone(&slot));
	slot.context.process_ns++;
	cr_assert(!process_is_gone(&slot), "cannot be judged");
	slot.context.process_ns--;
	slot.pid = 0;
	cr_assert(!process_is_gone(&slot));
	slot.pid = 4194305;
	cr_assert(process_is_gone(&slot));
}
