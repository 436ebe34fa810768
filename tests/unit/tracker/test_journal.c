/*
 * journal.h: what is written is found, what was not published is not believed, and where there is no
 * room it is counted.  Writers that die, or are taken for dead, in the middle are made by the clock that
 * they read there.  With many writers at once: tests/stress/journal_writers.c.
 */
#include "failing_calls.h"
#include "journal_case.h"

TestSuite(journal, .init = setup, .fini = teardown);

/* ---- making ---- */

Test(journal, is_made_as_it_is_described)
{
	struct stat stat_;
	size_t length;
	cr_assert_eq(header()->magic, JOURNAL_MAGIC);
	cr_assert_eq(memcmp(&header()->magic, "seenjrnl", 8), 0);
	cr_assert_eq(header()->version, 1);
	cr_assert_eq(header()->unit_bytes, 64);
	cr_assert_eq(header()->units_max, MAX_BYTES / 64);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
	cr_assert_str_eq(header()->name, "test");
	cr_assert_str_eq(header()->nonce, NONCE);
	cr_assert_eq(header()->lost, 0);
	const char *text = journal_bytes(&journal, header()->workspace, &length);
	cr_assert_eq(length, strlen(WORKSPACE));
	cr_assert_eq(memcmp(text, WORKSPACE, length), 0);
	cr_assert_eq(stat(path, &stat_), 0);
	cr_assert_eq(stat_.st_mode & 07777, 0600);
	cr_assert_eq(stat_.st_size, MIB);
	cr_assert_geq(stat_.st_blocks * 512, MIB, "its blocks are not allocated");
}

Test(journal, is_made_whole_or_not_at_all)
{
	char long_name[200];
	size_t before = count_files(world.root);
	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE, MAX_BYTES), -EEXIST);
	char new_path[160];
	(void)snprintf(new_path, sizeof(new_path), "%s.new", path);
	cr_assert_eq(journal_create(new_path, long_name, NONCE, WORKSPACE, MAX_BYTES),
		     -ENAMETOOLONG);
	cr_assert_eq(journal_create(new_path, "n", long_name, WORKSPACE, MAX_BYTES), -ENAMETOOLONG);
	cr_assert_eq(journal_create("/nonexistent/j", "n", NONCE, WORKSPACE, MAX_BYTES), -ENOENT);
	cr_assert_eq(count_files(world.root), before);
	cr_assert_eq(journal_create(new_path, "n", NONCE, "", 0), 0);
	cr_assert_eq(journal_map(new_path, &other), 0);
	cr_assert_eq(other.header->units_max, JOURNAL_CHUNK_UNITS, "one chunk at least");
	journal_unmap(&other);
	cr_assert_eq(unlink(new_path), 0);
	cr_assert_eq(journal_create(new_path, "n", NONCE, WORKSPACE, UINT64_MAX), 0);
	cr_assert_eq(journal_map(new_path, &other), 0);
	cr_assert_eq(other.header->units_max, UINT32_MAX, "numbers have 32 bits");
	cr_assert_eq(count_files(world.root), before + 1);
}

static int create_in_a_small_limit(void *data)
{
	struct rlimit limit = { MIB / 2, MIB / 2 };
	(void)data;
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return journal_create(path, "test", NONCE, WORKSPACE, MAX_BYTES) == -EFBIG ? 0 : 1;
}

Test(journal, is_not_made_where_files_may_not_be_that_large)
{
	journal_unmap(&journal);
	cr_assert_eq(unlink(path), 0);
	size_t before = count_files(world.root);
	cr_assert_eq(in_child(create_in_a_small_limit, NULL), 0);
	cr_assert_eq(count_files(world.root), before);
}

static int create_without_fallocate(void *data)
{
	struct stat stat_;

	(void)data;
	refuse_calls(SYS_fallocate, EOPNOTSUPP);
	must(journal_create(path, "test", NONCE, WORKSPACE, MAX_BYTES) == 0);
	must(journal_map(path, &other) == 0 && stat(path, &stat_) == 0);
	return !other.header->can_grow && (uint64_t)stat_.st_size ==
						  other.header->allocated * JOURNAL_UNIT_BYTES
		       ? 0
		       : 1;
}

