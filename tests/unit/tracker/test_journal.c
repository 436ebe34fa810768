/*
 * journal.h: what is written is found, what was not published is not believed, and where there is no
 * room it is counted.  Writers that die, or are taken for dead, in the middle are made by the clock that
 * they read there.  With many writers at once: tests/stress/journal_writers.c.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "support.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"
#include "tracker/sys/sys.h"

enum { MIB = 1 << 20, MAX_BYTES = 4 * MIB, SKIPPED = 77 };

static const char NONCE[] = "0123456789abcdef", WORKSPACE[] = "/work/space";

static struct world world;
static struct journal journal, other;
static char path[128];

static void setup(void)
{
	world_open(&world, NULL);
	(void)snprintf(path, sizeof(path), "%s/journal", world.root);
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE, MAX_BYTES), 0);
	cr_assert_eq(journal_map(path, &journal), 0);
}

static void teardown(void)
{
	journal_unmap(&journal);
	journal_unmap(&other);
	world_close(&world);
}

TestSuite(journal, .init = setup, .fini = teardown);

static struct journal_record event(uint64_t amount)
{
	return (struct journal_record){ .head = { .op = JOURNAL_OPEN, .error = ENOENT },
					.time_realtime_ns = 12345,
					.process = 1,
					.tid = 2,
					.path = 3,
					.directory = 4,
					.directory_fd = AT_FDCWD,
					.other_path = 6,
					.fd = -1,
					.flags = O_RDWR,
					.amount = amount,
					.decision = 10,
					.reason = 11,
					.marks = JOURNAL_AT_LEAST,
					.count = 13 };
}

static uint32_t append(struct journal *at, uint64_t amount, bool may_grow)
{
	struct journal_record record = event(amount);
	return journal_write(at, &record, NULL, 0, may_grow);
}

/* Of the other kinds: records of several units. */
static uint32_t append_details(struct journal *at, uint64_t amount)
{
	struct journal_details details = { .dev = 1, .ino = amount };
	struct journal_record record = event(amount);
	return journal_write(at, &record, &details, sizeof(details), true);
}

static struct journal_header *header(void)
{
	return journal.header;
}

static unsigned char *unit(uint64_t number)
{
	return journal.units + number * JOURNAL_UNIT_BYTES;
}

static enum journal_found found_at(const struct journal *at, uint64_t number,
				   struct journal_entry *ret_entry)
{
	return journal_next(at, &number, ret_entry);
}

/* Walks from the start and counts what is found; index: enum journal_found. */
struct walk {
	size_t found[JOURNAL_FOUND_DAMAGED + 1];
	size_t events, texts, abandoned;
	uint64_t units; /* of records, the undone ones left out */
	uint64_t last_amount;
};

static struct walk walk(const struct journal *at)
{
	struct walk result = { .events = 0 };
	uint64_t number = JOURNAL_UNITS_FIRST;
	struct journal_entry entry;
	enum journal_found found;

	while ((found = journal_next(at, &number, &entry)) != JOURNAL_FOUND_END) {
		result.found[found]++;
		if (found == JOURNAL_FOUND_UNDONE)
			number = journal_behind_undone(at, number);
		if (found != JOURNAL_FOUND_RECORD)
			continue;
		result.units += entry.record.head.units;
		result.texts += entry.record.head.op == JOURNAL_TEXT;
		result.abandoned += entry.record.head.op == JOURNAL_ABANDONED;
		if (entry.record.head.op == JOURNAL_OPEN) {
			result.events++;
			result.last_amount = entry.record.amount;
		}
	}
	return result;
}

static size_t count_files(const char *place)
{
	DIR *directory = opendir(place);
	size_t count = 0;
	must(directory);
	while (readdir(directory))
		count++;
	must(closedir(directory) == 0);
	return count;
}

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

/* ---- mapping ---- */

static int (*const MAPS[])(const char *, struct journal *) = { journal_map, journal_map_to_read,
							       journal_map_windows };

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

