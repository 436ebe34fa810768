/* pack_write.h: what is kept is read back as it was, and what cannot be kept is on record with the reason. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/resource.h>

#include "cli/undo/pack_reader.h"
#include "support.h"
#include "tracker/content/kept.h"
#include "tracker/content/pack_code.h"
#include "tracker/content/pack_find.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_window.h"
#include "tracker/content/pack_write.h"

static struct world world;

static void start(void)
{
	world_open(&world, "undo.max_bytes=1000000000", "undo.max_file_bytes=1000000",
		   "undo.reserve=0", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(pack_write, .init = start, .fini = stop);

static struct pack_note note_of(enum pack_kind kind, const char *path)
{
	return (struct pack_note){ .kind = kind, .path = path, .process = 7, .pid = 8 };
}

static uint64_t keep(const char *name, size_t size_bytes, unsigned seed)
{
	struct stat stat;

	world_fill(&world, name, size_bytes, seed);
	const char *path = world_path(&world, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && fstat(fd, &stat) == 0);
	struct pack_note note = note_of(PACK_CONTENT, path);
	note.before.size_bytes = size_bytes;
	note.before.ino = stat.st_ino;
	uint64_t place = pack_keep(&world.segment, &note, fd);
	must(close(fd) == 0);
	return place;
}

/* The n-th record. */
static struct pack_entry read_nth(struct pack_reader *reader, int n)
{
	struct pack_entry entry;

	cr_assert_eq(pack_reader_open(world.undo, reader), 0);
	for (int i = 0; i <= n; i++)
		cr_assert_eq(pack_reader_next(reader, &entry), 1);
	return entry;
}

static void assert_holds(const struct pack_reader *reader, const struct pack_record *record,
			 const char *name)
{
	struct content kept, there;
	int fd = pack_content_open(reader, record);

	cr_assert(fd >= 0, "%d", fd);
	cr_assert_eq(content_of_descriptor(fd, UINT64_MAX, &kept), 0);
	must(close(fd) == 0);
	fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	cr_assert_eq(content_of_descriptor(fd, UINT64_MAX, &there), 0);
	must(close(fd) == 0);
	cr_assert(version_equal(&kept.version, &there.version));
}

/* Another writer cuts the file off while it is read. */
Test(pack_write, a_file_that_got_shorter_leaves_no_damaged_record)
{
	struct pack_note note = note_of(PACK_CONTENT, "/w/file");
	struct pack_reader reader;
	struct pack_entry entry;

	world_fill(&world, "file", 1000, 1);
	int fd = open(world_path(&world, "file"), O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	note.before.size_bytes = 5000;
	(void)pack_keep(&world.segment, &note, fd);
	must(close(fd) == 0);
	(void)keep("other", 100, 2);
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	while (pack_reader_next(&reader, &entry) > 0)
		;
	cr_assert_eq(reader.damaged, 0);
	cr_assert_eq(entry.record.before.size_bytes, 100);
	pack_reader_close(&reader);
}

/* Another process kept the file, and may have changed it before it was read here. */
Test(pack_write, what_another_process_kept_meanwhile_has_no_second_record)
{
	struct pack_note note = note_of(PACK_CONTENT, "/w/file");
	struct pack_reader reader;
	struct pack_entry entry;

	for (size_t size_bytes = 100; size_bytes < 1000000; size_bytes *= 1000) {
		world_fill(&world, "file", size_bytes, 1);
		int fd = open(world_path(&world, "file"), O_RDONLY | O_CLOEXEC);
		must(fd >= 0);
		note.before.size_bytes = size_bytes;
		note.key = 77 + size_bytes;
		cr_assert_neq(pack_keep(&world.segment, &note, fd), PACK_NO_PLACE);
		kept_note(&world.segment, note.key);
		cr_assert_eq(pack_keep(&world.segment, &note, fd), PACK_NO_PLACE);
		must(close(fd) == 0);
	}
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_undo_records), 2);
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_eq(pack_reader_next(&reader, &entry), 0);
	cr_assert_eq(reader.damaged, 0);
	pack_reader_close(&reader);
}

