/* cli/journal/events: whose change an event is, and journals that are damaged or hostile. */
#include "events_case.h"

TestSuite(events, .init = init, .fini = finish);

TestSuite(event_filter, .init = init, .fini = finish);

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
