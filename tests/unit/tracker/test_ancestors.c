/* ancestors.h: what the processes above one are. */
#include "process_case.h"
#include "tracker/process/process_slot.h"
#include "tracker/sys/sys.h"

TestSuite(ancestors, .init = start, .fini = stop);

/* Slots of this process, one of which is of an earlier program. */
static void fill_slot(uint64_t index, uint32_t role, uint64_t time_ns)
{
	struct process_slot copy, *slot = process_slot_at(&world.segment, index);

	must(slot && slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES));
	copy.serial = segment_serial(&world.segment);
	copy.pid = (uint32_t)getpid();
	copy.state = PROCESS_ATTACHED;
	copy.time_ns = time_ns;
	copy.context.role = role;
	copy.context.process_ns = process_pid_ns();
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
}

static int has_an_agent(void *data)
{
	struct process_slot agent = { .time_ns = 0 };

	(void)data;
	new_stdout();
	return ancestors_find_agent(&world.segment, SUBJECT_SELF, &agent) &&
			       agent.pid == (uint32_t)getppid()
		       ? 1
		       : 0;
}

Test(ancestors, a_process_is_the_program_that_it_runs_now)
{
	uint64_t now_ns = sys_boottime_ns();

	fill_slot(0, ROLE_AGENT, now_ns);
	fill_slot(1, ROLE_TOOL, now_ns + 1);
	cr_assert_eq(in_child(has_an_agent, NULL), 0);
	fill_slot(1, ROLE_AGENT, now_ns + 1);
	fill_slot(0, ROLE_TOOL, now_ns);
	cr_assert_eq(in_child(has_an_agent, NULL), 1);
	fill_slot(0, ROLE_TOOL, now_ns + 2);
	cr_assert_eq(in_child(has_an_agent, NULL), 0);
}

/* A program that is not observed, and starts another. */
static char ticket_of_agent[TICKET_BYTES];

static int below_an_unobserved(void *data)
{
	struct me me = attach(ticket_of_agent + 7, "/bin/bash", SHELL);

	(void)data;
	must(me.context.flags & CONTEXT_AGENT);
	must(me.context.anchor_pid == (uint32_t)getppid());
	must(process_anchor_alive(SUBJECT_SELF, &me.context, 0));
	must(segment_counter(&world.segment, COUNTER_processes_unattached) == 0);
	return 0;
}

static int unobserved_agent(void *data)
{
	struct me root = *(const struct me *)data;

	must(process_announce(&world.segment, SUBJECT_SELF, &root.context, root.ref, getpid(),
			      "/usr/bin/codex", AGENT, ticket_of_agent)
		     .serial != 0);
	return in_child(below_an_unobserved, NULL);
}

static int root_with_an_unobserved_agent(void)
{
	struct me root = attach(NULL, "/usr/bin/make", TOOL);

	must(root.ref.serial != 0 && !(root.context.flags & CONTEXT_AGENT));
	return in_child(unobserved_agent, &root);
}

Test(ancestors, an_agent_that_is_not_observed_has_what_it_starts)
{
	IN_CHILD(root_with_an_unobserved_agent);
}