static size_t count_mappings(void)
{
	static char maps[1 << 17];
	size_t count = 0;
	must(sys_read_file("/proc/self/maps", maps, sizeof(maps)) > 0);
	for (const char *at = maps; (at = strstr(at, path)); at++)
		count++;
	return count;
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

/* ---- writers that die, or are taken for dead ---- */

static bool sealed_in_time;

/* A writer's clock: it reserved and, where it has several units, said so. */
static int dies(clockid_t clock, struct timespec *ret_time)
{
	(void)clock, (void)ret_time;
	_exit(0);
}

static int is_taken_for_dead(clockid_t clock, struct timespec *ret_time)
{
	uint64_t number = JOURNAL_UNITS_FIRST;
	struct journal_entry entry;
	while (journal_next(&journal, &number, &entry) == JOURNAL_FOUND_RECORD)
		;
	sealed_in_time = journal_abandon(&journal, number);
	return clock_gettime(clock, ret_time);
}

static int write_with_clock(void *data)
{
	struct journal_record record = event(1);
	struct journal_details details = { .dev = 1 };
	record.time_realtime_ns = 0;
	return journal_write(&journal, &record, &details,
			     *(const size_t *)data * JOURNAL_UNIT_BYTES, false)
		       ? 2
		       : 1;
}

Test(journal, of_a_writer_that_died_nothing_is_believed)
{
	struct journal_entry entry;
	for (size_t units = 0; units <= 2; units += 2) {
		uint64_t number = header()->next;
		sys_clock_gettime = dies;
		cr_assert_eq(in_child(write_with_clock, &units), 0);
		sys_clock_gettime = clock_gettime;
		uint32_t after = append(&journal, 100 + units, false);
		cr_assert_eq(after, number + 1 + units);
		uint64_t at = number;
		cr_assert_eq(journal_next(&journal, &at, &entry), JOURNAL_FOUND_UNDONE);
		cr_assert_eq(at, number, "stays");
		cr_assert_eq(entry.number, number);
		cr_assert_eq(journal_behind_undone(&journal, number), after);
		cr_assert_eq(found_at(&journal, after, &entry), JOURNAL_FOUND_RECORD);
		cr_assert_eq(entry.record.amount, 100 + units);

		cr_assert(journal_abandon(&journal, number));
		cr_assert(!journal_abandon(&journal, number), "done already");
		cr_assert_eq(journal_next(&journal, &at, &entry), JOURNAL_FOUND_RECORD);
		cr_assert_eq(entry.record.head.op, JOURNAL_ABANDONED);
		cr_assert_eq(at, after);
	}
	cr_assert(!journal_abandon(&journal, header()->workspace), "a record that was published");
	cr_assert(!journal_abandon(&journal, 0) && !journal_abandon(&journal, UINT64_MAX));
}

Test(journal, of_a_writer_that_died_before_it_said_how_many_units)
{
	uint64_t number = header()->next;
	struct journal_entry entry;
	header()->next += 3; /* it reserved, no more */
	uint32_t after = append(&journal, 1, false);
	for (uint64_t i = number; i < after; i++) {
		cr_assert_eq(found_at(&journal, i, &entry), JOURNAL_FOUND_UNDONE);
		cr_assert_eq(journal_behind_undone(&journal, i), i + 1);
	}
	struct walk before = walk(&journal);
	cr_assert_eq(before.events, 1);
	cr_assert_eq(before.found[JOURNAL_FOUND_UNDONE], 3);
	for (uint64_t i = number; i < after; i++)
		cr_assert(journal_abandon(&journal, i));
	struct walk sealed = walk(&journal);
	cr_assert_eq(sealed.abandoned, 3);
	cr_assert_eq(sealed.events, 1);
	cr_assert_eq(sealed.units + JOURNAL_UNITS_FIRST, header()->next);
}

Test(journal, a_writer_that_was_only_slow_may_not_publish)
{
	for (size_t units = 0; units <= 2; units += 2) {
		uint64_t lost = header()->lost, number = header()->next;
		struct journal_entry entry;
		sealed_in_time = false;
		sys_clock_gettime = is_taken_for_dead;
		int wrote = write_with_clock(&units);
		sys_clock_gettime = clock_gettime;
		cr_assert(sealed_in_time);
		cr_assert_eq(wrote, 1, "it reported that its record counts");
		cr_assert_eq(header()->lost, lost + 1);
		cr_assert_eq(found_at(&journal, number, &entry), JOURNAL_FOUND_RECORD);
		cr_assert_eq(entry.record.head.op, JOURNAL_ABANDONED);
		cr_assert_eq(entry.record.amount, 0, "nothing states what it wrote");
		cr_assert_eq(header()->next, number + 1 + units);
	}
	cr_assert_eq(walk(&journal).found[JOURNAL_FOUND_DAMAGED], 0);
}

Test(journal, a_record_that_a_view_ends_in_is_whole_for_all)
{
	struct journal_entry entry;
	struct journal small;
	size_t units = 2;
	uint64_t number = JOURNAL_CHUNK_UNITS - 2;

	cr_assert_eq(journal_map_to_read(path, &other), 0);
	header()->next = number;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	sys_clock_gettime = dies;
	cr_assert_eq(in_child(write_with_clock, &units), 0);
	sys_clock_gettime = clock_gettime;
	uint32_t after = append(&journal, 1, false);
	cr_assert_eq(journal_behind_undone(&other, number), after, "not into the middle of it");
	small = journal; /* as in a process with little room */
	small.mapped_units = JOURNAL_CHUNK_UNITS;
	cr_assert(journal_abandon(&small, number));
	cr_assert_eq(found_at(&other, number, &entry), JOURNAL_FOUND_END, "for this view");
	cr_assert_eq(journal_next(&journal, &number, &entry), JOURNAL_FOUND_RECORD);
	cr_assert_eq(number, after);
}

Test(journal, what_is_published_while_one_passes_over_it_is_not_split)
{
	/* A reader found it undone; until it asks what lies behind, it is done. */
	uint64_t number = header()->next;
	struct journal_entry entry;
	header()->next += 3;
	cr_assert_eq(found_at(&journal, number, &entry), JOURNAL_FOUND_UNDONE);
	header()->next = number;
	cr_assert_eq(append_details(&journal, 5), number);
	uint64_t next = journal_behind_undone(&journal, number);
	cr_assert_eq(next, number, "it is to be read now, not %lu", next);
}

/* ---- room ---- */

Test(journal, grows_by_chunks_and_every_view_sees_it)
{
	cr_assert_eq(journal_map(path, &other), 0);
	uint64_t written = 0, chunks = 1;
	struct stat stat_;
	while (append(&journal, ++written, true)) {
		if (header()->allocated == chunks * JOURNAL_CHUNK_UNITS)
			continue;
		chunks++;
		cr_assert_eq(header()->allocated, chunks * JOURNAL_CHUNK_UNITS);
		cr_assert_eq(stat(path, &stat_), 0);
		cr_assert_eq(stat_.st_size, (off_t)chunks * MIB);
		cr_assert_geq(stat_.st_blocks * 512, (off_t)chunks * MIB);
		/* The other view writes there without a call. */
		cr_assert_neq(append(&other, ++written, false), 0);
	}
	cr_assert_eq(chunks, MAX_BYTES / MIB);
	cr_assert_eq(header()->lost, 1);
	cr_assert_eq(append(&other, 0, true), 0);
	cr_assert_eq(header()->lost, 2);
	cr_assert_eq(header()->full_errno, 0, "it is as long as it may be");
	cr_assert_eq(header()->next, header()->units_max);
	struct walk all = walk(&other);
	cr_assert_eq(all.events, written - 1);
	cr_assert_eq(all.found[JOURNAL_FOUND_DAMAGED] + all.found[JOURNAL_FOUND_UNDONE], 0);
	/* A small one may still fit where a large one does not. */
	header()->next -= 2;
	memset(unit(header()->next), 0, 2 * JOURNAL_UNIT_BYTES);
	cr_assert_eq(append_details(&journal, 0), 0);
	cr_assert_eq(journal_text(&journal, "abc", 3, true), header()->units_max - 2);
}

Test(journal, makes_no_system_call_where_it_may_not_grow)
{
	uint64_t written = 0;
	while (append(&journal, written + 1, false))
		written++;
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
	cr_assert_eq(header()->next, JOURNAL_CHUNK_UNITS);
	cr_assert_eq(header()->lost, 1);
	cr_assert_eq(journal_text(&journal, "abc", 3, false), 0);
	journal_lost(&journal);
	cr_assert_eq(header()->lost, 3);
	cr_assert_neq(append(&journal, ++written, true), 0);
	cr_assert_eq(walk(&journal).last_amount, written);
}

Test(journal, room_is_made_beforehand)
{
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS, "enough is there");
	header()->next = JOURNAL_CHUNK_UNITS - 100;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	cr_assert_eq(header()->allocated, 2 * JOURNAL_CHUNK_UNITS);
	header()->next = header()->units_max - 10;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS); /* there is no such room */
	cr_assert_geq(header()->lost, 0);
}

