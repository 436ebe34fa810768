/* other_way.h: what a scope's commands and its agent's read tool give is held against each other. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/answer/line_range.h"
#include "tracker/answer/other_way.h"
#include "tracker/sys/sys.h"

static struct world world;
static uint64_t agent;
static const uint64_t KEY = 77;
static const struct version FIRST = { 1, 2, 3 }, SECOND = { 2, 3, 4 };

static void start(void)
{
	world_open(&world, NULL);
	agent = world_scope(&world, "a");
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(other_way, .init = start, .fini = stop);

Test(other_way, a_command_beside_the_read_tool)
{
	struct request request = world_request(&world, agent);

	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &FIRST, 0));
	other_way_note(&world.segment, agent, KEY, &FIRST);
	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &FIRST, 0));
	cr_assert(other_way_gave_other(&world.segment, &request, KEY, &SECOND, 0));
	/* Before what is asked about. */
	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &SECOND, UINT64_MAX));
	/* That a file was removed is no version of it. */
	other_way_note(&world.segment, agent, KEY, &(struct version){ 0 });
	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &SECOND, 0));
	/* A scope that is not on record notes nothing. */
	other_way_note(&world.segment, agent + 1, KEY, &FIRST);
	request.context.scope_id = agent + 1;
	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &SECOND, 0));
}

Test(other_way, the_read_tool_beside_commands)
{
	struct request request = { .is_in_process = true };
	struct moment moment = moment_now(&world.segment, agent,
					  scope_request(&world.segment, agent), 0,
					  world_command(&world));

	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &FIRST, 0));
	request.agent_scope_id = agent;
	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &FIRST, 0));
	must(delivery_record(&world.segment, KEY, &SECOND, &moment) == 0);
	cr_assert(other_way_gave_other(&world.segment, &request, KEY, &FIRST, 0));
	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &SECOND, 0));
}

/* Lines that a command printed, since. */
Test(other_way, the_read_tool_beside_lines)
{
	struct request request = { .is_in_process = true, .agent_scope_id = agent };
	struct moment moment = moment_now(&world.segment, agent,
					  scope_request(&world.segment, agent), 0,
					  world_command(&world));

	must(line_range_record(&world.segment, KEY, &SECOND, 9, &(struct span){ 1, 2 }, 1,
			       &moment) == 0);
	cr_assert(other_way_gave_other(&world.segment, &request, KEY, &FIRST, 0));
	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &SECOND, 0));
	cr_assert_not(other_way_gave_other(&world.segment, &request, KEY, &FIRST, moment.time_ns));
}
