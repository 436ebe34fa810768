/* events.h, event_filter.h: what is joined, what is resolved and what is not known; damaged and hostile journals. */
#include "events_case.h"

TestSuite(events, .init = init, .fini = finish);

TestSuite(event_filter, .init = init, .fini = finish);

/* ---- writing ---- */

/* A name relative to a descriptor that a record opened. */
static uint32_t append_at(enum journal_op op, uint32_t process, uint32_t opened, const char *name)
{
	struct journal_record record = blank(op, process, name);
	record.directory_fd = 3;
	record.directory = opened;
	record.fd = op == JOURNAL_OPEN ? 3 : -1;
	return append(record);
}

/* ---- reading ---- */

Test(events, who)
{
	uint32_t process = start(100, "/w");
	struct journal_record record = blank(JOURNAL_OPEN, process, "/w/x");
	record.head.error = EACCES;
	record.tid = 101;
	record.time_realtime_ns = 5;
	uint32_t number = append(record);

	next(JOURNAL_START);
	cr_assert_eq(event.process, process);
	cr_assert_eq(event.pid, 100);
	cr_assert_str_eq(event.executable, "/usr/bin/cc");
	next(JOURNAL_OPEN);
	cr_assert_eq(event.number, number);
	cr_assert_eq(event.process, process);
	cr_assert_eq(event.pid, 100);
	cr_assert_eq(event.tid, 101);
	cr_assert_eq(event.parent_pid, 1);
	cr_assert_eq(event.role, ROLE_TOOL);
	cr_assert_eq(event.scope_id, 7);
	cr_assert_eq(event.epoch, 70);
	cr_assert_eq(event.error, EACCES);
	cr_assert_eq(event.time_realtime_ns, 5);
	cr_assert_str_eq(event.executable, "/usr/bin/cc");
	cr_assert_str_eq(events_workspace(events), "/w");
	cr_assert_eq(events_next(events, &event), EVENTS_END);
}

Test(events, a_program_is_joined_with_its_announcement)
{
	uint32_t process = start(100, "/w");
	struct journal_record record = blank(JOURNAL_EXEC, process, "/bin/a");
	record.amount = 2000; /* pid * 10: start() */
	uint32_t exec = append(record);
	start(200, "/w");
	record = blank(JOURNAL_EXEC_FAILED, process, NULL);
	record.amount = 3000;
	append(record);

	next(JOURNAL_EXEC);
	next(JOURNAL_START);
	cr_assert_eq(event.exec, exec);
	next(JOURNAL_EXEC_FAILED);
	cr_assert_eq(event.exec, 0);
}

Test(events, relative_names)
{
	uint32_t process = start(100, "/w");
	append_name(JOURNAL_DELETE, process, "a");
	append_name(JOURNAL_DELETE, process, "./b//../c/.");
	append_name(JOURNAL_DELETE, process, "/x/../y");
	append_name(JOURNAL_DELETE, process, "../../../z");
	append_name(JOURNAL_DELETE, process, "");
	struct journal_record elsewhere = blank(JOURNAL_DELETE, process, "a");
	elsewhere.directory = text("/elsewhere");
	append(elsewhere);
	append_name(JOURNAL_EXEC, process, "found-through-path");
	append_name(JOURNAL_EXEC, process, "./here");
	append_name(JOURNAL_UNOBSERVED, 0, "name");
	append_name(JOURNAL_UNOBSERVED, 0, "/memfd:name");
	struct journal_record pattern = blank(JOURNAL_LIST, process, "*.c");
	pattern.marks = JOURNAL_PATTERN;
	append(pattern);

	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_str_eq(event.directory, "/w");
	cr_assert_str_eq(event.path, "a");
	next_is(JOURNAL_DELETE, "/w/c");
	next_is(JOURNAL_DELETE, "/y");
	next_is(JOURNAL_DELETE, "/z");
	next_is(JOURNAL_DELETE, NULL);
	next_is(JOURNAL_DELETE, "/elsewhere/a");
	next_is(JOURNAL_EXEC, NULL);
	next_is(JOURNAL_EXEC, "/w/here");
	next_is(JOURNAL_UNOBSERVED, NULL);
	cr_assert_str_eq(event.program, "name");
	cr_assert_null(event.path);
	next_is(JOURNAL_UNOBSERVED, NULL);
	cr_assert_str_eq(event.program, "/memfd:name");
	next_is(JOURNAL_LIST, NULL);
}

