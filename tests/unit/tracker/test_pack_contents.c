/* pack_contents.h: a content that stands in a part is not written there once more, and comes back from both records. */
#include <criterion/criterion.h>

#include "cli/undo/pack_reader.h"
#include "support.h"
#include "tracker/content/pack_code.h"
#include "tracker/content/pack_contents.h"
#include "tracker/content/pack_find.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_state.h"
#include "tracker/content/pack_window.h"
#include "tracker/content/pack_write.h"

enum { SIZE = 5000 };

static struct world world;
static char bytes[65536];

static void start(void)
{
	world_open(&world, "undo.max_bytes=1000000000", "undo.reserve=0", NULL);
	memset(bytes, 'a', sizeof(bytes));
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(pack_contents, .init = start, .fini = stop);

static uint64_t keep_as(const char *path, size_t size_bytes)
{
	const struct pack_note note = { .kind = PACK_REMOVED,
					.path = path,
					.before = { .size_bytes = size_bytes } };
	uint64_t place = pack_write(&world.segment, &note, PACK_INLINE, bytes, size_bytes);

	cr_assert_neq(place, PACK_NO_PLACE);
	return place;
}

static uint64_t keep(size_t size_bytes)
{
	return keep_as("/w/x", size_bytes);
}

static uint64_t keep_file(size_t size_bytes)
{
	struct pack_note note = { .kind = PACK_CONTENT,
				  .path = "/w/x",
				  .before = { .size_bytes = size_bytes } };
	const char *path = world_path(&world, "file");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, bytes, size_bytes) == (ssize_t)size_bytes);
	uint64_t place = pack_keep(&world.segment, &note, fd);
	must(close(fd) == 0);
	cr_assert_neq(place, PACK_NO_PLACE);
	return place;
}

/* What a record's content is now; 0, or why it cannot be had. */
static int read_content(uint64_t place, struct version *ret_version, struct pack_record *ret_record)
{
	struct pack_reader reader;
	struct pack_entry entry;
	struct content content;

	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	cr_assert_eq(pack_reader_at(&reader, place, &entry), 0);
	*ret_record = entry.record;
	int fd = pack_content_open(&reader, &entry.record);
	pack_reader_close(&reader);
	if (fd < 0)
		return fd;
	must(content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
	*ret_version = content.version;
	return 0;
}

static uint32_t assert_holds(uint64_t place, size_t size_bytes)
{
	struct version wanted = version_of_bytes(bytes, size_bytes), found;
	struct pack_record record;

	cr_assert_eq(read_content(place, &found, &record), 0);
	cr_assert(version_equal(&found, &wanted));
	return record.size_bytes;
}

Test(pack_contents, a_content_stands_once)
{
	uint64_t first = keep(SIZE), second = keep(SIZE), third = keep_file(SIZE);

	cr_assert_gt(assert_holds(first, SIZE), SIZE);
	cr_assert_lt(assert_holds(second, SIZE), 150);
	cr_assert_lt(assert_holds(third, SIZE), 150);
	bytes[SIZE / 2]++;
	cr_assert_gt(assert_holds(keep_file(SIZE), SIZE), SIZE);
	cr_assert_lt(assert_holds(keep(SIZE), SIZE), 150);
}

/* What does not fit into the memory for pieces is compared with the part. */
Test(pack_contents, a_large_file_stands_once)
{
	static const size_t SIZES[] = { 16385, 20000, 40000, 65536 };

	for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
		cr_assert_gt(assert_holds(keep_file(SIZES[i]), SIZES[i]), SIZES[i]);
		for (int again = 0; again < 3; again++) /* by system calls, then in memory */
			cr_assert_lt(assert_holds(keep_file(SIZES[i]), SIZES[i]), 150);
		bytes[SIZES[i] - 1]++;
		cr_assert_gt(assert_holds(keep_file(SIZES[i]), SIZES[i]), SIZES[i]);
		bytes[SIZES[i] / 2]++;
		cr_assert_gt(assert_holds(keep_file(SIZES[i]), SIZES[i]), SIZES[i]);
		cr_assert_lt(assert_holds(keep_file(SIZES[i]), SIZES[i]), 150);
	}
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 0);
}

/* From the fifth record on they are in memory. */
Test(pack_contents, in_memory_too)
{
	for (int i = 0; i < 300; i++) {
		memcpy(bytes, &i, sizeof(i));
		uint64_t first = keep(SIZE), second = keep_file(SIZE);
		cr_assert_gt(assert_holds(first, SIZE), SIZE);
		cr_assert_lt(assert_holds(second, SIZE), 150, "%d", i);
	}
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_undo), 0);
}

Test(pack_contents, a_content_of_any_size_comes_back)
{
	static const size_t SIZES[] = { 0, 1, 63, 64, 4096, 15000, 16384, 16385, 65536 };

	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
			(void)assert_holds(keep(SIZES[i]), SIZES[i]);
			(void)assert_holds(keep_file(SIZES[i]), SIZES[i]);
		}
}