Test(journal, one_that_was_cut_short_does_not_grow)
{
	struct stat found;

	must(truncate(path, 8192) == 0);
	header()->next = JOURNAL_CHUNK_UNITS - 100;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
	must(stat(path, &found) == 0);
	cr_assert_eq(found.st_size, 8192, "who finds it can tell");
}

/* How often the kernel had to be asked for a page when one byte was stored to each of these units' pages. */
static long faults(uint64_t first, uint64_t behind)
{
	struct rusage before, after;

	cr_assert_eq(getrusage(RUSAGE_SELF, &before), 0);
	for (uint64_t number = first; number < behind; number += 4096 / JOURNAL_UNIT_BYTES)
		(void)__atomic_fetch_or(unit(number), 0, __ATOMIC_RELAXED);
	cr_assert_eq(getrusage(RUSAGE_SELF, &after), 0);
	return after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
}

Test(journal, pages_are_touched_beforehand)
{
	const uint64_t first = 1000, behind = 6005, page = 4096 / JOURNAL_UNIT_BYTES;
	uint64_t end = behind / page * page, pages = (end - first) / page;

	cr_assert_eq(journal_touch(&journal, first, behind), end);
	/* a sanitizer's own pages about these are touched for the first time, too */
	cr_assert_lt(faults(first, end), (long)pages / 4);
	cr_assert_geq(faults(end, end + (end - first)), (long)pages - 10);
	cr_assert_eq(journal_touch(&journal, end, end + 1), end, "no whole page");
	/* nothing is touched that there are no blocks for, and nothing is written */
	cr_assert_eq(journal_touch(&journal, 1000, UINT64_MAX), JOURNAL_CHUNK_UNITS);
	cr_assert_eq(journal_touch(&journal, JOURNAL_CHUNK_UNITS, UINT64_MAX), JOURNAL_CHUNK_UNITS);
	cr_assert_eq(walk(&journal).last_amount, 0);
	cr_assert_neq(append(&journal, 7, true), 0);
	cr_assert_eq(walk(&journal).last_amount, 7);
}

static int others_grow_it(clockid_t clock, struct timespec *ret_time)
{
	uint64_t next = header()->next;
	sys_clock_gettime = clock_gettime;
	header()->next = 3 * JOURNAL_CHUNK_UNITS;
	journal_make_room(&other, JOURNAL_ROOM_UNITS);
	header()->next = next;
	return clock_gettime(clock, ret_time);
}

Test(journal, who_grows_it_slowly_takes_nothing_back)
{
	cr_assert_eq(journal_map(path, &other), 0);
	while (append(&journal, 1, false))
		;
	sys_clock_gettime = others_grow_it; /* when this one has seen how long it is */
	cr_assert_neq(append(&journal, 1, true), 0);
	cr_assert_eq(header()->allocated, 4 * JOURNAL_CHUNK_UNITS);
}

enum { LAST_UNIT_ROUNDS = 50000 };

/* Goes on when both threads are here: together, if there are two processors. */
static void meet(int *here, int count)
{
	(void)__atomic_add_fetch(here, 1, __ATOMIC_SEQ_CST);
	for (int turn = 1; __atomic_load_n(here, __ATOMIC_SEQ_CST) < count; turn++)
		if (turn % 4096 == 0)
			(void)sched_yield();
}