/* NFS before 4.2, and others. */
Test(journal, where_blocks_are_not_given_in_advance_it_is_as_large_as_it_will_be)
{
	journal_unmap(&journal);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(in_child(create_without_fallocate, NULL), 0);
}

/* ---- mapping ---- */

static void assert_refused(int error)
{
	for (size_t i = 0; i < sizeof(MAPS) / sizeof(MAPS[0]); i++) {
		memset(&other, 0x55, sizeof(other));
		int answer = MAPS[i](path, &other);
		if (answer == 0)
			journal_unmap(&other);
		else
			cr_assert_eq(other.dev, 0x5555555555555555, "written on failure");
		memset(&other, 0, sizeof(other));
		cr_assert_eq(answer, error, "%zu: %d, not %d", i, answer, error);
	}
}

Test(journal, files_of_other_formats_are_refused)
{
	char new_path[160];
	(void)snprintf(new_path, sizeof(new_path), "%s.real", path);
	cr_assert_eq(rename(path, new_path), 0);
	assert_refused(-ENOENT);
	cr_assert_eq(symlink(new_path, path), 0);
	assert_refused(-ELOOP);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	assert_refused(-EBADMSG);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_assert(journal_map(path, &other) < 0 && journal_map_to_read(path, &other) == -EBADMSG);
	cr_assert_eq(rmdir(path), 0);
	write_path(path, "", 0);
	cr_assert_eq(chmod(path, 0600), 0);
	assert_refused(-EBADMSG);
	cr_assert_eq(truncate(path, 8191), 0);
	assert_refused(-EBADMSG);
	cr_assert_eq(truncate(path, MIB), 0);
	assert_refused(-EBADMSG); /* all zero */
	cr_assert_eq(rename(new_path, path), 0);
	assert_refused(0);
	cr_assert_eq(chmod(path, 0600), 0);
	cr_assert_eq(truncate(path, MIB - 4096), 0);
	assert_refused(-EBADMSG); /* shorter than it says */
}

/* A reader needs no owner: the file may be a copy from elsewhere. */
static void assert_refused_to_write(void)
{
	cr_assert_eq(journal_map(path, &other), -EPERM);
	cr_assert_eq(journal_map_windows(path, &other), -EPERM);
	cr_assert_eq(journal_map_to_read(path, &other), 0);
	journal_unmap(&other);
}

Test(journal, that_others_may_write_to_is_not_written_to)
{
	cr_assert_eq(chmod(path, 0620), 0);
	assert_refused_to_write();
	cr_assert_eq(chmod(path, 0602), 0);
	assert_refused_to_write();
	cr_assert_eq(chmod(path, 0644), 0);
	assert_refused(0);
}

Test(journal, of_another_user_is_not_written_to)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	cr_assert_eq(chown(path, 12345, (gid_t)-1), 0);
	assert_refused_to_write();
}

Test(journal, a_damaged_header_is_refused)
{
	struct journal_header good = *header();
#define REFUSED(field, value, error) \
	(header()->field = (value), assert_refused(error), *header() = good)
	REFUSED(magic, JOURNAL_MAGIC ^ 1, -EBADMSG);
	REFUSED(version, 2, -EPROTO);
	REFUSED(version, 0, -EPROTO);
	REFUSED(unit_bytes, 128, -EPROTO);
	REFUSED(units_max, (uint64_t)UINT32_MAX + 1, -EBADMSG);
	REFUSED(units_max, UINT64_MAX, -EBADMSG);
	REFUSED(units_max, JOURNAL_CHUNK_UNITS - 1, -EBADMSG); /* less than it has */
	REFUSED(allocated, JOURNAL_CHUNK_UNITS + 1, -EBADMSG);
	REFUSED(allocated, JOURNAL_UNITS_FIRST - 1, -EBADMSG);
	REFUSED(allocated, UINT64_MAX, -EBADMSG);
	REFUSED(allocated, (uint64_t)1 << 58, -EBADMSG); /* times 64: 0 */
	REFUSED(name[JOURNAL_NAME_BYTES - 1], 'x', -EBADMSG);
	REFUSED(nonce[JOURNAL_NONCE_BYTES - 1], 'x', -EBADMSG);
#undef REFUSED
	assert_refused(0);
}

