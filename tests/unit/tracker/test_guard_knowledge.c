/* knowledge.h: what a program that an agent started to write knows of a file. */
#include "guard_case.h"
#include "tracker/guard/knowledge.h"

static uint64_t agent;             /* the scope of the agent; the writer's is `scope` */
static uint64_t AGE = 60000000000; /* of the agent; its helper began half of that ago */

/* An agent and a helper of it below, which writes. */
static void start_helper(void)
{
	struct context of_agent = { .flags = CONTEXT_ATTACHED | CONTEXT_AGENT, .role = ROLE_AGENT };

	start();
	agent = world_scope(&world, "agent");
	scope_set_head(&world.segment, agent, agent);
	scope_set_head(&world.segment, scope, agent);
	of_agent.scope_id = agent;
	/* Processes that are no more: the time in the table counts. */
	(void)add_process(0x7ffffe, PROCESS_ATTACHED, AGE, 0, &of_agent);
	context.flags |= CONTEXT_NESTED;
	context.scope_id = scope;
	writer.serial = add_process(0x7fffff, PROCESS_ATTACHED, AGE / 2, 0, &context);
	world.settings->notice_burst_ms = 1;
	world_fill(&world, "f", 100, 1);
	record_file("f");
}

TestSuite(guard_knowledge, .init = start_helper, .fini = stop);

static void read_by(uint64_t scope_id, const char *name)
{
	struct version version = version_now(name);
	baseline_read(&world.segment, scope_id, key_of_file(name), &version);
}

/* The clock goes on by more than a burst. */
static void wait_burst(void)
{
	uint64_t now = sys_boottime_ns();
	while (sys_boottime_ns() - now < 2000000)
		;
}

static struct knowledge knowledge(const char *name)
{
	struct version before = version_now(name);
	struct knowledge found;
	knowledge_find(&world.segment, &writer, key_of_file(name), &before, &found);
	return found;
}

Test(guard_knowledge, of_the_agent_that_started_it)
{
	deliver_to(agent, "f");
	cr_assert(knowledge("f").is_before);
	cr_assert_eq(knowledge("f").scope_id, agent);
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_FRESH);
	world_fill(&world, "f", 100, 2);
	cr_assert(knowledge("f").is_known && !knowledge("f").is_before);
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_STALE, GUARD_WARN, 0);
}

Test(guard_knowledge, of_no_scope)
{
	struct version before = version_now("f");
	struct knowledge found;

	cr_assert(!knowledge("f").is_known);
	/* What the session knows stands in. */
	deliver_to(BASELINE_SESSION, "f");
	cr_assert(knowledge("f").is_known && knowledge("f").is_before);
	/* A writer without a scope knows nothing. */
	writer.scope_id = 0;
	knowledge_find(&world.segment, &writer, key_of_file("f"), &before, &found);
	cr_assert(!found.is_known && !found.is_before && !found.scope_id);
}

Test(guard_knowledge, one_that_no_agent_started_knows_its_own)
{
	deliver_to(agent, "f");
	context.flags &= ~(uint32_t)CONTEXT_NESTED;
	cr_assert(!knowledge("f").is_known);
	context.flags |= CONTEXT_NESTED;
	scope_set_head(&world.segment, scope, 0);
	cr_assert(!knowledge("f").is_known, "nor one whose agent is not known");
}

/* What it was given itself counts before its agent's. */
Test(guard_knowledge, its_own)
{
	deliver_to(agent, "f");
	world_fill(&world, "f", 100, 2);
	deliver_to(scope, "f");
	cr_assert(knowledge("f").is_before);
	cr_assert_eq(knowledge("f").scope_id, scope);
}

/* What it only read tells nothing of what its agent's model knows. */
Test(guard_knowledge, what_it_only_read)
{
	deliver_to(agent, "f");
	world_fill(&world, "f", 100, 2);
	read_by(scope, "f");
	wait_burst();
	cr_assert_eq(knowledge("f").scope_id, agent);
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_STALE, GUARD_WARN, 0);
}

/* One that was refused, and reads on, has a conversation of its own. */
Test(guard_knowledge, one_that_was_refused_and_reads)
{
	struct version first = version_now("f");

	deliver_to(agent, "f");
	world_fill(&world, "f", 100, 2);
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_STALE, GUARD_WARN, 0);
	cr_assert_eq(knowledge("f").scope_id, agent);
	struct version baseline = knowledge("f").baseline;
	cr_assert(version_equal(&first, &baseline));
	wait_burst();
	read_by(scope, "f");
	wait_burst();
	cr_assert_eq(knowledge("f").scope_id, scope);
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_FRESH);
	/* One that read before it was refused is not. */
	world_fill(&world, "g", 100, 1);
	record_file("g");
	deliver_to(agent, "g");
	world_fill(&world, "g", 100, 2);
	read_by(scope, "g");
	wait_burst();
	ASSERT_ANSWER(check("g", GUARD_REPLACES), GUARD_STALE, GUARD_WARN, 0);
	cr_assert_eq(knowledge("g").scope_id, agent, "what it had read is forgotten");
}

