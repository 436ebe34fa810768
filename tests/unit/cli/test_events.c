/* events.h, event_filter.h: what is joined, what is resolved and what is not known; damaged and hostile journals. */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "cli/journal/event_filter.h"
#include "cli/journal/event_places.h"
#include "cli/journal/event_processes.h"
#include "cli/journal/events.h"
#include "journal_file.h"
#include "tracker/guard/guard.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

static struct events *events;
static struct event event;

static void init(void)
{
	journal_file_open("test");
}

static void finish(void)
{
	events_close(events);
	journal_file_close();
}

TestSuite(events, .init = init, .fini = finish);
TestSuite(event_filter, .init = init, .fini = finish);

/* ---- writing ---- */

static uint32_t text(const char *bytes)
{
	return journal_text(&journal, bytes, strlen(bytes), true);
}

/* The current directory, as records state it; NULL: they do not. */
static const char *directory = "/w";

static struct journal_record blank(enum journal_op op, uint32_t process, const char *name)
{
	return (struct journal_record){ .head = { .op = (uint8_t)op },
					.process = process,
					.path = name ? text(name) : 0,
					.directory = name && name[0] != '/' && directory
							     ? text(directory)
							     : 0,
					.directory_fd = AT_FDCWD,
					.fd = -1 };
}

static uint32_t append(struct journal_record record)
{
	uint32_t number = journal_write(&journal, &record, NULL, 0, true);
	must(number);
	return number;
}

static uint32_t append_process(enum journal_op op, const char *executable, const char *where,
			       struct journal_process process)
{
	struct journal_record record = blank(op, 0, executable);
	record.directory = where ? text(where) : 0;
	uint32_t number = journal_write(&journal, &record, &process, sizeof(process), true);
	must(number);
	return number;
}

static uint32_t start(uint32_t pid, const char *where)
{
	return append_process(JOURNAL_START, "/usr/bin/cc", where,
			      (struct journal_process){ .pid = pid,
							.parent_pid = 1,
							.role = ROLE_TOOL,
							.scope_id = 7,
							.epoch = 70,
							.serial = pid * 10 });
}

static uint32_t copy_of(uint32_t starter, uint32_t pid)
{
	return append_process(
		JOURNAL_FORK, NULL, directory,
		(struct journal_process){ .pid = pid, .parent_pid = 100, .starter = starter });
}

static uint32_t append_name(enum journal_op op, uint32_t process, const char *name)
{
	return append(blank(op, process, name));
}

/* A name relative to a descriptor that a record opened. */
static uint32_t append_at(enum journal_op op, uint32_t process, uint32_t opened, const char *name)
{
	struct journal_record record = blank(op, process, name);
	record.directory_fd = 3;
	record.directory = opened;
	record.fd = op == JOURNAL_OPEN ? 3 : -1;
	return append(record);
}

/* By a child between vfork and exec, that does not tell where it is. */
static uint32_t append_vforked(enum journal_op op, uint32_t process, uint32_t pid, const char *name)
{
	struct journal_record record = blank(op, process, name);
	record.directory = 0;
	record.tid = pid;
	record.marks = JOURNAL_VFORKED;
	return append(record);
}

/* ---- reading ---- */

/* Goes to the next event of an op. */
static void next(unsigned op)
{
	if (!events)
		must(events_open(path, false, &events) == 0);
	do
		cr_assert_eq(events_next(events, &event), EVENTS_EVENT, "no %s", event_op_name(op));
	while (event.op != op);
}

static void next_is(unsigned op, const char *resolved)
{
	next(op);
	if (resolved)
		cr_assert_str_eq(event.resolved ? event.resolved : "(not known)", resolved);
	else
		cr_assert_null(event.resolved, "%s", event.resolved);
}

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

/* ---- whose change it is ---- */

static uint32_t start_as(enum role role, uint32_t context)
{
	return append_process(
		JOURNAL_START, "/usr/bin/x", "/w",
		(struct journal_process){ .pid = 100, .role = role, .context = context });
}

