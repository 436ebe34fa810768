/* limits.h: what an agent passes on, by its profile, and half of it where its version was not measured. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/answer/limits.h"

static struct output_limits limits_with(const char *lines, const char *line_bytes,
					const char *measured, bool is_version)
{
	struct world world;

	world_open(&world, lines, line_bytes, measured, NULL);
	struct output_limits limits = limits_of_profile(
		&world.segment, &world.settings->profiles[world.profile - 1], is_version);
	world_close(&world);
	return limits;
}

Test(limits, of_a_profile)
{
	static const char LINES[] = "agent world.max_output_lines=100",
			  LINE_BYTES[] = "agent world.max_line_bytes=500",
			  NO_LINES[] = "agent world.max_output_lines=0",
			  NO_LINE_BYTES[] = "agent world.max_line_bytes=0",
			  VERSION[] = "agent world.measured=1.2", EACH[] = "agent world.measured=*";
	struct output_limits limits = limits_with(LINES, LINE_BYTES, EACH, false);

	cr_expect(limits.is_measured);
	cr_expect_eq(limits.bytes, 24000);
	cr_expect_eq(limits.lines, 100);
	cr_expect_eq(limits.line_bytes, 500);
	limits = limits_with(LINES, LINE_BYTES, VERSION, true);
	cr_expect_eq(limits.bytes, 24000);
	cr_expect_eq(limits.lines, 100);
	cr_expect_eq(limits.line_bytes, 500);
	limits = limits_with(LINES, LINE_BYTES, VERSION, false);
	cr_expect_eq(limits.bytes, 12000);
	cr_expect_eq(limits.lines, 50);
	cr_expect_eq(limits.line_bytes, 250);
	/* the half of no limit is none */
	limits = limits_with(NO_LINES, NO_LINE_BYTES, VERSION, false);
	cr_expect_eq(limits.bytes, 12000);
	cr_expect_eq(limits.lines, UINT64_MAX);
	cr_expect_eq(limits.line_bytes, UINT64_MAX);
}
