/* ticks.h: the time by the processor's counter is that of the clock, also where that is set, stands or runs wild. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/sys/sys.h"
#include "tracker/sys/ticks.h"

enum { OFF_NS_MAX = 20000, TURNS = 2000000 };

static uint64_t clock_reads;
static uint64_t set_forward_ns;
static bool is_wild;

static int counted_clock(clockid_t clock, struct timespec *ret_time)
{
	int ret = clock_gettime(clock, ret_time);
	uint64_t ns = (uint64_t)ret_time->tv_sec * 1000000000u + (uint64_t)ret_time->tv_nsec;

	clock_reads++;
	ns += set_forward_ns;
	if (is_wild && ((ns >> 16) & 1))
		ns += 300000;
	ret_time->tv_sec = (time_t)(ns / 1000000000u);
	ret_time->tv_nsec = (long)(ns % 1000000000u);
	return ret;
}

static void start(void)
{
	sys_clock_gettime = counted_clock;
}

static void stop(void)
{
	sys_clock_gettime = clock_gettime;
}

TestSuite(ticks, .init = start, .fini = stop, .timeout = 60);

/* How often, of so many turns, the time does not lie between two readings of the clock. */
static uint64_t count_off(uint64_t turns)
{
	uint64_t off = 0;

	for (uint64_t i = 0; i < turns; i++) {
		uint64_t before = sys_realtime_ns(), measured = ticks_realtime_ns(),
			 after = sys_realtime_ns();
		off += measured + OFF_NS_MAX < before || measured > after + OFF_NS_MAX;
	}
	return off;
}

Test(ticks, tell_what_the_clock_says)
{
	cr_assert_eq(count_off(TURNS), 0);
}

Test(ticks, seldom_read_the_clock)
{
	if (!ticks_are_sound())
		cr_skip_test("the kernel's clock is not the processor's counter");
	for (int i = 0; i < TURNS; i++)
		(void)ticks_realtime_ns();
	cr_assert_lt(clock_reads, TURNS / 10, "%lu", clock_reads);
}

Test(ticks, follow_a_clock_that_is_set)
{
	(void)count_off(TURNS / 10);
	set_forward_ns = UINT64_C(3600000000000);
	must(usleep(10000) == 0); /* longer than what was learned holds */
	cr_assert_eq(count_off(TURNS / 10), 0);
	set_forward_ns = 0;
	must(usleep(10000) == 0);
	cr_assert_eq(count_off(TURNS / 10), 0, "back, too");
}

Test(ticks, give_up_beside_a_clock_that_disagrees)
{
	is_wild = true;
	(void)count_off(TURNS);
	uint64_t reads = clock_reads;
	for (int i = 0; i < 1000; i++)
		(void)ticks_realtime_ns();
	cr_assert_eq(clock_reads - reads, 1000);
}

static int in_copy(void *data)
{
	(void)data;
	return count_off(TURNS / 10) == 0 ? 0 : 1;
}

Test(ticks, hold_in_a_copy_of_the_process)
{
	(void)count_off(TURNS / 10);
	cr_assert_eq(in_child(in_copy, NULL), 0);
}