static void *reserve_last_unit(void *data)
{
	static int here[2];
	uint64_t *taken = data;
	for (int i = 1; i <= LAST_UNIT_ROUNDS; i++) {
		if (taken[1] == 0) {
			memset(unit(JOURNAL_CHUNK_UNITS - 1), 0, JOURNAL_UNIT_BYTES);
			__atomic_store_n(&header()->next, JOURNAL_CHUNK_UNITS - 1,
					 __ATOMIC_SEQ_CST);
		}
		meet(&here[0], 2 * i);
		taken[0] += append(&journal, 1, true) != 0;
		meet(&here[1], 2 * i);
	}
	return NULL;
}

Test(journal, the_last_unit_is_given_to_one)
{
	/* Two that saw it free at once: what the second one takes lies behind the end of the file. */
	pthread_t id;
	uint64_t taken[2][2] = { { 0, 0 }, { 0, 1 } }; /* how often; which thread */

	header()->can_grow = 0;
	cr_assert_eq(pthread_create(&id, NULL, reserve_last_unit, taken[1]), 0);
	(void)reserve_last_unit(taken[0]);
	cr_assert_eq(pthread_join(id, NULL), 0);
	cr_assert_eq(taken[0][0] + taken[1][0], LAST_UNIT_ROUNDS);
	cr_assert_eq(header()->lost, LAST_UNIT_ROUNDS);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
}

Test(journal, a_damaged_count_of_units_is_no_index)
{
	static const uint64_t NEXTS[] = { 0,
					  1,
					  JOURNAL_UNITS_FIRST - 1,
					  UINT32_MAX,
					  (uint64_t)UINT32_MAX + 1,
					  UINT64_MAX,
					  UINT64_MAX - 1,
					  UINT64_MAX - 2,
					  UINT64_MAX - 3,
					  UINT64_MAX - JOURNAL_UNITS_FIRST,
					  (uint64_t)1 << 63 };
	struct journal_entry entry;
	unsigned char before[4096 + 4096];
	uint64_t number;
	for (size_t i = 0; i < sizeof(NEXTS) / sizeof(NEXTS[0]); i++) {
		for (int grow = 0; grow < 2; grow++) {
			header()->next = NEXTS[i];
			memcpy(before + 4096, journal.known, 4096);
			cr_assert_eq(append(&journal, 1, grow), 0, "%lx", NEXTS[i]);
			header()->next = NEXTS[i];
			cr_assert_eq(append_details(&journal, 1), 0, "%lx", NEXTS[i]);
			header()->next = NEXTS[i];
			cr_assert_eq(journal_text(&journal, "new", 3, grow), 0, "%lx", NEXTS[i]);
			cr_assert_eq(memcmp(before + 4096, journal.known, 4096), 0);
			cr_assert_eq(header()->magic, JOURNAL_MAGIC);
			journal_make_room(&journal, JOURNAL_ROOM_UNITS);
			number = NEXTS[i];
			cr_assert_eq(journal_next(&journal, &number, &entry), JOURNAL_FOUND_END);
			cr_assert_leq(journal_end_unit(&journal), journal.mapped_units);
		}
	}
}

static int write_in_a_limit(void *data)
{
	const struct rlimit *limit = data;
	uint64_t written = 0;
	must(setrlimit(RLIMIT_FSIZE, limit) == 0);
	while (append(&journal, written + 1, true))
		written++;
	must(header()->lost == 1);
	must(header()->allocated == limit->rlim_cur / JOURNAL_UNIT_BYTES);
	return written > JOURNAL_CHUNK_UNITS ? 0 : 1;
}

Test(journal, a_process_that_may_not_write_so_much_gets_no_signal)
{
	struct rlimit limit = { 2 * MIB, 2 * MIB };
	cr_assert_eq(in_child(write_in_a_limit, &limit), 0);
	cr_assert_eq(header()->full_errno, 0, "the others may go on");
	cr_assert_neq(append(&journal, 1, true), 0);
	cr_assert_eq(header()->allocated, 3 * JOURNAL_CHUNK_UNITS);
}

static int map_in_a_limit(void *data)
{
	struct rlimit limit = { *(rlim_t *)data, *(rlim_t *)data };
	must(setrlimit(RLIMIT_AS, &limit) == 0);
	int error = journal_map(path, &other);
	if (error < 0)
		return -error;
	while (append(&other, 1, true))
		;
	return other.mapped_units == JOURNAL_CHUNK_UNITS &&
			       other.header->allocated == JOURNAL_CHUNK_UNITS
		       ? 0
		       : 1;
}

Test(journal, a_process_with_little_room_keeps_it)
{
#if defined(__SANITIZE_ADDRESS__)
	cr_skip_test("AddressSanitizer needs terabytes");
#endif
	const uint64_t max_bytes = UINT64_C(4) << 30;
	rlim_t little = (rlim_t)max_bytes * 16 - 1, less = (rlim_t)MIB * 16 - 1;
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE, max_bytes), 0);
	cr_assert_eq(in_child(map_in_a_limit, &little), 0, "maps what is there");
	cr_assert_eq(in_child(map_in_a_limit, &less), ENOMEM);
}

Test(journal, another_file_in_its_place_is_left_alone)
{
	char old_path[160];
	struct stat stat_;
	uint64_t written = 0;
	(void)snprintf(old_path, sizeof(old_path), "%s.old", path);
	cr_assert_eq(rename(path, old_path), 0);
	write_path(path, "mine", 4);
	while (append(&journal, written + 1, true))
		written++;
	cr_assert_eq(written, JOURNAL_CHUNK_UNITS - JOURNAL_UNITS_FIRST - 1);
	cr_assert_eq(stat(path, &stat_), 0);
	cr_assert_eq(stat_.st_size, 4);
	cr_assert_null(journal.path, "it does not try again");
	/* Nor is a link followed, to the journal itself even. */
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink(old_path, path), 0);
	journal.path = path;
	cr_assert_eq(append(&journal, 1, true), 0);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
	journal.path = old_path;
	cr_assert_neq(append(&journal, 1, true), 0);
}