Test(events, without_a_directory_nothing_is_known)
{
	uint32_t process = start(100, "/w");
	directory =
		NULL; /* the library did not know it then; where the process was before says nothing */
	append_name(JOURNAL_DELETE, process, "a");
	append_name(JOURNAL_CHDIR, process, "/now");
	append_name(JOURNAL_DELETE, process, "a");
	directory = "(unreachable)/w";
	append_name(JOURNAL_DELETE, process, "a");
	append_name(JOURNAL_DELETE, process, "/a");
	directory = "/told";
	append_name(JOURNAL_DELETE, 0, "a");
	struct journal_record none = blank(JOURNAL_DELETE, process, "a");
	none.directory_fd = -1; /* unlinkat(-1, "a"): no directory, though there is a text */
	append(none);

	next_is(JOURNAL_DELETE, NULL);
	next_is(JOURNAL_DELETE, NULL);
	next_is(JOURNAL_DELETE, NULL);
	next_is(JOURNAL_DELETE, "/a");
	next_is(JOURNAL_DELETE, "/told/a");
	cr_assert_eq(event.process, 0);
	cr_assert_eq(event.role, -1);
	next_is(JOURNAL_DELETE, NULL);
}

Test(events, chdir_tells_its_directory)
{
	uint32_t process = start(100, "/w");
	uint32_t top = append_name(JOURNAL_OPEN, process, "/top");
	struct journal_record by_descriptor = blank(JOURNAL_CHDIR, process, "d");
	by_descriptor.directory_fd = 3; /* as of the open of "d" */
	by_descriptor.directory = top;
	by_descriptor.fd = 5;

	append_name(JOURNAL_CHDIR, process, "sub");
	append(by_descriptor);
	by_descriptor = blank(JOURNAL_CHDIR, process, NULL);
	by_descriptor.fd = 6;
	append(by_descriptor);

	next_is(JOURNAL_CHDIR, "/w/sub");
	next_is(JOURNAL_CHDIR, "/top/d");
	next_is(JOURNAL_CHDIR, NULL);
}

Test(events, names_relative_to_a_descriptor)
{
	uint32_t process = start(100, "/w");
	uint32_t d = append_name(JOURNAL_OPEN, process, "d");
	uint32_t l = append_name(JOURNAL_LIST, process, "l");
	append_at(JOURNAL_DELETE, process, d, "x");
	append_at(JOURNAL_DELETE, process, d, "../x");
	append_at(JOURNAL_DELETE, process, d, "/x");
	append_at(JOURNAL_DELETE, process, 0, "x");
	append_at(JOURNAL_DELETE, process, append_at(JOURNAL_OPEN, process, l, "../e/./f"), "x");

	next_is(JOURNAL_DELETE, "/w/d/x");
	cr_assert_str_eq(event.directory, "/w/d");
	next_is(JOURNAL_DELETE, "/w/x");
	next_is(JOURNAL_DELETE, "/x");
	next_is(JOURNAL_DELETE, NULL);
	next_is(JOURNAL_DELETE, "/w/e/f/x");
	cr_assert_str_eq(event.directory, "/w/e/f");
}

Test(events, a_second_name_is_relative_to_its_own_directory)
{
	uint32_t process = start(100, "/w");
	uint32_t d = append_name(JOURNAL_OPEN, process, "d");
	uint32_t l = append_name(JOURNAL_LIST, process, "l");
	struct journal_record both = blank(JOURNAL_RENAME, process, "old");
	both.directory_fd = 3;
	both.directory = d;
	both.other_path = text("new");
	both.fd = 4;
	static const struct {
		enum journal_op op;
		int fd;
		bool is_text;
		uint64_t more; /* added to the number */
		const char *other;
	} CASES[] = {
		{ JOURNAL_RENAME, 4, false, 0, "/w/l/new" },
		{ JOURNAL_LINK, 4, false, 0, "/w/l/new" },
		{ JOURNAL_LINK, AT_FDCWD, true, 0, "/now/new" },
		{ JOURNAL_RENAME, AT_FDCWD, false, 0, NULL }, /* a record where a text should be */
		{ JOURNAL_RENAME, 4, true, 0, NULL },
		{ JOURNAL_RENAME, 4, false, (uint64_t)1 << 32, NULL }, /* not cut to 32 bits */
		{ JOURNAL_RENAME, AT_FDCWD, true, (uint64_t)1 << 32, NULL },
		{ JOURNAL_SYMLINK, AT_FDCWD, true, 0,
		  NULL }, /* it has a target, and no second name */
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		both.head.op = (uint8_t)CASES[i].op;
		both.fd = CASES[i].fd;
		both.amount = (CASES[i].is_text ? text("/now") : l) + CASES[i].more;
		both.time_realtime_ns = 0;
		append(both);
	}
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		next_is(CASES[i].op, "/w/d/old");
		if (CASES[i].other)
			cr_assert_str_eq(event.other_resolved ? event.other_resolved : "none",
					 CASES[i].other, "%zu", i);
		else
			cr_assert_null(event.other_resolved, "%zu: %s", i, event.other_resolved);
	}
}