Test(journal, leaves_neither_descriptors_nor_mappings)
{
	size_t before = count_files("/proc/self/fd"), mappings = count_mappings();
	cr_assert_eq(mappings, 1);
	assert_refused(0);
	cr_assert_eq(truncate(path, MIB + 1), 0); /* no multiple of anything */
	assert_refused(0);
	while (append(&journal, 0, true)) /* grows several times */
		;
	header()->version++;
	assert_refused(-EPROTO);
	header()->version--;
	cr_assert_eq(count_files("/proc/self/fd"), before);
	cr_assert_eq(count_mappings(), mappings);
	journal_unmap(&journal);
	cr_assert_eq(count_mappings(), 0);
	journal_unmap(&journal); /* accepts one that is not mapped */
}

Test(journal, a_view_ends_before_what_was_added_later)
{
	cr_assert_eq(journal_map_to_read(path, &other), 0);
	while (header()->allocated == JOURNAL_CHUNK_UNITS)
		(void)append_details(&journal, 7);
	cr_assert_eq(journal_end_unit(&other), JOURNAL_CHUNK_UNITS);
	struct walk old = walk(&other);
	cr_assert_eq(old.found[JOURNAL_FOUND_UNDONE], 0);
	cr_assert_eq(old.found[JOURNAL_FOUND_DAMAGED], 0, "a record that the view ends in");
	cr_assert_lt(old.units + JOURNAL_UNITS_FIRST, JOURNAL_CHUNK_UNITS, "there is such a one");
}

/* ---- writing and reading ---- */

Test(journal, records_are_found_as_they_were_written)
{
	struct journal_process process = { .serial = 1, .pid = 2, .pid_ns = 3, .reserved = 4 };
	struct journal_details details = { .dev = 5,
					   .after = { .low = 6 },
					   .reserved = { [5] = 7 } };
	struct journal_coverage coverage = { .observed = 8, .reserved = { [8] = 9 } };
	const struct {
		const void *bytes;
		size_t size_bytes;
	} KINDS[] = { { NULL, 0 },
		      { &process, sizeof(process) },
		      { &details, sizeof(details) },
		      { &coverage, sizeof(coverage) } };
	uint64_t number = header()->next;
	struct journal_entry entry;
	unsigned char zeroes[sizeof(struct journal_coverage)] = { 0 };

	for (size_t i = 0; i < 4; i++) {
		struct journal_record record = event(i);
		uint64_t here = number;
		cr_assert_eq(journal_write(&journal, &record, KINDS[i].bytes, KINDS[i].size_bytes,
					   false),
			     here);
		cr_assert_eq(record.head.units, 1 + KINDS[i].size_bytes / 64);
		cr_assert_eq(journal_next(&journal, &number, &entry), JOURNAL_FOUND_RECORD);
		cr_assert_eq(number, here + record.head.units);
		cr_assert_eq(entry.number, here);
		cr_assert_eq(memcmp(&entry.record, &record, sizeof(record)), 0);
		cr_assert_eq(memcmp(&entry.process, KINDS[i].bytes ? KINDS[i].bytes : zeroes,
				    KINDS[i].size_bytes),
			     0);
		cr_assert_eq(memcmp((unsigned char *)&entry.process + KINDS[i].size_bytes, zeroes,
				    sizeof(zeroes) - KINDS[i].size_bytes),
			     0, "zero beyond what did");
		cr_assert_eq(journal_next(&journal, &number, &entry), JOURNAL_FOUND_END);
		cr_assert_eq(number, here + record.head.units);
	}
}