Test(events, a_change_is_its_processs)
{
	static const struct {
		enum role role;
		uint32_t context;
		enum source source;
	} CASES[] = {
		{ ROLE_AGENT, CONTEXT_AGENT, SOURCE_AGENT },
		{ ROLE_AGENT, 0, SOURCE_TOOL }, /* unattached: its agent is unknown */
		{ ROLE_SHELL, CONTEXT_AGENT, SOURCE_AGENT },
		{ ROLE_VIEWER, CONTEXT_EXTERNAL_AGENT, SOURCE_AGENT },
		{ ROLE_READER, CONTEXT_AGENT | CONTEXT_ATTACHED, SOURCE_AGENT },
		{ ROLE_SHELL, CONTEXT_ATTACHED, SOURCE_TOOL },
		{ ROLE_TOOL, CONTEXT_AGENT, SOURCE_TOOL },
		{ ROLE_TOOL, CONTEXT_EXTERNAL_AGENT, SOURCE_TOOL },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		uint32_t process = start_as(CASES[i].role, CASES[i].context);
		append_name(JOURNAL_DELETE, process, "a");
		append_vforked(JOURNAL_DELETE, process, 300, "a");
	}
	for (size_t i = 0; i < 2 * sizeof(CASES) / sizeof(CASES[0]); i++) {
		next(JOURNAL_DELETE);
		cr_assert_eq(event.source, CASES[i / 2].source, "%zu: %d", i, event.source);
	}
}

Test(events, calls_that_change_a_file)
{
	static const struct {
		enum journal_op op;
		uint32_t flags;
		bool changes;
	} CASES[] = {
		{ JOURNAL_OPEN, O_RDONLY | O_CREAT | O_CLOEXEC, false },
		{ JOURNAL_OPEN, O_RDONLY | O_TRUNC, true },
		{ JOURNAL_OPEN, O_WRONLY, true },
		{ JOURNAL_OPEN, O_RDWR | O_APPEND, true },
		{ JOURNAL_OPEN, O_PATH | O_RDWR, false },
		{ JOURNAL_MAP, JOURNAL_MAP_SHARED | PROT_READ, false },
		{ JOURNAL_MAP, JOURNAL_MAP_SHARED | PROT_WRITE, true },
		{ JOURNAL_MAP, PROT_READ | PROT_WRITE, false },
		{ JOURNAL_LIST, 0, false },
		{ JOURNAL_READ, 0, false },
		{ JOURNAL_WRITE, 0, true },
		{ JOURNAL_WRITE_TOTAL, 0, true },
		{ JOURNAL_CREATE, 0, true },
		{ JOURNAL_DELETE, 0, true },
		{ JOURNAL_RENAME, 0, true },
		{ JOURNAL_LINK, 0, true },
		{ JOURNAL_SYMLINK, 0, true },
		{ JOURNAL_TRUNCATE, 0, true },
		{ JOURNAL_METADATA, JOURNAL_METADATA_TIMES, false },
		{ JOURNAL_CHDIR, 0, false },
		{ JOURNAL_NOTICE, 0, false },
		{ JOURNAL_YIELDED, 0, false },
		{ JOURNAL_GUARDED, 0, false },
		{ JOURNAL_KEPT, 0, false },
	};
	uint32_t process = start_as(ROLE_TOOL, 0);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct journal_record record = blank(CASES[i].op, process, "a");
		record.flags = CASES[i].flags;
		append(record);
	}
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		next(CASES[i].op);
		cr_assert_eq(event.source, CASES[i].changes ? SOURCE_TOOL : SOURCE_NONE, "%zu", i);
	}
}