/* What rm -r makes of a deep tree. */
Test(events, directories_opened_relative_to_each_other)
{
	enum { DEEP = 1000, TOO_DEEP = 1100 };
	uint32_t process = start(100, "/w");
	uint32_t opened = append_name(JOURNAL_OPEN, process, "d");
	for (int i = 1; i <= TOO_DEEP; i++) {
		if (i == DEEP)
			append_at(JOURNAL_DELETE, process, opened, "x");
		opened = append_at(JOURNAL_OPEN, process, opened, "d");
	}
	append_at(JOURNAL_DELETE, process, opened, "x");

	next(JOURNAL_DELETE);
	cr_assert_eq(strlen(event.resolved), strlen("/w/x") + 2 * DEEP);
	next_is(JOURNAL_DELETE, NULL);
}

Test(events, what_opened_no_directory_is_none)
{
	uint32_t process = start(100, "/w");
	struct journal_record failed = blank(JOURNAL_OPEN, process, "d");
	failed.head.error = EACCES;
	struct journal_record pattern = blank(JOURNAL_LIST, process, "*");
	pattern.marks = JOURNAL_PATTERN;
	const uint32_t OPENED[] = { append(failed),
				    append(pattern),
				    append_name(JOURNAL_OPEN, process, NULL),
				    append_name(JOURNAL_OPEN, process, ""),
				    append_name(JOURNAL_DELETE, process, "d"),
				    append_vforked(JOURNAL_OPEN, process, 300, "d"),
				    text("/w/text"),
				    process };

	for (size_t i = 0; i < sizeof(OPENED) / sizeof(OPENED[0]); i++)
		append_at(JOURNAL_CREATE, process, OPENED[i], "x");
	for (size_t i = 0; i < sizeof(OPENED) / sizeof(OPENED[0]); i++)
		next_is(JOURNAL_CREATE, NULL);
}

Test(events, an_open_that_comes_later_or_is_itself_is_none)
{
	uint32_t process = start(100, "/w");
	(void)text("/d");
	uint32_t later = append_at(JOURNAL_DELETE, process, 0, "d") + 2;
	cr_assert_eq(append_at(JOURNAL_DELETE, process, later, "d"), later - 1);
	cr_assert_eq(append_at(JOURNAL_OPEN, process, 0, "/d"), later);
	cr_assert_eq(append_at(JOURNAL_OPEN, process, later + 1, "d"), later + 1);

	next(JOURNAL_DELETE);
	next_is(JOURNAL_DELETE, NULL);
	next_is(JOURNAL_OPEN, "/d");
	next_is(JOURNAL_OPEN, NULL);
}

Test(events, a_read_has_the_path_of_its_open)
{
	uint32_t process = start(100, "/w");
	struct journal_record read = blank(JOURNAL_READ, process, "a");
	append_name(JOURNAL_CHDIR, process, "/elsewhere");
	read.fd = 3;
	append(read); /* where the process is now does not matter */
	append_vforked(JOURNAL_DELETE, process, 300, "x");
	read = blank(JOURNAL_METADATA, process, "b");
	read.directory = 0;
	read.tid = 300;
	read.marks = JOURNAL_VFORKED;
	read.fd = 3;
	append(read); /* nor where a child is */

	next_is(JOURNAL_READ, "/w/a");
	next_is(JOURNAL_DELETE, "/elsewhere/x");
	next_is(JOURNAL_METADATA, NULL);
}

Test(events, fork)
{
	uint32_t process = start(100, "/w");
	uint32_t opened = append_name(JOURNAL_OPEN, process, "d");
	directory = "/w/sub";
	uint32_t child = copy_of(process, 200);
	append_name(JOURNAL_DELETE, child, "a");
	append_at(JOURNAL_DELETE, child, opened, "a"); /* its starter's descriptor */
	append_vforked(JOURNAL_DELETE, child, 300, "a");
	append_vforked(JOURNAL_DELETE, process, 301, "a");

	next(JOURNAL_FORK);
	cr_assert_eq(event.pid, 200);
	cr_assert_str_eq(event.executable, "/usr/bin/cc");
	cr_assert_str_eq(event.directory, "/w/sub");
	next_is(JOURNAL_DELETE, "/w/sub/a");
	cr_assert_eq(event.pid, 200);
	next_is(JOURNAL_DELETE, "/w/d/a");
	next_is(JOURNAL_DELETE, "/w/sub/a");
	cr_assert_eq(event.parent_pid, 200);
	next_is(JOURNAL_DELETE, "/w/a");
}

