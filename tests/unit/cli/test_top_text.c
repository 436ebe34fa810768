/* top_text.h: numbers that fit into a few columns. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/top/top_text.h"

static void number_is(const char *text, const char *expected, size_t columns)
{
	cr_expect_str_eq(text, expected);
	cr_expect_leq(strlen(text), columns, "%s", text);
}

Test(top_text, numbers)
{
	char text[TOP_NUMBER_BYTES];

	number_is(top_size(0, text), "0 B", 7);
	number_is(top_size(9999, text), "9,999 B", 7);
	number_is(top_size(10000, text), "9.8 KiB", 7);
	number_is(top_size(10240, text), "10 KiB", 7);
	number_is(top_size(1023 * 1024, text), "1.0 MiB", 7);
	number_is(top_size(UINT64_MAX, text), "16 EiB", 7);
	number_is(top_count(0, text), "0", 6);
	number_is(top_count(99999, text), "99,999", 6);
	number_is(top_count(100000, text), "100k", 6);
	number_is(top_count(9999999, text), "9999k", 6);
	number_is(top_count(10000000, text), "10M", 6);
	number_is(top_count(UINT64_MAX, text), "18E", 6);
	number_is(top_per_second(0.04, text), "0", 6);
	number_is(top_per_second(0.25, text), "0.2", 6);
	number_is(top_per_second(9.94, text), "9.9", 6);
	number_is(top_per_second(9.96, text), "10", 6);
	number_is(top_per_second(1234567, text), "1234k", 6);
	number_is(top_span(0, text), "0s", 4);
	number_is(top_span(59, text), "59s", 4);
	number_is(top_span(60, text), "1m", 4);
	number_is(top_span(3599, text), "59m", 4);
	number_is(top_span(86399, text), "23h", 4);
	number_is(top_span(86400 * 5000u, text), "999d", 4);
	number_is(top_clock(0, text), "0:00:00", 9);
	number_is(top_clock(3661, text), "1:01:01", 9);
	number_is(top_clock(UINT64_MAX, text), "999d", 9);
}