/* That process counted what it could not keep. */
Test(pack_write, what_another_process_noted_meanwhile_is_counted_once)
{
	struct pack_note note = note_of(PACK_CONTENT, "/w/file");

	note.before.size_bytes = 100;
	note.reason = PACK_TOO_LARGE;
	note.key = 77;
	cr_assert_neq(pack_write(&world.segment, &note, PACK_NOT_KEPT, NULL, 0), PACK_NO_PLACE);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 1);
	kept_note(&world.segment, note.key);
	cr_assert_eq(pack_write(&world.segment, &note, PACK_NOT_KEPT, NULL, 0), PACK_NO_PLACE);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_undo_records), 1);
}

Test(pack_write, a_record_tells_what_its_note_said)
{
	struct pack_note note = note_of(PACK_RENAMED, "/w/from");
	struct pack_reader reader;

	note.other = "/w/to";
	note.what = 3;
	note.flags = PACK_EXTERNAL;
	note.amount = 12;
	note.before.mode = S_IFDIR | 0750;
	uint64_t place = pack_write(&world.segment, &note, PACK_NOT_TAKEN, NULL, 0);
	struct pack_entry entry = read_nth(&reader, 0);
	cr_assert_eq(entry.record.place, place);
	cr_assert_str_eq(entry.path, "/w/from");
	cr_assert_str_eq(entry.other, "/w/to");
	cr_assert_eq(entry.record.kind, PACK_RENAMED);
	cr_assert_eq(entry.record.what, 3);
	cr_assert_eq(entry.record.amount, 12);
	cr_assert_eq(entry.record.process, 7);
	cr_assert_eq(entry.record.flags, PACK_EXTERNAL);
	cr_assert_eq(entry.record.before.mode, S_IFDIR | 0750);
	cr_assert_eq(entry.record.result, PACK_CALLED);
	pack_reader_close(&reader);
	pack_fail(&world.segment, place);
	entry = read_nth(&reader, 0);
	cr_assert_eq(entry.record.result, PACK_FAILED);
	cr_assert_eq(pack_reader_next(&reader, &entry), 0);
	pack_reader_close(&reader);
}

static const char *path_of(char *text, size_t capacity, int number)
{
	static const char *const DIRECTORIES[] = { "/w/a directory/", "/w/a directory/below it/",
						   "/w/" };

	(void)snprintf(text, capacity, "%s%d", DIRECTORIES[number / 7 % 3], number);
	return text;
}

/* A directory that stands in an earlier record does not stand there once more: up to so many times. */
Test(pack_write, paths_in_one_directory_have_it_once)
{
	enum { COUNT = 300 };
	char path[100], other[100];
	uint64_t places[COUNT], sum = 0;
	struct pack_reader reader;
	struct pack_entry entry;

	for (int i = 0; i < COUNT; i++) {
		struct pack_note note = note_of(PACK_RENAMED, path_of(path, sizeof(path), i));
		note.other = path_of(other, sizeof(other), i % 5 ? i + 1 : i - 1);
		places[i] = pack_write(&world.segment, &note, PACK_NOT_TAKEN, NULL, 0);
	}
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	for (int i = 0; i < COUNT; i++) {
		cr_assert_eq(pack_reader_next(&reader, &entry), 1);
		cr_assert_eq(entry.record.place, places[i]);
		cr_assert_str_eq(entry.path, path_of(path, sizeof(path), i));
		cr_assert_str_eq(entry.other, path_of(other, sizeof(other), i % 5 ? i + 1 : i - 1));
		sum += entry.record.path_bytes;
	}
	cr_assert_eq(reader.damaged, 0);
	cr_assert_lt(sum, COUNT * 7, "%u", (unsigned)sum);
	pack_reader_close(&reader);
	for (int i = COUNT; i-- > 0;) { /* one by one, in any order */
		cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
		cr_assert_eq(pack_reader_at(&reader, places[i], &entry), 0);
		cr_assert_str_eq(entry.path, path_of(path, sizeof(path), i));
		pack_reader_close(&reader);
	}
}

