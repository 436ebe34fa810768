/* Which events are wanted: see event_filter.h. */
#include "cli/journal/event_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cli/base/clock.h"
#include "tracker/guard/guard.h"
#include "tracker/path/glob.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

_Static_assert(EVENT_OP_COUNT <= 64, "a bit for each");

static const uint64_t NS_PER_SECOND = 1000000000u;

/* ---- what is asked for ---- */

/* Is it one of these words?  words: separated by a space. */
static bool is_among(const char *words, const char *word, size_t length)
{
	while (*words) {
		size_t next = strcspn(words, " ");
		if (next == length && strncmp(words, word, length) == 0)
			return true;
		words += next + (words[next] == ' ');
	}
	return false;
}

/* The ops that a word stands for; 0: it is none. */
static uint64_t ops_of(const char *word, size_t length)
{
	uint64_t ops = 0;

	for (unsigned op = JOURNAL_NONE + 1; op < EVENT_OP_COUNT; op++) {
		const struct op *info = op_info(op);
		if (info->traits & OP_NO_EVENT)
			continue;
		if (is_among(event_op_name(op), word, length) ||
		    (info->words && is_among(info->words, word, length)))
			ops |= UINT64_C(1) << op;
	}
	return ops;
}

int event_filter_ops(const char *words, uint64_t *ret_ops, char *ret_unknown, size_t capacity)
{
	uint64_t ops = 0;

	for (const char *at = words;; at++) {
		size_t length = strcspn(at, ",");
		uint64_t more = ops_of(at, length);
		if (!more) {
			(void)snprintf(ret_unknown, capacity, "%.*s", (int)length, at);
			return -EINVAL;
		}
		ops |= more;
		at += length;
		if (!*at)
			break;
	}
	*ret_ops = ops;
	return 0;
}

int event_filter_role(const char *word, int *ret_role)
{
	for (int role = 0; role < ROLE_COUNT; role++) {
		if (strcmp(word, role_name((uint32_t)role)) == 0) {
			*ret_role = role;
			return 0;
		}
	}
	return -EINVAL;
}

int event_filter_source(const char *word, enum source *ret_source)
{
	for (int source = SOURCE_NONE + 1; source < SOURCE_COUNT; source++) {
		if (strcmp(word, source_name((uint32_t)source)) == 0) {
			*ret_source = (enum source)source;
			return 0;
		}
	}
	return -EINVAL;
}

/* Digits, `count` of them, as a number. */
static bool parse_digits(const char **at, int count, int *ret_number)
{
	int number = 0;
	for (int i = 0; i < count; i++, (*at)++) {
		if (!isdigit((unsigned char)**at))
			return false;
		number = number * 10 + (**at - '0');
	}
	*ret_number = number;
	return true;
}

static bool parse(const char **at, char byte)
{
	bool there = **at == byte;
	*at += there;
	return there;
}

/* A fraction of a second: at least one digit, those beyond nanoseconds are dropped. */
static bool parse_fraction(const char **at, uint64_t *ret_ns)
{
	uint64_t ns = 0, scale = NS_PER_SECOND / 10;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++, scale /= 10)
		ns += (uint64_t)(**at - '0') * scale;
	*ret_ns = ns;
	return true;
}

/* `Z`, or the distance from UTC as `+02:00` (RFC 3339, section 5.6). */
static bool parse_zone(const char **at, int *ret_seconds)
{
	int hours, minutes;
	char sign = **at;

	*ret_seconds = 0;
	if (parse(at, 'Z') || parse(at, 'z'))
		return true;
	if (sign != '+' && sign != '-')
		return false;
	++*at;
	if (!parse_digits(at, 2, &hours) || !parse(at, ':') || !parse_digits(at, 2, &minutes) ||
	    hours > 23 || minutes > 59)
		return false;
	*ret_seconds = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
	return true;
}

static int absolute_time(const char *text, uint64_t *ret_realtime_ns)
{
	const char *at = text;
	struct tm parts = { .tm_isdst = 0 };
	uint64_t fraction_ns = 0;
	int zone_s = 0;

	if (!parse_digits(&at, 4, &parts.tm_year) || !parse(&at, '-') ||
	    !parse_digits(&at, 2, &parts.tm_mon) || !parse(&at, '-') ||
	    !parse_digits(&at, 2, &parts.tm_mday) ||
	    (!parse(&at, 'T') && !parse(&at, 't') && !parse(&at, ' ')) ||
	    !parse_digits(&at, 2, &parts.tm_hour) || !parse(&at, ':') ||
	    !parse_digits(&at, 2, &parts.tm_min))
		return -EINVAL;
	if (parse(&at, ':') && (!parse_digits(&at, 2, &parts.tm_sec) ||
				(parse(&at, '.') && !parse_fraction(&at, &fraction_ns))))
		return -EINVAL;
	bool has_zone = *at != '\0';
	if (has_zone && (!parse_zone(&at, &zone_s) || *at))
		return -EINVAL;
	parts.tm_year -= 1900;
	parts.tm_mon -= 1;
	struct tm given = parts;
	time_t seconds = timegm(&parts);
	/* timegm() makes a date of what is none: the 31st of April, the 61st minute.  A leap
	 * second is one. */
	if (given.tm_sec == 60
		    ? given.tm_hour != 23 || given.tm_min != 59
		    : parts.tm_mon != given.tm_mon || parts.tm_mday != given.tm_mday ||
			      parts.tm_hour != given.tm_hour || parts.tm_min != given.tm_min ||
			      parts.tm_sec != given.tm_sec)
		return -EINVAL;
	seconds = has_zone ? seconds - zone_s : clock_seconds(&given);
	if (seconds <= 0 || (uint64_t)seconds >= UINT64_MAX / NS_PER_SECOND)
		return -EINVAL;
	*ret_realtime_ns = (uint64_t)seconds * NS_PER_SECOND + fraction_ns;
	return 0;
}

