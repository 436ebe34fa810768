/* report.h: what is bounded, and that the report names what is left out. */
#include <criterion/criterion.h>
#include <errno.h>

#include "cli/report/report.h"
#include "cli/report/report_order.h"
#include "journal_file.h"
#include "tracker/process/role.h"

enum { NAMES = 20 };

static struct report report;

static void init(void)
{
	journal_file_open("test");
	report = (struct report){ 0 };
}

static void finish(void)
{
	report_free(&report);
	journal_file_close();
}

TestSuite(report, .init = init, .fini = finish);

/* ---- writing ---- */

/* "PREFIXNUMBER". */
static uint32_t text(const char *prefix, int number)
{
	char bytes[64];
	int length = snprintf(bytes, sizeof(bytes), "%s%d", prefix, number);
	return journal_text(&journal, bytes, (size_t)length, true);
}

static uint32_t append(struct journal_record record)
{
	uint32_t number = journal_write(&journal, &record, NULL, 0, true);
	must(number);
	return number;
}

static struct journal_record about(enum journal_op op, uint32_t process, const char *prefix,
				   int number)
{
	struct journal_record record = journal_blank(op);
	record.process = process;
	record.path = text(prefix, number);
	record.time_realtime_ns = 1000000000;
	return record;
}

static uint32_t start(int pid, const char *executable, int number)
{
	struct journal_process process = {
		.pid = (uint32_t)pid, .parent_pid = 1, .role = ROLE_VIEWER, .scope_id = 7
	};
	struct journal_record record = about(JOURNAL_START, 0, executable, number);
	uint32_t written = journal_write(&journal, &record, &process, sizeof(process), true);
	must(written);
	return written;
}

static void append_read(uint32_t process, const char *prefix, int number, int fd, uint64_t bytes)
{
	struct journal_record record = about(JOURNAL_READ, process, prefix, number);
	record.fd = fd;
	record.amount = bytes;
	(void)append(record);
}

static void gather(const struct report_limits *limits)
{
	cr_assert_eq(report_gather(path, NULL, limits, NULL, &report), 0);
}

/* ---- limits ---- */

Test(report, rows_are_bounded_and_sums_are_not)
{
	struct report_limits limits = { .files = 3,
					.file_bytes = 1000,
					.processes = 4,
					.programs = 2,
					.conflicts = 1,
					.rules = 2,
					.runs = 1,
					.unobserved = 2 };
	for (int i = 0; i < NAMES; i++) {
		uint32_t process = start(100 + i, "/bin/p", i % 5);
		append_read(process, "/w/f", i, 3, 100);
		struct journal_record record = about(JOURNAL_CHANGED, 0, "/w/f", i);
		record.decision = SOURCE_USER;
		(void)append(record);
		record = about(JOURNAL_RULED, process, "/w/f", i);
		record.decision = RULE_ACTION_WARN;
		record.flags = RULE_READ;
		record.other_path = text("rule", i % 4);
		(void)append(record);
		record = about(JOURNAL_UNOBSERVED, 0, "go", i % 4);
		record.count = 2;
		(void)append(record);
		(void)append(about(JOURNAL_EXEC, 0, "/bin/run", i));
	}
	gather(&limits);
	cr_assert_eq(report.events, 6 * NAMES);
	cr_assert_eq(report.work.bytes_read, 100 * NAMES);
	cr_assert_eq(report.file_count, 3);
	cr_assert_eq(report.files_left_out, (NAMES - 3) * 2); /* read, changed */
	cr_assert_eq(report.files[0].work.bytes_read, 100);
	cr_assert_eq(report.process_count, 4);
	cr_assert_eq(report.processes_left_out, NAMES - 4);
	cr_assert_eq(report.program_count, 2);
	cr_assert_eq(report.programs_left_out, NAMES * 3 / 5);
	cr_assert_eq(report.programs[0].processes, NAMES / 5);
	/* Of a process without a row the program is known by its event. */
	cr_assert_eq(report.programs[0].work.bytes_read, 100 * NAMES / 5);
	cr_assert_eq(report.conflict_count, 1);
	cr_assert_eq(report.conflicts_left_out, NAMES - 1);
	cr_assert_eq(report.writes.changed, NAMES);
	cr_assert_eq(report.rule_count, 2);
	cr_assert_eq(report.rules_left_out, NAMES / 2);
	cr_assert_eq(report.ruled[RULE_ACTION_WARN], NAMES);
	cr_assert_eq(report.run_count, 1);
	cr_assert_eq(report.runs_left_out, NAMES - 1);
	cr_assert_eq(report.unobserved_count, 2);
	cr_assert_eq(report.unobserved_left_out, NAMES / 2);
	cr_assert_eq(report.unobserved[0].count, 2 * NAMES / 4);
}

Test(report, paths_are_bounded_by_their_bytes)
{
	struct report_limits limits = REPORT_LIMITS;
	limits.file_bytes = 3 * sizeof("/w/f0");
	for (int i = 0; i < 5; i++)
		append_read(0, "/w/f", i, 3, 1);
	append_read(0, "/w/f", 0, 3, 1); /* one that is there still counts */
	gather(&limits);
	cr_assert_eq(report.file_count, 3);
	cr_assert_eq(report.files_left_out, 2);
	cr_assert_eq(report.files[0].work.bytes_read, 2);
}

Test(report, more_descriptors_than_are_remembered)
{
	enum { STREAMS = 200000 };
	uint32_t process = start(100, "/bin/p", 0);
	struct journal_record total;

	for (int i = 0; i < STREAMS; i++)
		append_read(process, "/w/f", 0, i, 10);
	for (int fd = 0; fd < STREAMS; fd += STREAMS - 1) {
		total = about(JOURNAL_READ_TOTAL, process, "/w/f", 0);
		total.fd = fd;
		total.amount = 30;
		total.count = 2;
		(void)append(total);
	}
	gather(NULL);
	/* The oldest one was dropped, and is marked as uncertain; the youngest is known. */
	cr_assert_eq(report.uncertain, 1);
	cr_assert_eq(report.work.bytes_read, 10 * (uint64_t)STREAMS + 30 + 20);
}

/* ---- orders ---- */

Test(report, orders)
{
	const struct report_file *rows[8];
	static const uint64_t BYTES[] = { 5, 9, 5, 0, 7 };

	for (int i = 4; i >= 0; i--)
		append_read(0, i == 4 ? "/x/f" : "/w/f", i, 3, BYTES[i]);
	gather(NULL);
	cr_assert_eq(report_files_by(&report, REPORT_BY_READ, 8, rows), 3);
	cr_assert_str_eq(rows[0]->path, "/w/f1");
	cr_assert_str_eq(rows[1]->path, "/w/f0"); /* of equal ones the first by name */
	cr_assert_str_eq(rows[2]->path, "/w/f2");
	rows[1] = NULL;
	cr_assert_eq(report_files_by(&report, REPORT_BY_READ, 1, rows), 3);
	cr_assert_null(rows[1]);
	cr_assert_eq(report_files_by(&report, REPORT_ELSEWHERE_BY_READ, 8, rows), 1);
	cr_assert_str_eq(rows[0]->path, "/x/f4");
	cr_assert_eq(report_files_by(&report, REPORT_BY_WRITTEN, 8, rows), 0);
}

Test(report, none)
{
	cr_assert_eq(report_gather("/nonexistent/journal", NULL, NULL, NULL, &report), -ENOENT);
	cr_assert_eq(report.events, 0);
}