/* ---- windows ---- */

enum { WINDOWS = 4, WINDOW_BYTES = JOURNAL_WINDOW_UNITS * JOURNAL_UNIT_BYTES };

static struct journal third;

/* A journal of four windows and a bit, and `journal` a view of all of it. */
static void setup_windows(void)
{
	setup();
	journal_unmap(&journal);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE,
				    (uint64_t)WINDOWS * WINDOW_BYTES + 2 * MIB),
		     0);
	cr_assert_eq(journal_map(path, &journal), 0);
	cr_assert_eq(journal_map_windows(path, &other), 0);
	cr_assert_eq(other.window_units, JOURNAL_WINDOW_UNITS);
	cr_assert_eq(other.windows_used, 1);
}

static void teardown_windows(void)
{
	journal_unmap(&third);
	teardown();
}

TestSuite(journal_windows, .init = setup_windows, .fini = teardown_windows);

/* The file has room up to there, and the next record comes there. */
static void go_to(uint64_t number)
{
	header()->next = number;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	cr_assert_geq(header()->allocated, number + JOURNAL_ROOM_UNITS);
}

/* Where the first window of `other` ends. */
static uint64_t first_window_limit(void)
{
	return other.windows[0].to;
}

Test(journal_windows, one_follows_the_other, .timeout = 60)
{
	uint64_t written = 0;
	uint32_t number, last = 0;
	while ((number = append(&other, written + 1, true))) {
		cr_assert(last == 0 || number == last + 1, "after %u came %u", last, number);
		last = number;
		written++;
	}
	cr_assert_gt(written, (uint64_t)WINDOWS * JOURNAL_WINDOW_UNITS);
	cr_assert_eq(other.windows_used, WINDOWS + 1);
	cr_assert_eq(header()->next, header()->units_max);
	cr_assert_eq(header()->lost, 1, "the last one, that there was no room for");
	struct walk all = walk(&journal);
	cr_assert_eq(all.events, written);
	cr_assert_eq(all.last_amount, written);
	cr_assert_eq(all.found[JOURNAL_FOUND_DAMAGED] + all.found[JOURNAL_FOUND_UNDONE], 0);
	/* What it needs is there, and nothing twice: the whole view; the first window, with what lies before it; the others. */
	cr_assert_eq(count_mappings(), 1 + WINDOWS + 1);
}

Test(journal_windows, a_record_at_the_end_goes_on_behind_it)
{
	static unsigned char details[(JOURNAL_RECORD_UNITS_MAX - 1) * JOURNAL_UNIT_BYTES];
	static const size_t UNITS[] = { 2, 3, 5, 64, 65, JOURNAL_RECORD_UNITS_MAX };
	struct journal_entry entry;

	memset(details, 9, sizeof(details));
	for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
		for (uint64_t before = 1; before < UNITS[i]; before += before < 3 ? 1 : 61) {
			struct journal_record record = event(before);
			uint64_t number = first_window_limit() - before;
			go_to(number);
			memset(unit(number), 0, 2 * sizeof(details));
			cr_assert_eq(journal_write(&other, &record, details,
						   (UNITS[i] - 1) * JOURNAL_UNIT_BYTES, true),
				     number);
			cr_assert_eq(found_at(&journal, (uint32_t)number, &entry),
				     JOURNAL_FOUND_RECORD, "%zu units, %lu before the end",
				     UNITS[i], before);
			cr_assert_eq(entry.record.amount, before);
			cr_assert_eq(entry.record.head.units, UNITS[i]);
			cr_assert_eq(unit(number)[UNITS[i] * JOURNAL_UNIT_BYTES - 1], 9);
			cr_assert_eq(unit(number)[UNITS[i] * JOURNAL_UNIT_BYTES], 0);
			/* The next one lies behind it. */
			cr_assert_eq(append(&other, 1, true), number + UNITS[i]);
			cr_assert_eq(found_at(&journal, (uint32_t)(number + UNITS[i]), &entry),
				     JOURNAL_FOUND_RECORD);
		}
	}
	cr_assert_eq(header()->lost, 0);
	cr_assert_eq(other.windows_used, 2, "the second one is mapped once");
	char text[JOURNAL_TEXT_BYTES_MAX];
	size_t length;
	memset(text, 'x', sizeof(text));
	go_to(first_window_limit() - 1);
	memset(unit(first_window_limit() - 1), 0, sizeof(text) + sizeof(details));
	uint32_t number = journal_text(&other, text, sizeof(text), true);
	cr_assert_eq(number, first_window_limit() - 1);
	const char *kept = journal_bytes(&other, number, &length);
	cr_assert(kept && length == sizeof(text) && memcmp(kept, text, length) == 0);
	kept = journal_bytes(&journal, number, &length);
	cr_assert(kept && length == sizeof(text) && memcmp(kept, text, length) == 0);
}