Test(events, what_changes_nothing_has_no_source)
{
	uint32_t process = start_as(ROLE_TOOL, 0);
	struct journal_record record = blank(JOURNAL_DELETE, process, "a");
	record.head.error = ENOENT;
	append(record);
	append_name(JOURNAL_DELETE, process, "/wide/a");
	append_name(JOURNAL_DELETE, process, "/tmp/a");
	append_name(JOURNAL_DELETE, 0, "/w/a"); /* by an unknown process */
	directory = NULL;
	append_name(JOURNAL_DELETE, process, "a");
	directory = "/w";
	record = blank(JOURNAL_RENAME, process, "/tmp/a");
	record.other_path = text("a");
	record.fd = AT_FDCWD;
	record.amount = text("/w");
	append(record);
	record = blank(JOURNAL_DELETE, process, "a");
	record.marks = JOURNAL_ATTEMPTED;
	append(record);

	for (int i = 0; i < 5; i++) {
		next(JOURNAL_DELETE);
		cr_assert_eq(event.source, SOURCE_NONE, "%d", i);
	}
	next(JOURNAL_RENAME);
	cr_assert_eq(event.source, SOURCE_TOOL);
	next(JOURNAL_DELETE);
	cr_assert_eq(event.source, SOURCE_TOOL);
}

Test(events, a_record_tells_its_source)
{
	uint32_t process = start_as(ROLE_TOOL, 0);
	static const uint8_t SOURCES[] = { SOURCE_NONE, SOURCE_AGENT,        SOURCE_TOOL,
					   SOURCE_USER, SOURCE_UNATTRIBUTED, SOURCE_COUNT,
					   255 };
	for (size_t i = 0; i < sizeof(SOURCES); i++) {
		struct journal_record record = blank(JOURNAL_EDITED, process, "/elsewhere");
		record.decision = SOURCES[i];
		append(record);
		record = blank(JOURNAL_CHANGED, 0, "/w/a");
		record.decision = SOURCES[i];
		append(record);
	}
	append_name(JOURNAL_GIVEN, process, "/w/a");
	append_name(JOURNAL_MENTIONED, 0, "/w/a");

	for (size_t i = 0; i < sizeof(SOURCES); i++) {
		enum source source = SOURCES[i] < SOURCE_COUNT ? (enum source)SOURCES[i]
							       : SOURCE_NONE;
		next_is(JOURNAL_EDITED, "/elsewhere");
		cr_assert_eq(event.source, source);
		next_is(JOURNAL_CHANGED, "/w/a");
		cr_assert_eq(event.source, source);
	}
	next(JOURNAL_GIVEN);
	cr_assert_eq(event.source, SOURCE_READ);
	next(JOURNAL_MENTIONED);
	cr_assert_eq(event.source, SOURCE_MENTIONED);
}

Test(events, a_guarded_write_has_its_versions)
{
	const struct journal_details details = { .size_bytes = 3,
						 .before = { .low = 1, .size_bytes = 3 },
						 .after = { .high = 2, .size_bytes = 4 } };
	uint32_t process = start_as(ROLE_AGENT, CONTEXT_AGENT);
	struct journal_record record = blank(JOURNAL_GUARDED, process, "/w/a");
	record.head.error = ESTALE;
	record.decision = GUARD_DENY;
	record.reason = GUARD_STALE;
	record.marks = JOURNAL_DETAILS;
	must(journal_write(&journal, &record, &details, sizeof(details), true));

	next_is(JOURNAL_GUARDED, "/w/a");
	cr_assert_eq(event.error, ESTALE);
	cr_assert(version_equal(&event.entry->details.before, &details.before));
	cr_assert(version_equal(&event.entry->details.after, &details.after));
	cr_assert(event_is_denied(&event));
	cr_assert_eq(events_next(events, &event), EVENTS_END);
}

/* ---- damaged, hostile ---- */

static unsigned char *unit(uint32_t number)
{
	return journal.units + (size_t)number * JOURNAL_UNIT_BYTES;
}

Test(events, a_damaged_record_is_an_event)
{
	uint32_t process = start(100, "/w");
	uint32_t damaged = append_name(JOURNAL_DELETE, process, "a");
	append_name(JOURNAL_CREATE, process, "b");
	unit(damaged)[20] ^= 1;

	next(EVENT_DAMAGED);
	cr_assert_eq(event.number, damaged);
	cr_assert_eq(event.pid, 0);
	cr_assert_null(event.entry);
	next_is(JOURNAL_CREATE, "/w/b");
	cr_assert_eq(events_counts(events).damaged, 1);
}