Test(journal, the_time_is_filled_in_where_there_is_none)
{
	struct journal_record record = event(1);
	uint64_t before = sys_realtime_ns();
	record.time_realtime_ns = 0;
	cr_assert_neq(journal_write(&journal, &record, NULL, 0, false), 0);
	cr_assert(record.time_realtime_ns >= before &&
		  record.time_realtime_ns <= sys_realtime_ns());
}

Test(journal, a_record_of_the_greatest_size)
{
	static unsigned char details[(JOURNAL_RECORD_UNITS_MAX - 1) * JOURNAL_UNIT_BYTES];
	struct journal_record record = event(1);
	struct journal_entry entry;
	memset(details, 9, sizeof(details));
	uint32_t number = journal_write(&journal, &record, details, sizeof(details), false);
	cr_assert_eq(found_at(&journal, number, &entry), JOURNAL_FOUND_RECORD);
	cr_assert_eq(entry.record.head.units, 255);
	cr_assert_eq(entry.coverage.observed, 0x0909090909090909);
	cr_assert_neq(append(&journal, 2, false), 0);
	cr_assert_eq(walk(&journal).events, 2);
}

Test(journal, texts_are_kept_once)
{
	static const size_t SIZES[] = { 0,   1,   55,  56,  57,   119,  120,
					121, 240, 241, 312, 8191, 8192, 8193 };
	static char bytes[9000];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
		size_t kept = SIZES[i] > JOURNAL_TEXT_BYTES_MAX ? JOURNAL_TEXT_BYTES_MAX : SIZES[i];
		uint64_t end = header()->next;
		size_t length = 1;
		bytes[0] = (char)(SIZES[i] > 8192 ? 'B' : 'A'); /* else the cut one is known */
		uint32_t number = journal_text(&journal, bytes, SIZES[i], false);
		cr_assert_eq(number, end);
		cr_assert_eq(header()->next, end + (8 + kept + 63) / 64, "%zu bytes", SIZES[i]);
		const char *text = journal_bytes(&journal, number, &length);
		cr_assert_not_null(text);
		cr_assert_eq(length, kept);
		cr_assert_eq(memcmp(text, bytes, kept), 0);
		cr_assert_eq(journal_text(&journal, bytes, SIZES[i], false), number, "known now");
		cr_assert_eq(header()->next, end + (8 + kept + 63) / 64);
		struct journal_entry entry;
		cr_assert_eq(found_at(&journal, number, &entry), JOURNAL_FOUND_RECORD);
		cr_assert_eq(entry.record.head.op, JOURNAL_TEXT);
		cr_assert_eq(entry.record.head.error, kept);
	}
	cr_assert_eq(journal_text(&journal, "x", 0, false), header()->workspace + 1, "as \"\"");
	cr_assert_eq(walk(&journal).found[JOURNAL_FOUND_DAMAGED], 0);
}

Test(journal, a_known_text_may_give_way_but_is_never_mistaken)
{
	uint32_t numbers[4 * JOURNAL_KNOWN_TEXTS];
	char text[16];
	size_t length, hits = 0;
	for (size_t turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < 4 * JOURNAL_KNOWN_TEXTS; i++) {
			int bytes = snprintf(text, sizeof(text), "text %zu", i);
			uint32_t number = journal_text(&journal, text, (size_t)bytes, false);
			const char *kept = journal_bytes(&journal, number, &length);
			cr_assert(kept && length == (size_t)bytes &&
				  memcmp(kept, text, length) == 0);
			hits += turn && number == numbers[i];
			numbers[i] = number;
		}
	}
	cr_assert_lt(hits, 4 * JOURNAL_KNOWN_TEXTS);
	/* Words that point anywhere, with the right half of the hash. */
	uint32_t event_number = append(&journal, 1, false);
	uint64_t lies[] = { 0,
			    1,
			    JOURNAL_UNITS_FIRST - 1,
			    UINT32_MAX,
			    event_number,
			    numbers[0],
			    journal_end_unit(&journal) };
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		for (size_t k = 0; k < JOURNAL_KNOWN_TEXTS; k++)
			journal.known[k] = (journal.known[k] >> 32) << 32 | lies[i];
		uint32_t number = journal_text(&journal, "text 7", 6, false);
		const char *kept = journal_bytes(&journal, number, &length);
		cr_assert(kept && length == 6 && memcmp(kept, "text 7", 6) == 0, "%zu", i);
	}
}