Test(journal_windows, views_far_apart_write_to_the_same_place)
{
	struct journal_entry entry;
	uint32_t numbers[6];
	cr_assert_neq(append(&other, 1, false), 0);
	go_to(3 * (uint64_t)JOURNAL_WINDOW_UNITS + 5);
	cr_assert_eq(journal_map_windows(path, &third), 0);
	cr_assert_geq(third.windows[0].from, 3 * JOURNAL_WINDOW_UNITS - JOURNAL_WINDOW_BEFORE - 64);
	for (size_t i = 0; i < 6; i++) {
		numbers[i] = append(i % 2 ? &third : &other, i, true);
		cr_assert(numbers[i] && (i == 0 || numbers[i] == numbers[i - 1] + 1));
	}
	cr_assert_eq(other.windows_used, 2, "it did not map what lies between");
	cr_assert_eq(third.windows_used, 1);
	for (size_t i = 0; i < 6; i++) {
		const struct journal *views[] = { &journal, &other, &third };
		for (size_t k = 0; k < 3; k++) {
			cr_assert_eq(found_at(views[k], numbers[i], &entry), JOURNAL_FOUND_RECORD);
			cr_assert_eq(entry.record.amount, i);
		}
	}
	/* Back to where it was: the first window is still good. */
	header()->next = JOURNAL_UNITS_FIRST + 10;
	cr_assert_eq(append(&other, 7, false), JOURNAL_UNITS_FIRST + 10);
	cr_assert_eq(append(&third, 8, true), JOURNAL_UNITS_FIRST + 11);
	cr_assert_eq(found_at(&journal, JOURNAL_UNITS_FIRST + 11, &entry), JOURNAL_FOUND_RECORD);
	cr_assert_eq(entry.record.amount, 8);
}

Test(journal_windows, one_that_comes_late_sees_only_what_it_writes_to)
{
	struct journal_entry entry;
	size_t length;
	go_to(2 * (uint64_t)JOURNAL_WINDOW_UNITS + 100);
	uint64_t here = header()->next;
	cr_assert_eq(journal_map_windows(path, &third), 0);
	cr_assert_leq(third.windows[0].from, here - JOURNAL_WINDOW_BEFORE);
	cr_assert_gt(third.windows[0].from + 64, here - JOURNAL_WINDOW_BEFORE);
	cr_assert_eq(append(&third, 5, false), here, "without a call");
	cr_assert_eq(found_at(&third, (uint32_t)here, &entry), JOURNAL_FOUND_RECORD);
	/* What lies before is not there, and not touched. */
	cr_assert_null(journal_bytes(&third, header()->workspace, &length));
	cr_assert_eq(found_at(&third, JOURNAL_UNITS_FIRST, &entry), JOURNAL_FOUND_END);
	cr_assert(!journal_abandon(&third, JOURNAL_UNITS_FIRST));
	cr_assert_eq(journal_behind_undone(&third, 1000), 1001);
	cr_assert_not_null(journal_bytes(&journal, header()->workspace, &length));
}

Test(journal_windows, where_it_may_not_grow_the_end_of_a_window_is_the_end)
{
	go_to(first_window_limit() - 2);
	uint64_t next = header()->next;
	cr_assert_eq(append(&other, 1, false), next);
	cr_assert_eq(append(&other, 2, false), next + 1);
	cr_assert_eq(header()->lost, 0);
	cr_assert_eq(append(&other, 3, false), 0, "the file has room, the view has not");
	cr_assert_eq(journal_text(&other, "new", 3, false), 0);
	cr_assert_eq(header()->lost, 2);
	cr_assert_eq(header()->next, next + 2, "nothing was taken");
	cr_assert_eq(other.windows_used, 1);
	cr_assert_eq(append(&journal, 4, false), next + 2, "others go on");
	cr_assert_eq(append(&other, 5, true), next + 3);
	cr_assert_eq(append(&other, 6, false), next + 4, "from there on without a call");
	cr_assert_eq(header()->lost, 2);
}

Test(journal_windows, a_text_of_another_window_is_written_again)
{
	size_t length;
	uint32_t first = journal_text(&other, "text", 4, true);
	cr_assert_eq(journal_text(&other, "text", 4, true), first);
	go_to(2 * (uint64_t)JOURNAL_WINDOW_UNITS);
	cr_assert_eq(journal_map_windows(path, &third), 0);
	uint32_t again = journal_text(&third, "text", 4, true);
	cr_assert_eq(again, 2 * JOURNAL_WINDOW_UNITS);
	cr_assert_eq(journal_text(&third, "text", 4, true), again, "known here now");
	/* Both views now have a window there. */
	cr_assert_eq(append(&other, 1, true), again + 1);
	cr_assert_eq(journal_text(&other, "text", 4, true), again);
	const char *text = journal_bytes(&journal, again, &length);
	cr_assert(text && length == 4 && memcmp(text, "text", 4) == 0);
}

Test(journal_windows, without_windows_left_it_is_counted)
{
	go_to(first_window_limit());
	other.windows_used = JOURNAL_WINDOWS_MAX; /* none of them mapped but the first */
	cr_assert_eq(append(&other, 1, true), 0);
	cr_assert_eq(append(&other, 1, true), 0);
	cr_assert_eq(other.windows_used, JOURNAL_WINDOWS_MAX);
	cr_assert_eq(header()->lost, 2);
	cr_assert_eq(header()->next, first_window_limit());
	header()->next = JOURNAL_UNITS_FIRST + 10;
	cr_assert_neq(append(&other, 1, true), 0, "where it has one");
	journal_unmap(&other);
	cr_assert_eq(count_mappings(), 1);
}

