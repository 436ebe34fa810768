/* pack_reader.h: nothing that is damaged is believed, and what is whole beside it is found. */
#include <criterion/criterion.h>

#include "cli/undo/pack_reader.h"
#include "support.h"
#include "tracker/content/pack_check.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_write.h"

enum { RECORDS = 40 };

static struct world world;
static uint64_t places[RECORDS];

static void start(void)
{
	char text[3000];

	world_open(&world, "undo.reserve=0", NULL);
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < RECORDS; i++) {
		char path[32];
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		struct pack_note note = { .kind = PACK_REMOVED, .path = path };
		places[i] = pack_write(&world.segment, &note, PACK_INLINE, text, (size_t)i * 70);
		must(places[i] != PACK_NO_PLACE);
	}
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(pack_reader, .init = start, .fini = stop);

static int open_part(void)
{
	char path[200];
	(void)snprintf(path, sizeof(path), "%s/00000000.part", world.undo);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

/* How many records are found; each must be one that was written. */
static int count(uint64_t *ret_damaged)
{
	struct pack_reader reader;
	struct pack_entry entry;
	int found = 0;

	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	while (pack_reader_next(&reader, &entry) == 1) {
		char *end;
		long number = strtol(entry.path + 3, &end, 10);
		cr_assert(number >= 0 && number < RECORDS && !*end, "%s", entry.path);
		cr_assert_eq(entry.record.place, places[number]);
		int fd = pack_content_open(&reader, &entry.record);
		if (fd >= 0)
			must(close(fd) == 0);
		found++;
	}
	*ret_damaged = reader.damaged;
	pack_reader_close(&reader);
	return found;
}

Test(pack_reader, a_session_without_packs_reads_as_empty)
{
	struct pack_reader reader;
	struct pack_entry entry;

	cr_assert_eq(pack_reader_open("/nonexistent", &reader), 0);
	cr_assert_eq(pack_reader_next(&reader, &entry), 0);
	pack_reader_close(&reader);
}

Test(pack_reader, a_record_half_written_is_passed_over)
{
	uint64_t damaged;
	char zeroes[sizeof(struct pack_record)] = { 0 };
	int fd = open_part();

	must(pwrite(fd, zeroes, sizeof(zeroes), (off_t)places[20]) == sizeof(zeroes));
	must(close(fd) == 0);
	cr_assert_eq(count(&damaged), RECORDS - 1);
	cr_assert_eq(damaged, 1); /* its content */
}

Test(pack_reader, a_part_cut_short_ends_there)
{
	uint64_t damaged;
	int fd = open_part();

	must(ftruncate(fd, (off_t)places[30] + 100) == 0);
	must(close(fd) == 0);
	cr_assert_eq(count(&damaged), 30);
}

Test(pack_reader, a_record_counts_at_its_own_place_alone)
{
	unsigned char bytes[512];
	uint64_t damaged;
	int fd = open_part();

	/* a file's content may be a copy of a pack */
	must(pread(fd, bytes, sizeof(bytes), (off_t)places[0]) == sizeof(bytes));
	must(pwrite(fd, bytes, 256, (off_t)places[35]) == 256);
	must(close(fd) == 0);
	cr_assert_eq(count(&damaged), RECORDS - 1);
}

Test(pack_reader, a_changed_content_is_refused)
{
	struct pack_reader reader;
	struct pack_entry entry;
	int fd = open_part();

	must(pwrite(fd, "y", 1, (off_t)(places[10] + sizeof(struct pack_record) + 10)) == 1);
	must(close(fd) == 0);
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	pack_reader_seek(&reader, places[10]);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_str_eq(entry.path, "/w/10");
	cr_assert_eq(pack_content_open(&reader, &entry.record), -EBADMSG);
	pack_reader_close(&reader);
}

/* Numbers that no writer writes, with a check that holds. */
Test(pack_reader, sizes_are_not_believed)
{
	const struct {
		uint32_t size_bytes;
		uint16_t path_bytes;
		uint32_t content_bytes;
		uint8_t kind, held;
	} CASES[] = {
		{ UINT32_MAX, 0, 0, PACK_REMOVED, PACK_INLINE },
		{ 192, UINT16_MAX, 0, PACK_REMOVED, PACK_INLINE },
		{ 192, 0, UINT32_MAX, PACK_REMOVED, PACK_INLINE },
		{ 0, 0, 0, PACK_REMOVED, PACK_INLINE },
		{ 192, 0, 0, PACK_KIND_COUNT, PACK_INLINE },
		{ 192, 0, 0, PACK_REMOVED, PACK_HELD_COUNT },
		{ 192, 0, 0, PACK_NONE, PACK_INLINE },
		{ 256, 0, 64, PACK_REMOVED, PACK_LINK },
	};
	uint64_t damaged;

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct pack_record record = {
			.magic = PACK_MAGIC,
			.place = places[5],
			.size_bytes = CASES[i].size_bytes,
			.path_bytes = CASES[i].path_bytes,
			.content_bytes = CASES[i].content_bytes,
			.kind = CASES[i].kind,
			.held = CASES[i].held,
		};
		char path[UINT16_MAX + 1] = { 0 };
		record.check = pack_check(&record, path, "");
		int fd = open_part();
		must(pwrite(fd, &record, sizeof(record), (off_t)places[5]) == sizeof(record));
		must(close(fd) == 0);
		cr_assert_eq(count(&damaged), RECORDS - 1, "%zu", i);
	}
}

Test(pack_reader, random_damage)
{
	unsigned seed = 1;
	uint64_t damaged;

	for (int round = 0; round < 300; round++) {
		int fd = open_part();
		for (int i = 0; i < 3; i++) {
			unsigned char byte = (unsigned char)rand_r(&seed);
			off_t at = (off_t)(rand_r(&seed) % (int)(places[RECORDS - 1] + 192));
			must(pwrite(fd, &byte, 1, at) == 1);
		}
		must(close(fd) == 0);
		cr_assert_leq(count(&damaged), RECORDS);
	}
	cr_assert_gt(damaged, 0);
}