Test(events, a_damaged_text_is_not_known)
{
	uint32_t process = start(100, "/w");
	uint32_t name = text("/w/secret");
	append_name(JOURNAL_DELETE, process, "/w/secret");
	unit(name)[12] ^= 1;

	next_is(JOURNAL_DELETE, NULL);
	cr_assert_null(event.path);
}

Test(events, a_process_whose_first_record_is_damaged)
{
	uint32_t process = start(100, "/w");
	append_name(JOURNAL_DELETE, process, "a");
	unit(process)[70] ^= 1;

	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_eq(event.process, 0);
	cr_assert_eq(event.pid, 0);
}

Test(events, hostile_numbers)
{
	uint32_t process = start(100, "/w");
	uint32_t name = text("/w/x");
	const uint32_t NUMBERS[] = { 1,       127,        process + 1,     name,
				     1000000, UINT32_MAX, UINT32_MAX - 63, process + 200 };

	for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
		struct journal_record record = blank(JOURNAL_DELETE, NUMBERS[i], NULL);
		record.path = NUMBERS[i] == name ? process : NUMBERS[i];
		record.directory = record.other_path = record.path;
		append(record);
		for (int fd = AT_FDCWD; fd <= 3; fd += 3 - AT_FDCWD) {
			record = blank(JOURNAL_RENAME, process, "a");
			record.directory_fd = record.fd = fd;
			record.other_path = record.path;
			record.directory = NUMBERS[i] == name && fd == AT_FDCWD ? process
										: NUMBERS[i];
			record.amount = (uint64_t)record.directory << 32 | record.directory;
			append(record);
		}
	}
	for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
		next_is(JOURNAL_DELETE, NULL);
		cr_assert_eq(event.process, 0);
		cr_assert_null(event.path);
		for (int j = 0; j < 2; j++) {
			next_is(JOURNAL_RENAME, NULL);
			cr_assert_null(event.directory);
			cr_assert_null(event.other_resolved);
		}
	}
}

Test(events, starters_in_a_circle)
{
	uint32_t self = copy_of(0, 200);
	uint32_t next_fork = self + 2;                    /* one unit of record, one of details */
	cr_assert_eq(copy_of(next_fork, 201), next_fork); /* its own starter */
	copy_of(next_fork + 4, 202);                      /* one that comes later */
	copy_of(next_fork + 2, 203);
	append_name(JOURNAL_DELETE, next_fork, "a");
	append_name(JOURNAL_DELETE, next_fork + 4, "a");

	next(JOURNAL_DELETE);
	cr_assert_eq(event.pid, 201);
	cr_assert_null(event.executable);
	next(JOURNAL_DELETE);
	cr_assert_eq(event.pid, 203);
}

Test(events, a_process_that_comes_later_is_none)
{
	uint32_t first = append_name(JOURNAL_DELETE, 0, "a");
	uint32_t later = first + 3; /* behind a record and a text; "a" and "/w" are there already */
	append_name(JOURNAL_DELETE, later, "a");
	cr_assert_eq(start(100, "/w"), later);
	append_name(JOURNAL_CREATE, later, "a");

	next(JOURNAL_DELETE);
	next(JOURNAL_DELETE);
	cr_assert_eq(event.process, 0);
	next_is(JOURNAL_CREATE, "/w/a");
}

Test(events, a_nul_is_no_part_of_a_path)
{
	uint32_t process = start(100, "/w");
	struct journal_record record = blank(JOURNAL_DELETE, process, NULL);
	record.path = journal_text(&journal, "/w/a\0b", 6, true);
	append(record);
	record = blank(JOURNAL_EXEC, process, "/bin/a");
	record.other_path = journal_text(&journal, "a\0b c\0", 6, true);
	append(record);

	next_is(JOURNAL_DELETE, NULL);
	next(JOURNAL_EXEC);
	cr_assert_eq(event.other_bytes, 6);
}