Test(guard_knowledge, a_refusal_by_its_own_is_not_noted)
{
	struct version before, kept;

	deliver_to(scope, "f");
	world_fill(&world, "f", 100, 2);
	before = version_now("f");
	knowledge_note_refusal(&world.segment, &writer, key_of_file("f"), &before);
	cr_assert(baseline_of(&world.segment, scope, key_of_file("f"), &kept), "it is its own");
	baseline_forget(&world.segment, scope, key_of_file("f"));
	knowledge_note_refusal(&world.segment, &writer, key_of_file("f"), &before);
	cr_assert(!knowledge("f").is_known);
}

/* Where one conversation of it was refused after what was read, that was not read for it. */
Test(guard_knowledge, one_that_was_refused_behind_its_read)
{
	struct version version;

	deliver_to(agent, "f");
	world_fill(&world, "f", 100, 2);
	version = version_now("f");
	read_by(scope, "f");
	wait_burst();
	baseline_given(&world.segment, scope_id_of(scope, "refused by what its agent knew"),
		       key_of_file("f"), &version);
	cr_assert_eq(knowledge("f").scope_id, agent);
}

/* What the agent read right before it started the helper, it read to write: its model does not know that. */
Test(guard_knowledge, what_the_agent_read_to_write)
{
	struct version before = version_now("f"), baseline;
	struct process_slot *slot = segment_slot(&world.segment, TABLE_PROCESSES, 1), copy;

	uint64_t start_ns = sys_boottime_ns();
	read_by(agent, "f");
	must(slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES));
	copy.time_ns = sys_boottime_ns();
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	/* Longer than between both, and over by the time of the write. */
	world.settings->notice_burst_ms = (copy.time_ns - start_ns) / 1000000 + 5;
	while (sys_boottime_ns() - copy.time_ns <= (world.settings->notice_burst_ms + 1) * 1000000)
		;
	cr_assert(baseline_of(&world.segment, agent, key_of_file("f"), &baseline));
	cr_assert(!knowledge("f").is_known);
	cr_assert_eq(knowledge("f").scope_id, agent);
	knowledge_note_refusal(&world.segment, &writer, key_of_file("f"), &before);
	cr_assert(!knowledge("f").is_known);
}

/* Another helper of the agent: what it came to know when this one was there says nothing of why this one was started. */
Test(guard_knowledge, of_another_helper)
{
	uint64_t sibling = world_scope(&world, "sibling"), stranger = world_scope(&world, "c");

	scope_set_head(&world.segment, sibling, agent);
	deliver_to(stranger, "f"); /* another agent's: not asked */
	cr_assert(!knowledge("f").is_known);
	deliver_to(sibling, "f");
	cr_assert_eq(knowledge("f").scope_id, sibling, "this one knows nothing of its own");
	read_by(scope, "f");
	wait_burst();
	cr_assert_eq(knowledge("f").scope_id, scope, "it was given since this one began");
	/* One that knew it before this one began: as if it had started now. */
	struct process_slot *slot = segment_slot(&world.segment, TABLE_PROCESSES, 1), copy;
	must(slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES));
	copy.time_ns = sys_boottime_ns();
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	cr_assert_eq(knowledge("f").scope_id, sibling);
	/* The one of several that knows what is there counts. */
	world_fill(&world, "f", 100, 2);
	deliver_to(agent, "f");
	cr_assert(knowledge("f").is_before);
	cr_assert_eq(knowledge("f").scope_id, agent);
}

/* A scope's slot that is being written is passed over. */
Test(guard_knowledge, of_a_scope_that_is_written)
{
	struct scope_slot *slot, copy;

	deliver_to(agent, "f");
	slot = scope_find(&world.segment, agent);
	must(slot_acquire(slot, &copy, SCOPE_CHECKED_BYTES));
	cr_assert(!knowledge("f").is_known);
	slot_abandon(slot, &copy, SCOPE_CHECKED_BYTES);
	cr_assert(knowledge("f").is_known);
}

/* What was let pass, or refused for another reason, was no refusal of what its agent knew. */
Test(guard_knowledge, one_that_passed_and_reads)
{
	deliver_to(agent, "f");
	world_fill(&world, "f", 100, 2);
	ASSERT_PASSES(check("f", GUARD_APPENDS), GUARD_STALE);
	wait_burst();
	read_by(scope, "f");
	wait_burst();
	cr_assert_eq(knowledge("f").scope_id, agent);
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_STALE, GUARD_WARN, 0);
}
