/* line_range.h: parts that were given in another order than they lie, or of other versions. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/answer/line_range.h"

static struct world world;
static uint64_t scope;

enum { KEY = 77, LINES = 100 };
static const struct version VERSION = { 1, 2, 3 }, OTHER = { 4, 5, 6 };

static void start(void)
{
	world_open(&world, NULL);
	scope = world_scope(&world, "a");
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(line_range_order, .init = start, .fini = stop);

static struct moment next(void)
{
	return moment_now(&world.segment, scope, scope_request(&world.segment, scope), 0,
			  world_command(&world));
}

static void deliver(const struct moment *moment, const struct version *version, uint64_t first,
		    uint64_t last)
{
	must(line_range_record(&world.segment, KEY, version, LINES, &(struct span){ first, last },
			       1, moment) == 0);
}

static bool has(const struct moment *moment, uint64_t first, uint64_t last)
{
	struct version version;
	return line_range_has(&world.segment, KEY, moment, BYTES(24000), 0,
			      &(struct span){ first, last }, &version);
}

/* One output's parts that do not meet stay apart; what lies between joins them. */
Test(line_range_order, backwards_in_one_output)
{
	struct moment moment = next();

	deliver(&moment, &VERSION, 61, 70);
	deliver(&moment, &VERSION, 1, 10);
	cr_assert(has(&moment, 1, 10) && has(&moment, 61, 70));
	cr_assert_not(has(&moment, 1, 11) || has(&moment, 60, 70) || has(&moment, 1, 70));
	deliver(&moment, &VERSION, 11, 60);
	cr_assert(has(&moment, 1, 70));
}

/* The first that was given is the oldest, wherever it lies; the last one is the youngest. */
Test(line_range_order, times)
{
	struct moment late = next(), early = late, earliest = late;

	early.time_ns = late.time_ns - 1000;
	early.command_id = world_command(&world);
	earliest.time_ns = late.time_ns - 2000;
	earliest.command_id = world_command(&world);
	cr_assert_eq(line_range_since(&world.segment, KEY, &late), 0);
	deliver(&late, &VERSION, 1, 10);
	cr_assert_eq(line_range_since(&world.segment, KEY, &late), late.time_ns);
	deliver(&earliest, &VERSION, 21, 30);
	cr_assert_eq(line_range_since(&world.segment, KEY, &late), earliest.time_ns);
	deliver(&early, &VERSION, 41, 50);
	cr_assert_eq(line_range_since(&world.segment, KEY, &late), earliest.time_ns);
	/* lines of another version were given until the last of these */
	cr_assert(line_range_is_other(&world.segment, KEY, &late, &OTHER, late.time_ns - 1));
	cr_assert_not(line_range_is_other(&world.segment, KEY, &late, &OTHER, late.time_ns));
	cr_assert_not(line_range_is_other(&world.segment, KEY, &late, &VERSION, 0));
	struct moment now = next();
	deliver(&now, &OTHER, 1, 10);
	cr_assert(line_range_is_other(&world.segment, KEY, &now, &OTHER, late.time_ns - 1));
	cr_assert_not(line_range_is_other(&world.segment, KEY, &now, &OTHER, late.time_ns));
}

/* What is damaged was given to no model: there is nothing to be forgotten, and it is left alone. */
Test(line_range_order, invalidated_where_it_is_damaged)
{
	struct moment moment = next();
	struct line_range_slot *slot = NULL;

	deliver(&moment, &VERSION, 1, 10);
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_LINE_RANGES]; i++) {
		struct line_range_slot *one = segment_slot(&world.segment, TABLE_LINE_RANGES, i);
		slot = one->file_key == KEY ? one : slot;
	}
	cr_assert_not_null(slot);
	slot->head.check ^= 1;
	cr_assert_eq(line_range_forget(&world.segment, scope, KEY), 0);
	slot->head.check ^= 1;
	cr_assert_eq(line_range_forget(&world.segment, scope, KEY), 1);
}