Test(events, what_was_cut_is_not_resolved)
{
	static char longest[JOURNAL_TEXT_BYTES_MAX + 10];
	uint32_t process = start(100, "/w");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	append_name(JOURNAL_DELETE, process, longest);
	longest[4096] = '\0';
	struct journal_record record = blank(JOURNAL_RENAME, process, longest);
	record.marks = JOURNAL_CUT;
	record.other_path = text("new");
	record.fd = AT_FDCWD;
	record.amount = text("/w");
	append(record);
	record.marks = 0;
	record.time_realtime_ns = 0;
	append(record);

	next_is(JOURNAL_DELETE, NULL);
	cr_assert_eq(strlen(event.path), JOURNAL_TEXT_BYTES_MAX);
	next_is(JOURNAL_RENAME, NULL);
	cr_assert_str_eq(event.other_resolved, "/w/new");
	next_is(JOURNAL_RENAME, longest);
}

/* Reserves units as a writer does that dies before it publishes. */
static uint64_t reserve(uint64_t units)
{
	return __atomic_fetch_add(&journal.header->next, units, __ATOMIC_RELAXED);
}

Test(events, undone_records_are_passed_and_counted)
{
	uint32_t process = start(100, "/w");
	uint64_t undone = reserve(1);
	uint64_t abandoned = reserve(1);
	append_name(JOURNAL_DELETE, process, "a");
	cr_assert(journal_abandon(&journal, abandoned));

	next(JOURNAL_START);
	cr_assert_eq(events_next(events, &event), EVENTS_UNDONE);
	cr_assert_eq(events_next(events, &event), EVENTS_UNDONE);
	cr_assert_eq(events_position(events), undone);
	events_pass(events);
	next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_eq(events_counts(events).undone, 2);
}

Test(events, one_that_was_finished_meanwhile_is_not_passed)
{
	uint32_t process = start(100, "/w");
	struct journal other = journal;
	uint64_t undone = reserve(1);
	append_name(JOURNAL_DELETE, process, "a");

	next(JOURNAL_START);
	cr_assert_eq(events_next(events, &event), EVENTS_UNDONE);
	cr_assert(journal_abandon(&other, undone));
	events_pass(events);
	cr_assert_eq(events_position(events), undone);
	cr_assert_eq(events_counts(events).undone, 0);
	next(JOURNAL_DELETE);
	cr_assert_eq(events_counts(events).undone, 1);
}

Test(events, growth_is_followed)
{
	must(events_open(path, true, &events) == 0);
	cr_assert_eq(events_next(events, &event), EVENTS_END);
	uint32_t process = start(100, "/w");
	for (int i = 0; i < 3 * JOURNAL_CHUNK_UNITS; i++)
		append_name(JOURNAL_DELETE, process, "a");
	for (int i = 0; i < 3 * JOURNAL_CHUNK_UNITS; i++)
		next_is(JOURNAL_DELETE, "/w/a");
	cr_assert_eq(events_next(events, &event), EVENTS_END);
	append_name(JOURNAL_CREATE, process, "b");
	next_is(JOURNAL_CREATE, "/w/b");
}

Test(events, without_follow_it_ends_where_it_was)
{
	uint32_t process = start(100, "/w");
	next(JOURNAL_START);
	append_name(JOURNAL_DELETE, process, "a");
	cr_assert_eq(events_next(events, &event), EVENTS_END);
}

Test(events, a_read_only_file)
{
	start(100, "/w");
	must(chmod(path, 0400) == 0);
	next(JOURNAL_START);
}

Test(events, not_a_journal)
{
	char other[96];
	(void)snprintf(other, sizeof(other), "%s/other", root);
	write_path(other, "no journal", 10);
	cr_assert_eq(events_open(other, false, &events), -EBADMSG);
	cr_assert_eq(events_open("/nonexistent", false, &events), -ENOENT);
}

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