Test(pack_write, a_damaged_record_takes_few_with_it)
{
	enum { COUNT = 500 };
	struct pack_reader reader;
	struct pack_entry entry;
	char path[sizeof(world.undo) + sizeof("/00000000.part")];
	int found = 0;

	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(path, sizeof(path), "/w/a directory/%d", i);
		struct pack_note note = note_of(PACK_CREATED, path);
		(void)pack_write(&world.segment, &note, PACK_NOT_TAKEN, NULL, 0);
	}
	(void)snprintf(path, sizeof(path), "%s/00000000.part", world.undo);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0 && pwrite(fd, "x", 1, 20) == 1 && close(fd) == 0);
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	while (pack_reader_next(&reader, &entry) == 1)
		found++;
	cr_assert_gt(reader.damaged, 0);
	cr_assert_geq(found, COUNT - 65, "%d", found);
	cr_assert_lt(found, COUNT);
	pack_reader_close(&reader);
}

Test(pack_write, contents_of_all_sizes_come_back)
{
	static const size_t SIZES[] = { 0,     1,     63,    64,    4096,  16384,
					16385, 65535, 65536, 65537, 999999 };
	struct pack_reader reader;

	for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "f%zu", i);
		cr_assert_neq(keep(name, SIZES[i], (unsigned)i), PACK_NO_PLACE);
		struct pack_entry entry = read_nth(&reader, (int)i);
		if (SIZES[i] <= PACK_INLINE_BYTES_MAX)
			cr_assert_eq(entry.record.held, PACK_INLINE);
		else
			cr_assert(entry.record.held == PACK_COPY ||
				  entry.record.held == PACK_REFLINK);
		assert_holds(&reader, &entry.record, name);
		pack_reader_close(&reader);
	}
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 0);
}

Test(pack_write, a_link_is_the_file_itself)
{
	struct pack_reader reader;
	struct stat stat;

	world_fill(&world, "large", 500000, 1);
	const char *path = world_path(&world, "large");
	must(lstat(path, &stat) == 0);
	struct pack_note note = note_of(PACK_REMOVED, path);
	note.before.size_bytes = 500000;
	note.before.ino = stat.st_ino;
	note.before.mtime_ns = stat.st_mtim.tv_sec * 1000000000 + stat.st_mtim.tv_nsec;
	cr_assert_neq(pack_link(&world.segment, &note, AT_FDCWD, path), PACK_NO_PLACE);
	struct pack_entry entry = read_nth(&reader, 0);
	assert_holds(&reader, &entry.record, "large");
	/* by another link it is changed: the stamp tells */
	world_fill(&world, "large", 500000, 2);
	cr_assert_eq(pack_content_open(&reader, &entry.record), -EBADMSG);
	pack_reader_close(&reader);
}

/* By its version: what stands in a part, and what is a file. */
Test(pack_write, a_content_is_found)
{
	static const struct {
		const char *name;
		size_t size_bytes;
	} FILES[] = { { "empty", 0 }, { "small", 5000 }, { "most", 65536 }, { "large", 300000 } };
	struct content content;

	for (unsigned i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++)
		cr_assert_neq(keep(FILES[i].name, FILES[i].size_bytes, i + 1), PACK_NO_PLACE);
	for (unsigned i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
		struct content found;
		int fd = open(world_path(&world, FILES[i].name), O_RDONLY | O_CLOEXEC);
		must(fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) == 0 &&
		     close(fd) == 0);
		fd = pack_find(&world.segment, &content.version);
		cr_assert(fd >= 0, "%s: %d", FILES[i].name, fd);
		must(content_of_descriptor(fd, UINT64_MAX, &found) == 0 && close(fd) == 0);
		cr_assert(version_equal(&found.version, &content.version));
	}
	content.version.low++;
	cr_assert_eq(pack_find(&world.segment, &content.version), -ENOENT);
}

