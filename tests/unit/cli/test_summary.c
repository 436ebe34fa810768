/* summary.h: the line about writes. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/session/summary.h"

static struct summary summary;
static char line[SUMMARY_WRITES_BYTES];

Test(summary, nothing_to_say_of_writes)
{
	summary.counters[COUNTER_opens_write] = 7;
	summary.contents_bytes = 1000; /* of an earlier run */
	cr_assert_str_eq(summary_writes(&summary, line), "");
}

Test(summary, one_write)
{
	summary.counters[COUNTER_stale_warned] = 1;
	cr_assert_str_eq(summary_writes(&summary, line), "1 warned of");
	summary.counters[COUNTER_edits_outside] = 1;
	summary.counters[COUNTER_contents_kept] = 1;
	summary.contents_bytes = 1234;
	cr_assert_str_eq(summary_writes(&summary, line),
			 "1 warned of, 1 external change, 1 version kept (1,234 bytes)");
}

Test(summary, all_of_writes)
{
	static const enum counter COUNTERS[] = {
		COUNTER_stale_warned,  COUNTER_stale_denied,    COUNTER_unread_warned,
		COUNTER_unread_denied, COUNTER_notices_refused, COUNTER_unguarded,
		COUNTER_edits_outside, COUNTER_contents_kept,   COUNTER_lost_contents,
	};
	for (size_t i = 0; i < sizeof(COUNTERS) / sizeof(COUNTERS[0]); i++)
		summary.counters[COUNTERS[i]] = i + 2;
	cr_assert_str_eq(summary_writes(&summary, line),
			 "6 warned of, 8 denied, 6 notices refused, 7 not checked, "
			 "8 external changes, 9 versions kept (0 bytes), "
			 "10 versions that could not be kept");
}

Test(summary, the_longest_line_of_writes_fits)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		summary.counters[i] = UINT64_MAX / 2;
	summary.contents_bytes = UINT64_MAX;
	size_t length = strlen(summary_writes(&summary, line));
	cr_assert_gt(length, 200);
	cr_assert_lt(length, SUMMARY_WRITES_BYTES - 1);
	cr_assert_str_eq(line + length - strlen("be kept"), "be kept");
}
