/*
 * Times for people: of their time zone, or UTC where --utc asks for that.  Times for programs are
 * UTC in any case (text.h).
 */
#ifndef SEEN_CLI_CLOCK_H
#define SEEN_CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "cli/base/text.h"

enum { CLOCK_WORD_BYTES = 16 };

/* clock_use_utc(): UTC from now on, here and in times that a person gives. */
void clock_use_utc(void);

/* clock_stamp(): RFC 3339 with milliseconds and the distance from UTC, "Z" for none; "" for 0.
 * Returns ret_text, TEXT_TIME_BYTES long. */
const char *clock_stamp(uint64_t realtime_ns, char *ret_text);

/* clock_stamp_columns(): how wide a column of such stamps is to be. */
int clock_stamp_columns(void);

/* clock_hours(): "16:20:05"; "-" for 0.  clock_day(): "2026-01-31" likewise.  clock_zone(): the
 * distance from UTC at that time, "+01:00"; "UTC" for none.
 * Return ret_text, CLOCK_WORD_BYTES long. */
const char *clock_hours(uint64_t realtime_ns, char ret_text[CLOCK_WORD_BYTES]);
const char *clock_day(uint64_t realtime_ns, char ret_text[CLOCK_WORD_BYTES]);
const char *clock_zone(uint64_t realtime_ns, char ret_text[CLOCK_WORD_BYTES]);

/* clock_parts(): a time as its parts.  Returns ret_parts; NULL: it has none.  clock_seconds(): the
 * reverse, as mktime(3), which makes parts that are too large or small fit; -1 likewise. */
struct tm *clock_parts(time_t seconds, struct tm *ret_parts);
time_t clock_seconds(struct tm *parts);

#endif