Test(pack_write, what_is_too_large_is_on_record_with_the_reason)
{
	struct pack_reader reader;

	cr_assert_neq(keep("huge", 1000001, 1), PACK_NO_PLACE);
	struct pack_entry entry = read_nth(&reader, 0);
	cr_assert(entry.record.held == PACK_REFLINK ||
		  (entry.record.held == PACK_NOT_KEPT && entry.record.reason == PACK_TOO_LARGE));
	if (entry.record.held == PACK_NOT_KEPT)
		cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 1);
	pack_reader_close(&reader);
}

/* In a child: the limit is the process's. */
Test(pack_write, a_limit_of_file_sizes_costs_no_signal)
{
	pid_t child = fork();
	if (child == 0) {
		const struct rlimit limit = { 40, 40 };
		must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
		struct pack_note note = note_of(PACK_REMOVED, "/w/x");
		_exit(pack_write(&world.segment, &note, PACK_INLINE, "bytes", 5) != PACK_NO_PLACE);
	}
	int status;
	must(waitpid(child, &status, 0) == child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 1);
}

Test(pack_write, records_do_not_cross_the_end_of_a_part)
{
	struct pack_reader reader;
	struct pack_entry entry;
	const int count = 400;

	for (int i = 0; i < count; i++) /* the same content would stand once */
		cr_assert_neq(keep("file", 65000 - (size_t)i, 1), PACK_NO_PLACE);
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	cr_assert_eq(reader.part_count, 2);
	int found = 0;
	for (uint64_t last = 0; pack_reader_next(&reader, &entry) == 1; found++) {
		cr_assert(!found || entry.record.place > last);
		last = entry.record.place;
		if (found == count - 1)
			assert_holds(&reader, &entry.record, "file");
	}
	cr_assert_eq(found, count);
	cr_assert_eq(reader.damaged, 0);
	pack_reader_seek(&reader, PACK_PART_BYTES);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_eq(entry.record.place, PACK_PART_BYTES);
	cr_assert_eq(pack_reader_at(&reader, 0, &entry), 0);
	cr_assert_eq(entry.record.place, 0);
	cr_assert_eq(pack_reader_at(&reader, PACK_PART_BYTES, &entry), 0);
	cr_assert_eq(entry.record.place, PACK_PART_BYTES);
	cr_assert_eq(pack_reader_at(&reader, 64, &entry), -ENOENT);
	pack_reader_close(&reader);
}

/* The oldest goes first, with its files, and what is left is still read. */
Test(pack_write, past_the_limit_the_oldest_part_goes)
{
	struct pack_reader reader;
	struct pack_entry entry;
	char path[200];

	world_close(&world);
	world_open(&world, "undo.max_bytes=40000000", "undo.max_file_bytes=1000000",
		   "undo.reserve=0", NULL);
	cr_assert_neq(keep("large", 900000, 1), PACK_NO_PLACE); /* a file of the first part's */
	for (int i = 0; i < 700; i++)
		cr_assert_neq(keep("file", 65000 - (size_t)i, 1), PACK_NO_PLACE);
	cr_assert_gt(segment_counter(&world.segment, COUNTER_undo_dropped), 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 0);
	(void)snprintf(path, sizeof(path), "%s/00000000.files", world.undo);
	cr_assert_eq(access(path, F_OK), -1);
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	cr_assert_eq(reader.dropped_parts, segment_counter(&world.segment, COUNTER_undo_dropped));
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_eq(pack_part_of(entry.record.place), reader.dropped_parts);
	pack_reader_close(&reader);
	cr_assert_leq(world.segment.header->undo_bytes, 40000000);
	/* no more went than had to: a sixteenth at a time */
	cr_assert_geq(world.segment.header->undo_bytes, 40000000 / 16 * 14);
}