/* Where a child between vfork and exec begins. */
Test(events, a_vforked_child_begins_where_its_parent_is)
{
	uint32_t process = start(100, "/w");
	struct journal_record failed = blank(JOURNAL_CHDIR, process, "none");
	failed.head.error = ENOENT;
	uint32_t top = append_name(JOURNAL_OPEN, process, "/top");
	struct journal_record by_descriptor = blank(JOURNAL_CHDIR, process, "d");
	by_descriptor.directory_fd = 3;
	by_descriptor.directory = top;
	by_descriptor.fd = 5;
	struct journal_record read = blank(JOURNAL_READ, process, "r");
	read.fd = 3;

	append_vforked(JOURNAL_DELETE, process, 300, "a");
	append_name(JOURNAL_CHDIR, process, "sub");
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	append(read); /* was opened elsewhere */
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	failed.directory = text("/w/sub");
	append(failed);
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	append(by_descriptor);
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	by_descriptor.path = by_descriptor.directory = 0;
	by_descriptor.time_realtime_ns = 0;
	append(by_descriptor);
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	directory = "/told";
	append_name(JOURNAL_CREATE, process, "b");
	append_vforked(JOURNAL_DELETE, process, 300, "a");

	next_is(JOURNAL_DELETE, "/w/a");
	next_is(JOURNAL_DELETE, "/w/sub/a");
	next_is(JOURNAL_DELETE, "/w/sub/a");
	next_is(JOURNAL_DELETE, "/w/sub/a");
	next_is(JOURNAL_DELETE, "/top/d/a");
	next_is(JOURNAL_DELETE, NULL);
	next_is(JOURNAL_DELETE, "/told/a");
}

Test(events, a_vforked_child_that_renames)
{
	uint32_t process = start(100, "/w");
	append_vforked(JOURNAL_CHDIR, process, 300, "sub");
	append_vforked(JOURNAL_CHDIR, process, 300, "../deep/er");
	struct journal_record both = blank(JOURNAL_RENAME, process, "old");
	both.directory = 0;
	both.tid = 300;
	both.marks = JOURNAL_VFORKED;
	both.other_path = text("new");
	both.fd = AT_FDCWD;
	append(both);
	both.fd = both.directory_fd = 4; /* a descriptor that may be its own */
	both.time_realtime_ns = 0;
	append(both);

	next_is(JOURNAL_CHDIR, "/w/sub");
	next_is(JOURNAL_CHDIR, "/w/deep/er");
	cr_assert_str_eq(event.directory, "/w/sub");
	next_is(JOURNAL_RENAME, "/w/deep/er/old");
	cr_assert_str_eq(event.other_resolved, "/w/deep/er/new");
	next_is(JOURNAL_RENAME, NULL);
	cr_assert_null(event.other_resolved);
}

Test(events, a_vforked_child_has_a_place_of_its_own)
{
	uint32_t process = start(100, "/w");
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	append_vforked(JOURNAL_CHDIR, process, 300, "/child");
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	append_name(JOURNAL_DELETE, process, "a");
	append_vforked(JOURNAL_DELETE, process, 301, "a");
	append_vforked(JOURNAL_EXEC, process, 300, "./x");
	append_vforked(JOURNAL_EXEC_FAILED, process, 300, NULL);
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	append_vforked(JOURNAL_EXEC, process, 300, "./x");
	append_vforked(JOURNAL_DELETE, process, 300, "a"); /* another child with its number */

	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert(event.vforked);
	cr_assert_eq(event.pid, 300);
	cr_assert_eq(event.parent_pid, 100);
	next_is(JOURNAL_DELETE, "/child/a");
	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_eq(event.pid, 100);
	next_is(JOURNAL_DELETE, "/w/a");
	next_is(JOURNAL_EXEC, "/child/x");
	next_is(JOURNAL_DELETE, "/child/a");
	next_is(JOURNAL_EXEC, "/child/x");
	next_is(JOURNAL_DELETE, "/w/a");
}

