/* cli/journal/events: filters. */
#include "events_case.h"

TestSuite(events, .init = init, .fini = finish);

TestSuite(event_filter, .init = init, .fini = finish);

/* ---- filters ---- */

static struct event_filter filter = { .workspace = "/w", .role = -1 };

static bool is_wanted(void)
{
	return event_filter_match(&filter, &event);
}

Test(event_filter, path)
{
	static const struct {
		const char *glob, *resolved, *given;
		bool match;
	} CASES[] = {
		{ "a.c", "/w/a.c", "a.c", true },
		{ "a.c", "/w/src/a.c", "a.c", true },
		{ "a.c", "/w/src/ba.c", "ba.c", false },
		{ "*.c", "/w/src/a.c", "a.c", true },
		{ "src/*.c", "/w/src/a.c", "a.c", true },
		{ "src/*.c", "/w/lib/src/a.c", "a.c", true },
		{ "src/*.c", "/w/src/lib/a.c", "a.c", false },
		{ "src", "/w/src/lib/a.c", "a.c", true },
		{ "sr", "/w/src/lib/a.c", "a.c", false },
		{ "w/src", "/w/src/a.c", "a.c", false },
		{ "/w/src", "/w/src/a.c", "a.c", true },
		{ "/w/*/a.c", "/w/src/a.c", "a.c", true },
		{ "/src", "/w/src/a.c", "a.c", false },
		{ "passwd", "/etc/passwd", "/etc/passwd", true },
		{ "/etc/**", "/etc/passwd", "/etc/passwd", true },
		{ "/etc/**", "/w/etc/passwd", "/etc/passwd", false },
		{ "a.c", NULL, "a.c", true },
		{ "a.c", NULL, "lib/a.c", true },
		{ "lib/a.c", NULL, "a.c", false },
		{ "a.c", NULL, "b/../a.c", false },
		{ "a.c", NULL, "..", false },
		{ "/w/a.c", NULL, "a.c", false },
		{ "/w/a.c", NULL, "/w/a.c", false },
		{ "/a.c", NULL, "a.c", false },
		{ "src/", "/w/src/a.c", "a.c", false },
		{ "/", "/w/src/a.c", "a.c", false },
		{ "a.c", NULL, NULL, false },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		event = (struct event){ .op = JOURNAL_OPEN,
					.resolved = CASES[i].resolved,
					.path = CASES[i].given };
		filter.path = CASES[i].glob;
		cr_assert_eq(is_wanted(), CASES[i].match, "%s %s", CASES[i].glob,
			     CASES[i].resolved ? CASES[i].resolved : "-");
	}
	event = (struct event){ .op = JOURNAL_RENAME,
				.resolved = "/w/a",
				.other_resolved = "/w/New" };
	filter.path = "New";
	cr_assert(is_wanted());
	filter.path = "new";
	cr_assert_not(is_wanted());
	filter.fold = true;
	cr_assert(is_wanted());
	event.op = JOURNAL_SYMLINK;
	cr_assert_not(is_wanted());
}