Test(journal_windows, another_file_gives_no_window)
{
	char old_path[160];
	(void)snprintf(old_path, sizeof(old_path), "%s.old", path);
	go_to(first_window_limit());
	cr_assert_eq(rename(path, old_path), 0);
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE, (uint64_t)64 * MIB), 0);
	cr_assert_eq(append(&other, 1, true), 0);
	cr_assert_eq(header()->lost, 1);
	cr_assert_null(other.path, "it does not try again");
	cr_assert_eq(other.windows_used, 1);
	journal_unmap(&other);
	journal_unmap(&journal);
	cr_assert_eq(unlink(old_path), 0);
	cr_assert_eq(journal_map(path, &journal), 0);
	cr_assert_eq(header()->next, header()->workspace + 1 + (sizeof(WORKSPACE) + 7) / 64,
		     "nothing was written there");
}

Test(journal_windows, a_damaged_count_of_units_maps_nothing)
{
	static const uint64_t NEXTS[] = { 0,
					  1,
					  JOURNAL_UNITS_FIRST - 1,
					  UINT32_MAX,
					  (uint64_t)UINT32_MAX + 1,
					  UINT64_MAX,
					  UINT64_MAX - 1,
					  (uint64_t)1 << 63 };
	for (size_t i = 0; i < sizeof(NEXTS) / sizeof(NEXTS[0]); i++) {
		for (int grow = 0; grow < 2; grow++) {
			header()->next = NEXTS[i];
			cr_assert_eq(append(&other, 1, grow), 0, "%lx", NEXTS[i]);
			header()->next = NEXTS[i];
			cr_assert_eq(append_details(&other, 1), 0, "%lx", NEXTS[i]);
			header()->next = NEXTS[i];
			cr_assert_eq(journal_text(&other, "new", 3, grow), 0, "%lx", NEXTS[i]);
			journal_make_room(&other, JOURNAL_ROOM_UNITS);
		}
		header()->next = NEXTS[i];
		int error = journal_map_windows(path, &third);
		cr_assert(error == -EBADMSG || (error == 0 && NEXTS[i] == UINT32_MAX), "%lx: %d",
			  NEXTS[i], error);
		journal_unmap(&third);
	}
	cr_assert_eq(other.windows_used, 1);
	cr_assert_eq(header()->magic, JOURNAL_MAGIC);
}

static char maps_before[1 << 17], maps_after[1 << 17];

Test(journal_windows, leave_neither_descriptors_nor_mappings, .timeout = 60)
{
	size_t files = count_files("/proc/self/fd");
	journal_unmap(&other);
	must(sys_read_file("/proc/self/maps", maps_before, sizeof(maps_before)) > 0);
	int error = journal_map_windows(path, &other);
	uint64_t written = 0;
	while (append(&other, 1, true))
		written++;
	uint32_t used = other.windows_used;
	journal_unmap(&other);
	must(sys_read_file("/proc/self/maps", maps_after, sizeof(maps_after)) > 0);
	cr_assert_eq(error, 0);
	cr_assert_eq(used, WINDOWS + 1);
	cr_assert_gt(written, WINDOWS * JOURNAL_WINDOW_UNITS);
	cr_assert_str_eq(maps_before, maps_after);
	cr_assert_eq(count_files("/proc/self/fd"), files);
	journal_unmap(&other); /* accepts one that is not mapped */
	header()->version++;
	cr_assert_eq(journal_map_windows(path, &other), -EPROTO);
	header()->version--;
	header()->next = 0;
	cr_assert_eq(journal_map_windows(path, &other), -EBADMSG);
	must(sys_read_file("/proc/self/maps", maps_after, sizeof(maps_after)) > 0);
	cr_assert_str_eq(maps_before, maps_after);
}

/* Limits itself when it has a window, as much as `data` says, and writes on. */
static int write_in_a_later_limit(void *data)
{
	struct rlimit limit = { *(rlim_t *)data, *(rlim_t *)data };
	uint64_t written = 0;
	must(setrlimit(RLIMIT_AS, &limit) == 0);
	while (append(&other, written + 1, true))
		written++;
	must(header()->lost == 1);
	must(walk(&journal).events == written);
	return (int)other.windows_used;
}

static int map_windows_in_a_limit(void *data)
{
	struct rlimit limit = { *(rlim_t *)data, *(rlim_t *)data };
	must(setrlimit(RLIMIT_AS, &limit) == 0);
	return -journal_map_windows(path, &third);
}

Test(journal_windows, a_process_with_little_room_keeps_it, .timeout = 60)
{
#if defined(__SANITIZE_ADDRESS__)
	cr_skip_test("AddressSanitizer needs terabytes");
#endif
	/* A window is refused where it is more than a sixteenth of what there is. */
	rlim_t little = (rlim_t)16 * WINDOW_BYTES - 1, enough = (rlim_t)64 * WINDOW_BYTES;
	cr_assert_eq(in_child(map_windows_in_a_limit, &little), ENOMEM);
	cr_assert_eq(in_child(map_windows_in_a_limit, &enough), 0);
	cr_assert_eq(in_child(write_in_a_later_limit, &little), 1, "the window that it has");
	cr_assert_eq(header()->next, first_window_limit());
	header()->lost = 0;
	cr_assert_neq(append(&other, 1, true), 0, "others go on");
}

/* ---- a full disk ---- */

enum { FULL_WRITERS = 4, FULL_REFUSALS = 20000, SPARE_BYTES = 300 << 10, BALLAST_MIB = 2 };

struct full {
	uint64_t written[FULL_WRITERS], refused[FULL_WRITERS];
};

static bool write_to(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		(void)close(fd);
	return done;
}

