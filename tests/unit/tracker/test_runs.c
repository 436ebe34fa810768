/* runs.h: the runs of a session, and which of them live. */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "support.h"
#include "tracker/process/runs.h"

static struct world world;

static void start(void)
{
	world_open(&world, NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(runs, .init = start, .fini = stop);

static bool lives(uint32_t run)
{
	const struct context context = { .flags = run };

	return process_run_lives(&world.segment, &context);
}

Test(runs, one_lives_until_it_ends)
{
	uint32_t first = process_begin_run(&world.segment),
		 second = process_begin_run(&world.segment);

	cr_assert(first && second && first != second);
	cr_assert(lives(first) && lives(second));
	cr_assert(process_is_only_run(&world.segment), "both are this process's");
	process_end_run(&world.segment, first);
	cr_assert(!lives(first) && lives(second));
	cr_assert(lives(0), "of no run that is known");
}

Test(runs, there_is_room_for_so_many)
{
	uint64_t behind = 0;

	for (int i = 0; i < SEGMENT_RUNS; i++)
		cr_assert_neq(process_begin_run(&world.segment), 0);
	cr_assert_eq(process_begin_run(&world.segment), 0);
	/* what lies behind the runs is none */
	uint32_t run = (uint32_t)(world.segment.header->runs[3] & 0xffff) << CONTEXT_RUN_SHIFT;
	behind = world.segment.header->unreported = world.segment.header->runs[3];
	world.segment.header->runs[3] = 0;
	cr_assert_not(lives(run));
	process_end_run(&world.segment, run);
	cr_assert_eq(world.segment.header->unreported, behind);
}

static int run_and_die(void *data)
{
	*(uint32_t *)data = process_begin_run(&world.segment);
	return lives(*(uint32_t *)data) && !process_is_only_run(&world.segment) ? 0 : 1;
}

Test(runs, one_that_died_gives_its_place)
{
	uint32_t *run = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t own = process_begin_run(&world.segment);

	must(run != MAP_FAILED);
	for (int i = 0; i < 2 * SEGMENT_RUNS; i++) {
		cr_assert_eq(in_child(run_and_die, run), 0);
		cr_assert_not(lives(*run));
		cr_assert(process_is_only_run(&world.segment));
	}
	cr_assert(lives(own));
	must(munmap(run, 4096) == 0);
}
