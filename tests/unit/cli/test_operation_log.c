/* operation_log.h: what an undo is about to change is on record before it does. */
#include <criterion/criterion.h>

#include "cli/undo/operation.h"
#include "cli/undo/operation_log.h"
#include "cli/undo/pack_reader.h"
#include "cli/undo/place.h"
#include "support.h"

static char root[64], undo[80], packs[128], file[80];
static int directory, files;
static struct operation_log operations;
static struct pack_reader reader;
static struct pack_entry entry;

static void init(void)
{
	(void)snprintf(root, sizeof(root), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(root) != NULL);
	(void)snprintf(undo, sizeof(undo), "%s/undo", root);
	(void)snprintf(packs, sizeof(packs), "%s/op-00000001", undo);
	(void)snprintf(file, sizeof(file), "%s/file", root);
	must(mkdir(undo, 0700) == 0 && mkdir(packs, 0700) == 0);
	directory = open(undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	files = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(directory >= 0 && files >= 0);
	must(operation_log_open(directory, 1, &operations) == 0);
}

static void finish(void)
{
	operation_log_close(&operations);
	(void)close(directory);
	(void)close(files);
	(void)nftw(root, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(operation_log, .init = init, .fini = finish);

static struct operation_note note_of(const char *path)
{
	struct operation_note note = { .kind = PACK_REMOVED, .path = path };

	must(place_inspect(AT_FDCWD, file, &note.before) == 0);
	return note;
}

/* Keeps the file's content as of one that is about to be removed, or changed. */
static int keep(struct operation_note *note, bool removes)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	int error = operation_log_keep(&operations, note, fd, removes ? files : -1, "file");
	must(close(fd) == 0);
	return error;
}

/* The bytes that a record holds are those that the file had. */
static void expect_content(const struct pack_record *record, const char *bytes, size_t size_bytes)
{
	char *found = malloc(size_bytes + 1);
	int fd = pack_content_open(&reader, record);

	must(found);
	cr_assert_geq(fd, 0, "%d", fd);
	cr_assert_eq(read(fd, found, size_bytes + 1), (ssize_t)size_bytes);
	cr_assert_arr_eq(found, bytes, size_bytes);
	(void)close(fd);
	free(found);
}

/* ---- tests ---- */

Test(operation_log, no_record_lies_across_the_end_of_a_part)
{
	char path[32];
	int count = 0;

	write_path(file, "0123456789", 10);
	operations.next = PACK_PART_BYTES - 2000;
	for (int i = 0; i < 40; i++) {
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		struct operation_note note = note_of(path);
		must(keep(&note, false) == 0);
		must(operation_log_write(&operations, &note, 1) == 0);
	}
	must(operation_log_sync(directory, 1) == 0);
	cr_assert_eq(pack_reader_open(packs, &reader), 0);
	for (; pack_reader_next(&reader, &entry) == 1; count++) {
		cr_assert_eq(atoi(entry.path + 3), count);
		expect_content(&entry.record, "0123456789", 10);
	}
	cr_assert_eq(count, 40);
	cr_assert_eq(reader.damaged, 0);
	cr_assert_eq(reader.part_count, 2);
	pack_reader_close(&reader);
}

Test(operation_log, one_that_was_interrupted_goes_on_in_another_part)
{
	for (int i = 0; i < 3; i++) {
		struct operation_note note = { .kind = PACK_CREATED, .path = "/w/f" };
		must(operation_log_write(&operations, &note, 1) == 0);
		operation_log_close(&operations);
		must(operation_log_open(directory, 1, &operations) == 0);
	}
	cr_assert_eq(pack_reader_open(packs, &reader), 0);
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert_eq(pack_reader_next(&reader, &entry), 1);
		cr_assert_eq(entry.record.place, i * PACK_PART_BYTES);
	}
	cr_assert_eq(pack_reader_next(&reader, &entry), 0);
	pack_reader_close(&reader);
}

Test(operation_log, a_large_content_is_a_link_where_its_name_goes_else_a_copy)
{
	enum { LARGE = PACK_INLINE_BYTES_MAX + 1 };
	static char bytes[LARGE];
	struct operation_note notes[2];

	memset(bytes, 'x', sizeof(bytes));
	write_path(file, bytes, sizeof(bytes));
	for (int i = 0; i < 2; i++) {
		notes[i] = note_of("/w/large");
		cr_assert_eq(keep(&notes[i], i == 0), 0);
		cr_assert_eq(notes[i].held, i == 0 ? PACK_LINK : PACK_COPY);
	}
	must(operation_log_write(&operations, notes, 2) == 0);
	must(unlink(file) == 0);
	cr_assert_eq(pack_reader_open(packs, &reader), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pack_reader_next(&reader, &entry), 1);
		expect_content(&entry.record, bytes, sizeof(bytes));
	}
	pack_reader_close(&reader);
}

Test(operation_log, what_changes_meanwhile_or_cannot_be_read_is_not_kept)
{
	static char bytes[PACK_INLINE_BYTES_MAX + 100];

	for (int large = 0; large < 2; large++) {
		size_t size = large ? sizeof(bytes) : 100;
		write_path(file, bytes, size);
		struct operation_note note = note_of("/w/f");
		write_path(file, bytes, size - 1); /* shorter now */
		cr_assert_eq(keep(&note, false), -EAGAIN);
		cr_assert_eq(operation_log_keep(&operations, &note, -1, -1, NULL), -EACCES);
	}
	struct operation_note none = { .kind = PACK_REMOVED,
				       .path = "/w/d",
				       .before.mode = S_IFDIR };
	cr_assert_eq(operation_log_keep(&operations, &none, -1, -1, NULL), 0);
	cr_assert_eq(none.held, PACK_NOT_TAKEN);
}

Test(operation_log, what_failed_is_marked_so)
{
	struct operation_note notes[] = {
		{ .kind = PACK_RENAMED, .path = "/w/a", .other = "/w/b" },
		{ .kind = PACK_CREATED, .path = "/w/c" },
	};

	must(operation_log_write(&operations, notes, 2) == 0);
	operation_log_fail(&operations, notes, 1);
	cr_assert_eq(pack_reader_open(packs, &reader), 0);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_str_eq(entry.other, "/w/b");
	cr_assert_eq(entry.record.result, PACK_FAILED);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_eq(entry.record.result, PACK_CALLED);
	pack_reader_close(&reader);
}

/* Of several all are on record, or none is. */
Test(operation_log, where_there_is_no_room_none_counts)
{
	struct operation_note notes[] = { { .kind = PACK_REMOVED, .path = "/w/a" },
					  { .kind = PACK_CREATED, .path = "/w/b" } };
	char next[160];

	operations.next = PACK_PART_BYTES - 72; /* the second one needs another part */
	(void)snprintf(next, sizeof(next), "%s/00000001.part", packs);
	must(mkdir(next, 0700) == 0);
	cr_assert_eq(operation_log_write(&operations, notes, 2), -EISDIR);
	must(rmdir(next) == 0);
	cr_assert_eq(pack_reader_open(packs, &reader), 0);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_eq(entry.record.result, PACK_FAILED);
	cr_assert_eq(pack_reader_next(&reader, &entry), 0);
	pack_reader_close(&reader);
	cr_assert_eq(operation_log_sync(directory, 2), -ENOENT);
	operation_log_close(&operations);
	cr_assert_eq(operation_log_open(directory, 2, &operations), -ENOENT);
}