Test(event_filter, who_and_what)
{
	event = (struct event){ .op = JOURNAL_OPEN,
				.pid = 5,
				.role = ROLE_TOOL,
				.error = ENOENT,
				.executable = "/usr/bin/cc1",
				.time_realtime_ns = 100 };
	cr_assert(is_wanted());
#define SET(member, yes, no) \
	do { \
		struct event_filter saved = filter; \
		filter.member = (yes); \
		cr_assert(is_wanted(), #member); \
		filter.member = (no); \
		cr_assert_not(is_wanted(), #member); \
		filter = saved; \
	} while (0)
	SET(pid, 5, 6);
	SET(role, ROLE_TOOL, ROLE_AGENT);
	event.source = SOURCE_TOOL;
	SET(source, SOURCE_TOOL, SOURCE_AGENT);
	SET(ops, UINT64_C(1) << JOURNAL_OPEN, UINT64_C(1) << JOURNAL_READ);
	SET(executable, "cc*", "usr*");
	SET(since_realtime_ns, 100, 101);
	SET(until_realtime_ns, 100, 99);
	SET(denied, false, true);
	filter.failed = true;
	cr_assert(is_wanted());
	event.error = EROFS;
	filter.denied = true;
	cr_assert(is_wanted());
	event.error = 0;
	filter.denied = false;
	cr_assert_not(is_wanted());
	filter.failed = false;
	event.time_realtime_ns = 0;
	SET(pid, 5, 6);
	filter.until_realtime_ns = UINT64_MAX;
	cr_assert_not(is_wanted(), "no time is no time before");
}

Test(event_filter, sources)
{
	enum source source;

	for (uint32_t i = SOURCE_NONE + 1; i < SOURCE_COUNT; i++) {
		cr_assert_not_null(source_name(i));
		cr_assert_eq(event_filter_source(source_name(i), &source), 0);
		cr_assert_eq(source, i);
	}
	cr_assert_null(source_name(SOURCE_NONE));
	cr_assert_null(source_name(SOURCE_COUNT));
	cr_assert_eq(event_filter_source("", &source), -EINVAL);
	cr_assert_eq(event_filter_source("agent", &source), -EINVAL);
}

/* A write that the guard refused fails with whatever errno says it best. */
Test(event_filter, a_refused_write_is_denied)
{
	struct journal_entry entry = { .record = journal_blank(JOURNAL_GUARDED) };

	event = (struct event){ .op = JOURNAL_GUARDED, .error = ESTALE, .entry = &entry };
	entry.record.decision = GUARD_DENY;
	cr_assert(event_is_denied(&event));
	entry.record.decision = GUARD_WARN;
	cr_assert_not(event_is_denied(&event));
	event.op = JOURNAL_OPEN;
	entry.record.decision = GUARD_DENY;
	cr_assert_not(event_is_denied(&event));
}

Test(event_filter, ops)
{
	char unknown[8];
	uint64_t ops;

	cr_assert_eq(event_filter_ops("open,damaged", &ops, unknown, sizeof(unknown)), 0);
	cr_assert_eq(ops, UINT64_C(1) << JOURNAL_OPEN | UINT64_C(1) << EVENT_DAMAGED);
	static const char *const WRONG[] = {
		"", "opens", "open,", ",open", "text", "abandoned", "open,wrong-and-long"
	};
	for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++)
		cr_assert_eq(event_filter_ops(WRONG[i], &ops, unknown, sizeof(unknown)), -EINVAL);
	cr_assert_str_eq(unknown, "wrong-a");
}

Test(event_filter, times)
{
	static const uint64_t NOW = UINT64_C(1700000000) * 1000000000u;
	static const struct {
		const char *text;
		uint64_t ns; /* 0: refused */
	} CASES[] = {
		{ "10m", UINT64_C(1699999400000000000) },
		{ "2h", UINT64_C(1699992800000000000) },
		{ "3d", UINT64_C(1699740800000000000) },
		{ "0s", UINT64_C(1700000000000000000) },
		{ "2023-11-14 22:13", UINT64_C(1699999980000000000) },
		{ "2023-11-14 22:13:20", UINT64_C(1700000000000000000) },
		{ "2023-11-14T22:13:20Z", UINT64_C(1700000000000000000) },
		{ "2023-11-14t22:13:20.5z", UINT64_C(1700000000500000000) },
		{ "2023-11-14T22:13:20.1234567899Z", UINT64_C(1700000000123456789) },
		{ "2023-11-15T00:13:20+02:00", UINT64_C(1700000000000000000) },
		{ "2023-11-14T16:43:20-05:30", UINT64_C(1700000000000000000) },
		{ "2016-12-31T23:59:60Z", UINT64_C(1483228800000000000) },
		{ "22:13", UINT64_C(1699999980000000000) }, /* it is 22:13:20 */
		{ "22:13:20", UINT64_C(1700000000000000000) },
		{ "22:13:21", UINT64_C(1699913601000000000) }, /* yesterday */
		{ "00:00", UINT64_C(1699920000000000000) },
		{ "24:00", 0 },
		{ "22:60", 0 },
		{ "22:13:60", 0 },
		{ "22:1", 0 },
		{ "22:13:", 0 },
		{ "22:13Z", 0 },
		{ "", 0 },
		{ "m", 0 },
		{ "10", 0 },
		{ "10w", 0 },
		{ "10mm", 0 },
		{ "-10m", 0 },
		{ "99999999999999999999h", 0 },
		{ "400000000h", 0 },
		{ "2023-11-14", 0 },
		{ "2023-11-14 22", 0 },
		{ "2023-13-14 22:13", 0 },
		{ "2023-02-29 22:13", 0 },
		{ "2023-11-14 24:13", 0 },
		{ "2023-11-14 22:60", 0 },
		{ "2023-11-14 22:13:60", 0 },
		{ "2023-11-14 22:13:20.", 0 },
		{ "2023-11-14 22:13:20+2:00", 0 },
		{ "2023-11-14 22:13:20+02:00x", 0 },
		{ "0001-01-01 00:00", 0 },
		{ "9999-01-01 00:00", 0 },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		uint64_t ns = 0;
		int error = event_filter_time(CASES[i].text, NOW, &ns);
		cr_assert_eq(error, CASES[i].ns ? 0 : -EINVAL, "%s", CASES[i].text);
		cr_assert_eq(ns, CASES[i].ns, "%s: %llu", CASES[i].text, (unsigned long long)ns);
	}
}