Test(events, more_vforked_children_than_are_remembered)
{
	uint32_t process = start(100, "/w"), other = start(101, "/w");
	append_vforked(JOURNAL_CHDIR, process, 299, "/child");
	append_vforked(JOURNAL_EXEC, process, 299, "/x"); /* goes first */
	for (uint32_t i = 0; i < EVENT_VFORKED_MAX; i++)
		append_vforked(JOURNAL_CHDIR, process, 300 + i, "/child");
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	append_vforked(JOURNAL_DELETE, process, 900, "a");
	append_vforked(JOURNAL_CHDIR, other, 300, "/other");
	append_vforked(JOURNAL_DELETE, process, 300, "a");
	append_vforked(JOURNAL_DELETE, process, 301, "a");
	append_vforked(JOURNAL_DELETE, other, 301, "a");
	append_vforked(JOURNAL_DELETE, other, 300, "a");
	append_vforked(JOURNAL_EXIT, other, 300, NULL);
	append_vforked(JOURNAL_DELETE, other, 300, "a");
	append_name(JOURNAL_DELETE, process, "a");

	next_is(JOURNAL_DELETE, "/child/a");
	next_is(JOURNAL_DELETE, "/w/a");
	next_is(JOURNAL_DELETE, NULL); /* not /w/a */
	next_is(JOURNAL_DELETE, "/child/a");
	next_is(JOURNAL_DELETE, "/w/a");
	next_is(JOURNAL_DELETE, "/other/a");
	next_is(JOURNAL_DELETE, "/w/a");
	next_is(JOURNAL_DELETE, "/w/a");
}

Test(events, an_epoch_ends_where_everything_is_invalidated)
{
	uint32_t process = start(100, "/w");
	struct journal_record invalidated = blank(JOURNAL_FORGOTTEN, 0, "/w/x");
	append(invalidated);
	invalidated.path = 0;
	invalidated.amount = 8;
	append(invalidated);
	append_name(JOURNAL_DELETE, process, "a");
	invalidated.amount = 7;
	append(invalidated);
	append_name(JOURNAL_DELETE, process, "a");

	next(JOURNAL_DELETE);
	cr_assert_eq(event.epoch, 70);
	next(JOURNAL_DELETE);
	cr_assert_eq(event.epoch, 0);
}

Test(events, processes_are_bounded)
{
	uint32_t first = start(99, "/w");
	for (uint32_t i = 0; i < EVENT_PROCESSES_MAX; i++)
		start(100 + i, "/w");
	uint32_t child = copy_of(first, 98);
	append_vforked(JOURNAL_DELETE, first, 300, "a");
	append_name(JOURNAL_DELETE, first, "a");
	append_vforked(JOURNAL_DELETE, first, 300, "a");
	append_name(JOURNAL_DELETE, child, "a");

	next_is(JOURNAL_DELETE, NULL); /* its directory is no longer known */
	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_eq(event.pid, 99);
	cr_assert_eq(event.scope_id, 7);
	cr_assert_str_eq(event.executable, "/usr/bin/cc");
	next_is(JOURNAL_DELETE, NULL); /* nor where its child went */
	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_str_eq(event.executable, "/usr/bin/cc");
	cr_assert_eq(events_counts(events).processes, EVENT_PROCESSES_MAX);
}

Test(events, an_ended_process_goes_first)
{
	uint32_t first = start(99, "/w"), second = start(100, "/w");
	append_name(JOURNAL_EXIT, second, NULL);
	for (uint32_t i = 0; i < EVENT_PROCESSES_MAX - 1; i++)
		start(200 + i, "/w");
	append_vforked(JOURNAL_DELETE, first, 400, "a");
	append_vforked(JOURNAL_DELETE, second, 401, "a");

	next_is(JOURNAL_DELETE, "/w/a");
	next_is(JOURNAL_DELETE, NULL);
}

Test(events, those_that_ended_are_few)
{
	uint32_t first = 0, second = 0, last = 0;
	for (uint32_t i = 0; i < EVENT_PROCESSES_ENDED_MAX + 1; i++) {
		last = start(100 + i, "/w");
		first = first ? first : last;
		second = i == 1 ? last : second;
		append_name(JOURNAL_EXIT, last, NULL);
	}
	append_vforked(JOURNAL_DELETE, last, 5000, "a");
	append_vforked(JOURNAL_DELETE, second, 5001, "a");
	append_vforked(JOURNAL_DELETE, first, 5002, "a");
	append_name(JOURNAL_DELETE, first, "a");

	next_is(JOURNAL_DELETE, "/w/a"); /* it comes late */
	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_eq(events_counts(events).processes, EVENT_PROCESSES_ENDED_MAX);
	next_is(JOURNAL_DELETE, NULL);
	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_eq(event.pid, 100);
}
