/* Times for people: see clock.h. */
#include "cli/base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t NS_PER_SECOND = 1000000000u;

static bool is_utc;

void clock_use_utc(void)
{
	is_utc = true;
}

struct tm *clock_parts(time_t seconds, struct tm *ret_parts)
{
	return is_utc ? gmtime_r(&seconds, ret_parts) : localtime_r(&seconds, ret_parts);
}

time_t clock_seconds(struct tm *parts)
{
	if (is_utc)
		return timegm(parts);
	parts->tm_isdst = -1; /* whether it is summer then is for the zone to say */
	return mktime(parts);
}

static bool parts_at(uint64_t realtime_ns, struct tm *ret_parts)
{
	return realtime_ns && clock_parts((time_t)(realtime_ns / NS_PER_SECOND), ret_parts);
}

const char *clock_hours(uint64_t realtime_ns, char ret_text[CLOCK_WORD_BYTES])
{
	struct tm parts;

	if (!parts_at(realtime_ns, &parts) ||
	    !strftime(ret_text, CLOCK_WORD_BYTES, "%H:%M:%S", &parts))
		(void)snprintf(ret_text, CLOCK_WORD_BYTES, "-");
	return ret_text;
}

const char *clock_day(uint64_t realtime_ns, char ret_text[CLOCK_WORD_BYTES])
{
	struct tm parts;

	if (!parts_at(realtime_ns, &parts) ||
	    !strftime(ret_text, CLOCK_WORD_BYTES, "%Y-%m-%d", &parts))
		(void)snprintf(ret_text, CLOCK_WORD_BYTES, "-");
	return ret_text;
}

const char *clock_zone(uint64_t realtime_ns, char ret_text[CLOCK_WORD_BYTES])
{
	struct tm parts;
	long minutes = clock_parts((time_t)(realtime_ns / NS_PER_SECOND), &parts)
			       ? parts.tm_gmtoff / 60
			       : 0;

	if (minutes)
		(void)snprintf(ret_text, CLOCK_WORD_BYTES, "%c%02ld:%02ld", minutes < 0 ? '-' : '+',
			       labs(minutes) / 60 % 100, labs(minutes) % 60);
	else
		(void)snprintf(ret_text, CLOCK_WORD_BYTES, "UTC");
	return ret_text;
}

int clock_stamp_columns(void)
{
	char zone[CLOCK_WORD_BYTES];
	bool is_short = clock_zone((uint64_t)time(NULL) * NS_PER_SECOND, zone)[0] == 'U';

	return (int)sizeof("YYYY-MM-DDThh:mm:ss.mmm") - 1 +
	       (int)(is_short ? sizeof("Z") : sizeof("+hh:mm")) - 1;
}

const char *clock_stamp(uint64_t realtime_ns, char *ret_text)
{
	char day[CLOCK_WORD_BYTES], hours[CLOCK_WORD_BYTES], zone[CLOCK_WORD_BYTES];

	ret_text[0] = '\0';
	if (realtime_ns)
		(void)snprintf(ret_text, TEXT_TIME_BYTES, "%.10s%c%.8s.%03u%.6s",
			       clock_day(realtime_ns, day), 'T', clock_hours(realtime_ns, hours),
			       (unsigned)(realtime_ns / 1000000u % 1000u),
			       clock_zone(realtime_ns, zone)[0] == 'U' ? "Z" : zone);
	return ret_text;
}
