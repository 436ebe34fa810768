/*
 * The time of day, cheaper than by the clock: what the processor counts since the clock was last
 * read, at the speed that it counted at until then.
 *
 * The clock's own time is read at least once a millisecond of writing, and every time that a caller
 * asks after a pause; so the result is off by some ten nanoseconds, and where the clock is set, or
 * the machine slept, for a millisecond at most.  Only where the kernel itself takes its time from
 * that counter (ticks_are_sound()): it watches whether all processors count alike.  If the result
 * does not agree with the clock again and again, this process reads the clock alone from then on.
 *
 * Lock-free; async-signal-safe; for use between vfork and exec.
 */
#ifndef SEEN_TRACKER_TICKS_H
#define SEEN_TRACKER_TICKS_H

#include <stdbool.h>
#include <stdint.h>

/* ticks_realtime_ns(): nanoseconds since 1970, as sys_realtime_ns(). */
uint64_t ticks_realtime_ns(void);

/* ticks_are_sound(): does the kernel take its time from the processor's counter?  Reads a file; for
 * the program. */
bool ticks_are_sound(void);

#endif