/* Mounts of one's own, which no other process sees. */
static bool enter_namespace(void)
{
	char map[32];
	unsigned user = geteuid(), group = getegid();

	if (unshare(CLONE_NEWNS) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
			return false;
		(void)snprintf(map, sizeof(map), "0 %u 1", user);
		if (!write_to("/proc/self/uid_map", map))
			return false;
		(void)snprintf(map, sizeof(map), "0 %u 1", group);
		if (!write_to("/proc/self/setgroups", "deny") ||
		    !write_to("/proc/self/gid_map", map))
			return false;
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Several processes write until each was refused often. */
static void write_until_full(struct full *full)
{
	pid_t pids[FULL_WRITERS];
	for (size_t i = 0; i < FULL_WRITERS; i++) {
		pids[i] = fork();
		must(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		struct journal mine;
		must(journal_map(path, &mine) == 0);
		for (uint64_t amount = 1; full->refused[i] < FULL_REFUSALS; amount++)
			if (append(&mine, amount, true))
				full->written[i]++;
			else
				full->refused[i]++;
		_exit(0);
	}
	for (size_t i = 0; i < FULL_WRITERS; i++) {
		int status;
		must(waitpid(pids[i], &status, 0) == pids[i]);
		if (status != 0)
			(void)fprintf(stderr, "a writer ended with status 0x%x\n", status);
		must(status == 0);
	}
}

static uint64_t sum(const uint64_t *values)
{
	uint64_t all = 0;
	for (size_t i = 0; i < FULL_WRITERS; i++)
		all += values[i];
	return all;
}

/* How often the file was opened since the last look. */
static size_t count_opens(int watch)
{
	char events[1 << 14] __attribute__((aligned(8)));
	size_t opens = 0;
	ssize_t got;
	while ((got = read(watch, events, sizeof(events))) > 0)
		for (char *at = events; at < events + got;) {
			struct inotify_event *found = (struct inotify_event *)(void *)at;
			must(!(found->mask & IN_Q_OVERFLOW));
			opens += (found->mask & IN_OPEN) != 0;
			at += sizeof(*found) + found->len;
		}
	return opens;
}

static int fill_disk(void *data)
{
	int chunks = *(int *)data;
	char place[100], options[64], ballast[128];
	struct full *full = mmap(NULL, sizeof(*full), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(full != MAP_FAILED);
	(void)snprintf(place, sizeof(place), "%s/small", world.root);
	(void)snprintf(path, sizeof(path), "%s/journal", place);
	(void)snprintf(ballast, sizeof(ballast), "%s/ballast", place);
	(void)snprintf(options, sizeof(options), "mode=700,size=%d",
		       (chunks + BALLAST_MIB) * MIB + SPARE_BYTES);
	must(mkdir(place, 0700) == 0);
	if (!enter_namespace() || mount("none", place, "tmpfs", 0, options) != 0)
		return SKIPPED;
	int fd = open(ballast, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0 && posix_fallocate(fd, 0, (off_t)BALLAST_MIB * MIB) == 0 && close(fd) == 0);

	struct journal full_journal;
	must(journal_create(path, "test", NONCE, WORKSPACE, (uint64_t)64 * MIB) == 0);
	must(journal_map(path, &full_journal) == 0);
	struct journal_header *head = full_journal.header;
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	must(watch >= 0 && inotify_add_watch(watch, path, IN_OPEN | IN_CLOSE) >= 0);
	for (int turn = 0; turn < 2; turn++) {
		uint64_t start_ns = sys_boottime_ns();
		write_until_full(full);
		uint64_t seconds = 1 + (sys_boottime_ns() - start_ns) / 1000000000u;
		size_t opens = count_opens(watch);
		uint64_t allocated = (uint64_t)(chunks + turn * BALLAST_MIB) * JOURNAL_CHUNK_UNITS;
		/* Each maps it, may grow every chunk, and tries once a second when it is full. */
		must(opens <= FULL_WRITERS * (1 + (uint64_t)chunks + BALLAST_MIB + seconds));
		must(head->full_errno == ENOSPC);
		must(head->allocated == allocated);
		must(head->lost == sum(full->refused));
		struct walk all = walk(&full_journal);
		must(all.found[JOURNAL_FOUND_DAMAGED] == 0);
		must(all.events == sum(full->written));
		must(all.units + all.found[JOURNAL_FOUND_UNDONE] + JOURNAL_UNITS_FIRST ==
		     allocated);
		must(all.found[JOURNAL_FOUND_UNDONE] <= FULL_WRITERS);
		if (turn == 1)
			break;
		/* Room again: no process checks before a second is over. */
		must(unlink(ballast) == 0);
		memset(full->refused, 0, sizeof(full->refused));
		head->lost = 0;
		must(head->full_realtime_ns != 0);
		head->full_realtime_ns = sys_realtime_ns();
		must(append(&full_journal, 1, true) == 0);
		head->lost = 0;
		if (chunks == 1)
			must(usleep(1100000) == 0);
		else
			head->full_realtime_ns -= 1100000000u;
	}
	return 0;
}

Test(journal, a_full_disk_ends_recording_and_nothing_else, .timeout = 120)
{
	for (int chunks = 1; chunks <= 8; chunks++) {
		int status = in_child(fill_disk, &chunks);
		if (status == SKIPPED)
			cr_skip_test("needs the right to mount");
		cr_assert_eq(status, 0, "%d chunks: ended with %d", chunks, status);
		(void)rmdir(path);
		char place[100];
		(void)snprintf(place, sizeof(place), "%s/small", world.root);
		cr_assert_eq(rmdir(place), 0);
	}
}