Test(pack_write, a_boundary_raises_the_number_and_is_on_record)
{
	uint64_t before = world.segment.header->undo_boundary;
	struct pack_reader reader;

	(void)pack_boundary(&world.segment, PACK_COMMAND);
	struct pack_entry entry = read_nth(&reader, 0);
	cr_assert_eq(entry.record.kind, PACK_BOUNDARY);
	cr_assert_eq(entry.record.boundary, before + 1);
	cr_assert_eq(entry.record.what, PACK_COMMAND);
	pack_reader_close(&reader);
}

/* Processes append at once: no record is lost, none is torn. */
Test(pack_write, many_writers)
{
	enum { WRITERS = 4, RECORDS = 500 };
	int counts[WRITERS] = { 0 };
	struct pack_reader reader;
	struct pack_entry entry;

	for (int writer = 0; writer < WRITERS; writer++)
		if (fork() == 0) {
			char text[2000];
			memset(text, 'a' + writer, sizeof(text));
			for (int i = 0; i < RECORDS; i++) {
				struct pack_note note = note_of(PACK_REMOVED, "/w/x");
				note.amount = (uint64_t)writer;
				must(pack_write(&world.segment, &note, PACK_INLINE, text,
						(size_t)(i * 4)) != PACK_NO_PLACE);
			}
			_exit(0);
		}
	for (int writer = 0; writer < WRITERS; writer++)
		must(wait(NULL) > 0);
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	while (pack_reader_next(&reader, &entry) == 1)
		counts[entry.record.amount % WRITERS]++;
	for (int writer = 0; writer < WRITERS; writer++)
		cr_assert_eq(counts[writer], RECORDS);
	cr_assert_eq(reader.damaged, 0);
	pack_reader_close(&reader);
}

/* Records of a process that writes many are stores to memory. */
static void write_many(int count)
{
	for (int i = 0; i < count; i++) {
		struct pack_note note = note_of(PACK_REMOVED, "/w/many");
		note.amount = (uint64_t)i;
		must(pack_write(&world.segment, &note, PACK_INLINE, "content", 7) != PACK_NO_PLACE);
	}
}

static int count_records(struct pack_reader *reader)
{
	struct pack_entry entry;
	int count = 0;

	cr_assert_eq(pack_reader_open(world.undo, reader), 0);
	while (pack_reader_next(reader, &entry) == 1)
		count++;
	pack_reader_close(reader);
	return count;
}

static bool is_mapped(uint64_t place)
{
	bool is_there = pack_window_acquire(&world.segment, place, 1, false) != NULL;

	if (is_there)
		pack_window_release();
	return is_there;
}

Test(pack_write, a_few_records_map_nothing_and_many_do)
{
	struct pack_reader reader;

	write_many(PACK_WINDOW_RECORDS);
	cr_assert_not(is_mapped(0));
	write_many(8000); /* through several windows */
	cr_assert_not(is_mapped(0));
	cr_assert(is_mapped(world.segment.header->undo_next - PACK_UNIT_BYTES));
	cr_assert_eq(count_records(&reader), 8000 + PACK_WINDOW_RECORDS);
	cr_assert_eq(reader.damaged, 0);
}

Test(pack_write, a_record_in_memory_is_marked_as_failed)
{
	struct pack_note note = note_of(PACK_REMOVED, "/w/x");
	struct pack_reader reader;

	write_many(10);
	uint64_t place = pack_write(&world.segment, &note, PACK_NOT_TAKEN, NULL, 0);
	cr_assert(is_mapped(place));
	pack_fail(&world.segment, place);
	struct pack_entry entry = read_nth(&reader, 10);
	cr_assert_eq(entry.record.result, PACK_FAILED);
	pack_reader_close(&reader);
}