/* "16:20" or "16:20:05": the last time that a clock showed that. */
static int clock_time(const char *text, uint64_t now_realtime_ns, uint64_t *ret_realtime_ns)
{
	const char *at = text;
	struct tm parts;
	int hour = 0, minute = 0, second = 0;

	if (!parse_digits(&at, 2, &hour) || !parse(&at, ':') || !parse_digits(&at, 2, &minute) ||
	    (parse(&at, ':') && !parse_digits(&at, 2, &second)) || *at || hour > 23 ||
	    minute > 59 || second > 59)
		return -EINVAL;
	time_t now_s = (time_t)(now_realtime_ns / NS_PER_SECOND), at_s = now_s + 1;
	for (int days = 0; days < 2 && at_s > now_s; days++) {
		if (!clock_parts(now_s, &parts))
			return -EINVAL;
		parts.tm_mday -= days;
		parts.tm_hour = hour;
		parts.tm_min = minute;
		parts.tm_sec = second;
		at_s = clock_seconds(&parts);
	}
	if (at_s <= 0)
		return -EINVAL;
	*ret_realtime_ns = (uint64_t)at_s * NS_PER_SECOND;
	return 0;
}

int event_filter_time(const char *text, uint64_t now_realtime_ns, uint64_t *ret_realtime_ns)
{
	static const struct {
		char unit;
		uint32_t seconds;
	} UNITS[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	uint64_t number = strtoull(text, &end, 10);
	if (errno == 0 && end[0] && !end[1]) {
		for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
			if (end[0] != UNITS[i].unit)
				continue;
			uint64_t unit_ns = UNITS[i].seconds * NS_PER_SECOND;
			if (number >= now_realtime_ns / unit_ns)
				return -EINVAL;
			*ret_realtime_ns = now_realtime_ns - number * unit_ns;
			return 0;
		}
	}
	return clock_time(text, now_realtime_ns, ret_realtime_ns) == 0
		       ? 0
		       : absolute_time(text, ret_realtime_ns);
}

/* ---- what there is ---- */

bool event_path_in_new_root(const char *path)
{
	static const char ROOT[] = "/newroot/";

	return strncmp(path, ROOT, sizeof(ROOT) - 1) == 0;
}

const char *event_path_below(const char *workspace, const char *path, bool fold)
{
	size_t length = workspace ? strlen(workspace) : 0;

	if (length == 0)
		return NULL;
	if (length == 1) /* the workspace is "/" */
		return path + 1;
	if ((fold ? strncasecmp(path, workspace, length) : strncmp(path, workspace, length)) != 0 ||
	    (path[length] != '/' && path[length] != '\0'))
		return NULL;
	return path[length] == '/' ? path + length + 1 : path + length;
}

const char *event_path_shown(const char *workspace, const char *path)
{
	const char *below = event_path_below(workspace, path, false);
	return !below ? path : below[0] ? below : ".";
}

/* Does a path that is not resolved tell where it ends?  Not with `..` in it, and not where it
 * was cut. */
static bool has_plain_ending(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || at[2] == '\0'))
			return false;
	}
	return path[0] != '\0';
}

static bool name_matches(const struct event_filter *filter, const char *resolved, const char *given)
{
	const char *relative = given;

	if (resolved) {
		relative = filter->path[0] == '/'
				   ? NULL
				   : event_path_below(filter->workspace, resolved, filter->fold);
		relative = relative ? relative : resolved + 1;
	} else if (!given || filter->path[0] == '/' || !has_plain_ending(given)) {
		return false;
	}
	return path_matches_glob(filter->path, relative, filter->fold);
}

static bool names_match(const struct event_filter *filter, const struct event *event)
{
	bool two = op_info(event->op)->traits & OP_TWO_NAMES;

	return name_matches(filter, event->resolved, event->cut ? NULL : event->path) ||
	       (two &&
		name_matches(filter, event->other_resolved, event->cut ? NULL : event->other));
}

bool event_is_denied(const struct event *event)
{
	return event->error == EACCES || event->error == EPERM || event->error == EROFS ||
	       (event->op == JOURNAL_GUARDED && event->entry->record.decision == GUARD_DENY);
}

bool event_filter_match(const struct event_filter *filter, const struct event *event)
{
	if (filter->ops && !(event->op < EVENT_OP_COUNT && filter->ops >> event->op & 1))
		return false;
	if (filter->pid && event->pid != filter->pid)
		return false;
	if (filter->role >= 0 && event->role != filter->role)
		return false;
	if (filter->source && event->source != filter->source)
		return false;
	if ((filter->since_realtime_ns || filter->until_realtime_ns) && !event->time_realtime_ns)
		return false;
	if (filter->since_realtime_ns && event->time_realtime_ns < filter->since_realtime_ns)
		return false;
	if (filter->until_realtime_ns && event->time_realtime_ns > filter->until_realtime_ns)
		return false;
	if ((filter->failed && !event->error) || (filter->denied && !event_is_denied(event)))
		return false;
	if (filter->executable &&
	    (!event->executable ||
	     !path_glob(filter->executable, path_base(event->executable), false)))
		return false;
	return !filter->path || names_match(filter, event);
}
