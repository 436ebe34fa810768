/* The time by the processor's counter: see ticks.h. */
#include "tracker/sys/ticks.h"

#include <string.h>

#include "tracker/sys/sys.h"

#if defined(__x86_64__)

enum {
	TICKS_LEAST = 1 << 16, /* some 20 microseconds: shorter tells no speed */
	TICKS_MOST = 1 << 21,  /* some 700 microseconds: the clock is read again */
	READ_TICKS_MOST =
		1
		<< 11, /* reading the clock takes a tenth of this, unless another thread comes between */
	OFF_NS_MOST = 2000,
	STRIKES_MOST = 16,
};

static const uint64_t ELAPSED_MOST = UINT64_C(1) << 31; /* so that nothing below overflows */

/* What is known of the clock.  `sequence` is odd while a thread changes it; who finds it so, or
 * changed, reads the clock. */
static struct {
	uint32_t sequence;
	uint32_t strikes;
	uint64_t ticks, realtime_ns; /* when it was read; 0: never */
	uint64_t ns_per_tick;        /* with 32 bits behind the point */
	uint64_t valid_ticks; /* so long after that it holds; 0: the speed is not known yet */
} known;

static inline uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* What came since the clock was read last.  Called by one at a time. */
static void learn(uint64_t ticks, uint64_t realtime_ns)
{
	uint64_t elapsed = ticks - load(&known.ticks);
	uint64_t passed_ns = realtime_ns - load(&known.realtime_ns);
	uint64_t valid_ticks = 0;

	/* The other way round one of both is a number beyond. */
	if (load(&known.ticks) && elapsed < ELAPSED_MOST && passed_ns < ELAPSED_MOST) {
		if (elapsed < TICKS_LEAST)
			return;
		uint64_t ticks_ns = elapsed * load(&known.ns_per_tick) >> 32;
		uint64_t off_ns = ticks_ns > passed_ns ? ticks_ns - passed_ns
						       : passed_ns - ticks_ns;
		/* After a pause a small error of the speed is a large one of the time: that says
		 * nothing. */
		if (!load(&known.valid_ticks) || elapsed / 2 > load(&known.valid_ticks) ||
		    off_ns <= OFF_NS_MOST) {
			store(&known.ns_per_tick, (passed_ns << 32) / elapsed);
			valid_ticks = elapsed < TICKS_MOST ? elapsed : TICKS_MOST;
		} else {
			known.strikes++;
		}
	}
	store(&known.ticks, ticks);
	store(&known.realtime_ns, realtime_ns);
	store(&known.valid_ticks, valid_ticks);
}

/* Reads the clock, and learns from it. */
static __attribute__((noinline)) uint64_t read_clock(void)
{
	if (__atomic_load_n(&known.strikes, __ATOMIC_RELAXED) >= STRIKES_MOST)
		return sys_realtime_ns();
	uint64_t before = __builtin_ia32_rdtsc();
	uint64_t realtime_ns = sys_realtime_ns();
	uint64_t after = __builtin_ia32_rdtsc();
	uint32_t sequence = __atomic_load_n(&known.sequence, __ATOMIC_RELAXED);

	if (after - before > READ_TICKS_MOST || (sequence & 1) ||
	    !__atomic_compare_exchange_n(&known.sequence, &sequence, sequence + 1, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return realtime_ns;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	learn(before + (after - before) / 2, realtime_ns);
	__atomic_store_n(&known.sequence, sequence + 2, __ATOMIC_RELEASE);
	return realtime_ns;
}

uint64_t ticks_realtime_ns(void)
{
	uint32_t sequence = __atomic_load_n(&known.sequence, __ATOMIC_ACQUIRE);
	uint64_t elapsed = __builtin_ia32_rdtsc() - load(&known.ticks);
	uint64_t ticks_ns = load(&known.realtime_ns) + (elapsed * load(&known.ns_per_tick) >> 32);
	uint64_t valid_ticks = load(&known.valid_ticks);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (elapsed < valid_ticks && !(sequence & 1) &&
	    __atomic_load_n(&known.sequence, __ATOMIC_RELAXED) == sequence)
		return ticks_ns;
	return read_clock();
}

bool ticks_are_sound(void)
{
	static const char TSC[] = "tsc\n";
	char name[32];

	return sys_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			     name, sizeof(name)) > 0 &&
	       strcmp(name, TSC) == 0;
}

#else

uint64_t ticks_realtime_ns(void)
{
	return sys_realtime_ns();
}

bool ticks_are_sound(void)
{
	return false;
}

#endif