/* Its writer was killed before the call: nothing happened, and nothing is damaged. */
Test(pack_write, a_record_that_was_only_begun_is_passed_over)
{
	enum { BYTES = 1024 };
	struct pack_reader reader;

	write_many(10);
	uint64_t place = __atomic_fetch_add(&world.segment.header->undo_next, BYTES,
					    __ATOMIC_RELAXED);
	char *memory = pack_window_acquire(&world.segment, place, BYTES, true);
	must(memory);
	struct pack_head begun = { .magic = PACK_MAGIC_BEGUN, .check = place, .size_bytes = BYTES };
	memset(memory, 'x', BYTES);
	memcpy(memory, &begun, sizeof(begun));
	pack_window_release();
	write_many(1);
	cr_assert_eq(count_records(&reader), 11);
	cr_assert_eq(reader.damaged, 0);
}

/* Another thread, or a handler that interrupts one: by system calls, in the order of places. */
Test(pack_write, while_one_writer_has_the_memory_others_write_all_the_same)
{
	struct pack_reader reader;

	write_many(10);
	uint64_t place = world.segment.header->undo_next - PACK_UNIT_BYTES;
	must(pack_window_acquire(&world.segment, place, 1, false));
	cr_assert_null(pack_window_acquire(&world.segment, place, 1, true));
	write_many(10);
	pid_t child = fork();
	if (child == 0) {
		pack_window_reset(); /* the thread that has it is not here */
		write_many(10);
		_exit(!is_mapped(world.segment.header->undo_next - PACK_UNIT_BYTES));
	}
	int status;
	must(waitpid(child, &status, 0) == child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
	pack_window_release();
	write_many(10);
	cr_assert_eq(count_records(&reader), 40);
	cr_assert_eq(reader.damaged, 0);
}

/* What is mapped is within the limit; past it nothing is, and no signal comes of it. */
Test(pack_write, a_limit_of_file_sizes_holds_for_memory)
{
	struct pack_reader reader;

	pid_t child = fork();
	if (child == 0) {
		const struct rlimit limit = { PACK_WINDOW_BYTES + 1000, PACK_WINDOW_BYTES + 1000 };
		struct pack_note note = note_of(PACK_REMOVED, "/w/x");
		int lost = 0;
		must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
		for (int i = 0; i < 10000; i++)
			lost += pack_write(&world.segment, &note, PACK_NOT_TAKEN, NULL, 0) ==
				PACK_NO_PLACE;
		_exit(lost > 0 && lost < 10000 ? 0 : 1);
	}
	int status;
	must(waitpid(child, &status, 0) == child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
	int found = count_records(&reader);
	cr_assert_eq(found, 10000 - (int)segment_counter(&world.segment, COUNTER_lost_undo));
	/* up to the limit, and not past it */
	struct pack_record first;
	unsigned char bytes[PACK_CODE_BYTES_MAX];
	char part[200];
	(void)snprintf(part, sizeof(part), "%s/00000000.part", world.undo);
	int fd = open(part, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes) && close(fd) == 0);
	cr_assert(pack_decode(bytes, sizeof(bytes), 0, &first));
	cr_assert_geq(found, (int)((PACK_WINDOW_BYTES + 1000) / (first.size_bytes + 8)));
	cr_assert_leq(found, (int)((PACK_WINDOW_BYTES + 1000) / (first.size_bytes - 8)));
}

/* A part that made room for others is written to no more, though it is still mapped. */
Test(pack_write, memory_of_a_part_that_was_dropped_is_not_used)
{
	struct pack_note note = note_of(PACK_REMOVED, "/w/x");

	write_many(10);
	must(is_mapped(64));
	world.segment.header->undo_first = 1;
	cr_assert_not(is_mapped(64));
	cr_assert_eq(pack_write(&world.segment, &note, PACK_NOT_TAKEN, NULL, 0), PACK_NO_PLACE);
}