/* Another process's, which has no memory of the part. */
Test(pack_contents, of_another_process)
{
	pid_t child = fork();
	if (child == 0)
		_exit(keep(SIZE) == PACK_NO_PLACE);
	int status;
	must(waitpid(child, &status, 0) == child && status == 0);
	cr_assert_lt(assert_holds(keep_file(SIZE), SIZE), 150);
}

/* A part may be dropped before the next one. */
Test(pack_contents, not_in_another_part)
{
	(void)keep(SIZE);
	world.segment.header->undo_next = PACK_PART_BYTES;
	cr_assert_gt(assert_holds(keep(SIZE), SIZE), SIZE);
	world.segment.header->undo_next = 2 * PACK_PART_BYTES - 64;
	cr_assert_gt(assert_holds(keep(SIZE), SIZE), SIZE);
}

/* Two contents with the same hash are two: the bytes are compared. */
Test(pack_contents, the_bytes_decide)
{
	struct version wanted, other;
	uint64_t place = keep(SIZE);

	bytes[7]++;
	wanted = version_of_bytes(bytes, SIZE);
	pack_contents_note(&world.segment, &wanted, place);
	cr_assert_eq(pack_contents_find(&world.segment, 0, &wanted, bytes), PACK_NO_PLACE);
	(void)assert_holds(keep(SIZE), SIZE);
	bytes[7]--;
	other = version_of_bytes(bytes, SIZE);
	cr_assert_eq(pack_contents_find(&world.segment, 0, &other, bytes), place);
	bytes[7]++; /* as a hash that is the same would have it */
	cr_assert_eq(pack_contents_find(&world.segment, 0, &other, bytes), PACK_NO_PLACE);
	pack_contents_note(&world.segment, &other, place + PACK_UNIT_BYTES);
	cr_assert_eq(pack_contents_find(&world.segment, 0, &other, bytes), PACK_NO_PLACE);
}

/* The same of a file: what stands behind the record is not what its version says. */
Test(pack_contents, the_bytes_of_a_file_decide)
{
	enum { LARGE = 40000 };
	static const off_t CHANGED[] = { 400, LARGE / 2, LARGE };
	char name[PACK_PART_NAME_BYTES], path[300];

	pack_part_name(0, name);
	(void)snprintf(path, sizeof(path), "%s/%s", world.undo, name);
	for (size_t i = 0; i < sizeof(CHANGED) / sizeof(CHANGED[0]); i++) {
		uint64_t place = keep_file(LARGE);
		cr_assert_lt(assert_holds(keep_file(LARGE), LARGE), 150);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		must(fd >= 0 && pwrite(fd, "y", 1, (off_t)place + CHANGED[i]) == 1 &&
		     close(fd) == 0);
		cr_assert_gt(assert_holds(keep_file(LARGE), LARGE), LARGE);
		bytes[i]++;
	}
}

Test(pack_contents, a_record_that_names_another_is_found_by_version)
{
	struct version version = version_of_bytes(bytes, SIZE);
	struct content content;

	(void)keep(SIZE);
	(void)keep(SIZE);
	int fd = pack_find(&world.segment, &version);
	cr_assert(fd >= 0);
	must(content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
	cr_assert(version_equal(&content.version, &version));
}

/* An external program changed what a record names: it is refused. */
Test(pack_contents, what_is_not_there_is_refused)
{
	uint64_t first = keep(SIZE), second = keep_as("/w/y", SIZE);
	struct pack_record record;
	struct version version;
	char name[PACK_PART_NAME_BYTES], path[300];

	pack_part_name(0, name);
	(void)snprintf(path, sizeof(path), "%s/%s", world.undo, name);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0 && pwrite(fd, "y", 1, (off_t)first + 400) == 1);
	cr_assert_eq(read_content(second, &version, &record), -EBADMSG);
	must(pwrite(fd, "a", 1, (off_t)first + 400) == 1);
	cr_assert_eq(read_content(second, &version, &record), 0);
	must(pwrite(fd, "\0\0\0\0", 4, (off_t)first) == 4);
	cr_assert_eq(read_content(second, &version, &record), -EBADMSG);
	must(close(fd) == 0);
}

/* A device has the number that stat(2) has for it. */
Test(pack_contents, state_of_devices)
{
	static const char *const NAMES[] = { "/dev/null", "/dev/tty", "/", "/proc/self/stat" };

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		struct pack_state state;
		struct stat now;
		must(stat(NAMES[i], &now) == 0);
		cr_assert_eq(pack_state_read(AT_FDCWD, NAMES[i], 0, &state), 0);
		cr_expect_eq(state.dev, now.st_dev, "%s", NAMES[i]);
		cr_expect_eq(state.rdev, now.st_rdev, "%s", NAMES[i]);
		cr_expect_eq(state.ino, now.st_ino, "%s", NAMES[i]);
		cr_expect_eq(state.mode, now.st_mode, "%s", NAMES[i]);
		cr_expect_eq(state.nlink, now.st_nlink, "%s", NAMES[i]);
	}
}