Test(journal, every_damaged_bit_is_seen)
{
	static const char LONG[300] = "a text of several units";
	uint32_t numbers[] = { append(&journal, 1, false), append_details(&journal, 2),
			       journal_text(&journal, "short", 5, false),
			       journal_text(&journal, LONG, sizeof(LONG), false) };
	struct journal_entry entry;
	(void)append(&journal, 3, false);

	for (size_t i = 0; i < 4; i++) {
		size_t bits = (size_t)unit(numbers[i])[5] * JOURNAL_UNIT_BYTES * 8;
		for (size_t bit = 0; bit < bits; bit++) {
			unsigned char *byte = unit(numbers[i]) + bit / 8;
			*byte ^= (unsigned char)(1u << bit % 8);
			enum journal_found found = found_at(&journal, numbers[i], &entry);
			/* A text (1) whose op becomes 0 is taken for one that was never published. */
			cr_assert(found == JOURNAL_FOUND_DAMAGED ||
					  (found == JOURNAL_FOUND_UNDONE && bit / 8 == 4),
				  "record %zu, bit %zu: %d", i, bit, found);
			*byte ^= (unsigned char)(1u << bit % 8);
		}
		cr_assert_eq(found_at(&journal, numbers[i], &entry), JOURNAL_FOUND_RECORD);
	}
}

Test(journal, a_record_in_the_wrong_place_is_seen)
{
	uint32_t first = append(&journal, 1, false), second = append(&journal, 2, false);
	struct journal_entry entry;
	memcpy(unit(second), unit(first), JOURNAL_UNIT_BYTES);
	cr_assert_eq(found_at(&journal, first, &entry), JOURNAL_FOUND_RECORD);
	cr_assert_eq(found_at(&journal, second, &entry), JOURNAL_FOUND_DAMAGED);
}

Test(journal, only_whole_texts_have_bytes)
{
	size_t length;
	uint32_t text = journal_text(&journal, "abc", 3, false);
	cr_assert_not_null(journal_bytes(&journal, text, &length));
	cr_assert_null(journal_bytes(&journal, 0, &length));
	cr_assert_null(journal_bytes(&journal, 1, &length));
	cr_assert_null(journal_bytes(&journal, JOURNAL_UNITS_FIRST - 1, &length));
	cr_assert_null(journal_bytes(&journal, append(&journal, 1, false), &length));
	cr_assert_null(journal_bytes(&journal, (uint32_t)journal_end_unit(&journal), &length));
	cr_assert_null(journal_bytes(&journal, JOURNAL_CHUNK_UNITS, &length));
	cr_assert_null(journal_bytes(&journal, UINT32_MAX, &length));
	struct journal_head *head = (struct journal_head *)(void *)unit(text);
	head->error = 57; /* longer than its units */
	cr_assert_null(journal_bytes(&journal, text, &length));
	head->error = 3;
	head->units = 0;
	cr_assert_null(journal_bytes(&journal, text, &length));
}

Test(journal, every_operation_has_a_name)
{
	cr_assert_null(journal_op_name(JOURNAL_NONE));
	for (unsigned op = JOURNAL_NONE + 1; op < JOURNAL_OP_COUNT; op++)
		cr_assert_not_null(journal_op_name(op));
	cr_assert_null(journal_op_name(JOURNAL_OP_COUNT));
	cr_assert_null(journal_op_name(JOURNAL_FILLING));
	cr_assert_str_eq(journal_op_name(JOURNAL_EXEC_FAILED), "exec_failed");
}
