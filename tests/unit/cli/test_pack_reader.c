/* pack_reader.h: nothing that is damaged is believed, and what is whole beside it is found. */
#include <criterion/criterion.h>

#include "cli/undo/pack_reader.h"
#include "support.h"
#include "tracker/content/pack_code.h"
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
	char zeroes[PACK_CODE_BYTES_MAX] = { 0 };
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
	must(pwrite(fd, bytes, 64, (off_t)places[35]) == 64);
	must(close(fd) == 0);
	cr_assert_eq(count(&damaged), RECORDS - 1);
}

Test(pack_reader, a_changed_content_is_refused)
{
	struct pack_reader reader;
	struct pack_entry entry;
	int fd = open_part();

	must(pwrite(fd, "y", 1, (off_t)(places[11] - 20)) == 1);
	must(close(fd) == 0);
	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	pack_reader_seek(&reader, places[10]);
	cr_assert_eq(pack_reader_next(&reader, &entry), 1);
	cr_assert_str_eq(entry.path, "/w/10");
	cr_assert_eq(pack_content_open(&reader, &entry.record), -EBADMSG);
	pack_reader_close(&reader);
}

Test(pack_reader, it_goes_on_at_a_record_from_any_place_before_it)
{
	struct pack_reader reader;
	struct pack_entry entry;

	cr_assert_eq(pack_reader_open(world.undo, &reader), 0);
	for (int i = RECORDS - 1; i > 0; i--) {
		pack_reader_seek(&reader, places[i]);
		cr_assert_eq(pack_reader_next(&reader, &entry), 1);
		cr_assert_eq(entry.record.place, places[i]);
		cr_assert_eq(reader.damaged, 0, "record %d", i);
		pack_reader_seek(&reader, places[i] - 1);
		cr_assert_eq(pack_reader_next(&reader, &entry), 1);
		cr_assert_eq(entry.record.place, places[i]);
		reader.damaged = 0; /* the end of the one before */
		cr_assert_eq(pack_reader_at(&reader, places[i - 1], &entry), 0);
		cr_assert_eq(entry.record.place, places[i - 1]);
		cr_assert_eq(pack_reader_at(&reader, places[i] - 8, &entry), -ENOENT);
	}
	pack_reader_seek(&reader, places[RECORDS - 1] + PACK_PART_BYTES);
	cr_assert_eq(pack_reader_next(&reader, &entry), 0);
	cr_assert_eq(pack_reader_at(&reader, 3 * (uint64_t)PACK_PART_BYTES, &entry), -ENOENT);
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
		{ 64, UINT16_MAX, 0, PACK_REMOVED, PACK_INLINE },
		{ 64, 0, UINT32_MAX, PACK_REMOVED, PACK_INLINE },
		{ 0, 0, 0, PACK_REMOVED, PACK_INLINE },
		{ 16, 0, 0, PACK_REMOVED, PACK_INLINE },
		{ 64, 0, 0, PACK_KIND_COUNT, PACK_INLINE },
		{ 64, 0, 0, PACK_REMOVED, PACK_HELD_COUNT },
		{ 64, 0, 0, PACK_NONE, PACK_INLINE },
		{ 104, 0, 64, PACK_REMOVED, PACK_LINK },
	};
	uint64_t damaged;

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		_Alignas(struct pack_head) unsigned char code[PACK_CODE_BYTES_MAX] = { 0 };
		struct pack_head *head = (struct pack_head *)(void *)code;
		struct pack_record record = {
			.place = places[5],
			.path_bytes = CASES[i].path_bytes,
			.content_bytes = CASES[i].content_bytes,
			.kind = CASES[i].kind,
			.held = CASES[i].held,
		};
		char path[UINT16_MAX + 1] = { 0 };
		record.code_bytes = (uint32_t)pack_encode(&record, code);
		head->size_bytes = CASES[i].size_bytes;
		head->check = pack_check(code, &record, path, record.path_bytes, "", 0);
		int fd = open_part();
		must(pwrite(fd, code, sizeof(code), (off_t)places[5]) == sizeof(code));
		must(close(fd) == 0);
		cr_assert_eq(count(&damaged), RECORDS - 1, "%zu", i);
	}
}

/* Lengths of fields that are more than a field, or more than there is. */
Test(pack_reader, lengths_are_not_believed)
{
	struct pack_record record = { .kind = PACK_REMOVED,
				      .before = { .ino = 5, .mode = 0100644 } };
	_Alignas(struct pack_head) unsigned char code[PACK_CODE_BYTES_MAX] = { 0 };
	struct pack_head *head = (struct pack_head *)(void *)code;
	struct pack_record found;

	size_t code_bytes = pack_encode(&record, code);
	head->size_bytes = (uint32_t)pack_size_bytes(code_bytes, 0, 0, 0);
	cr_assert(pack_decode(code, head->size_bytes, 0, &found));
	for (size_t room = 0; room < code_bytes; room++)
		cr_assert_not(pack_decode(code, room, 0, &found), "%zu", room);
	for (size_t i = 0; i < sizeof(head->lengths); i++) {
		uint8_t length = head->lengths[i];
		head->lengths[i] = 0xff;
		cr_assert_not(pack_decode(code, sizeof(code), 0, &found), "%zu", i);
		head->lengths[i] = length;
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
			off_t at = (off_t)(rand_r(&seed) % (int)(places[RECORDS - 1] + 64));
			must(pwrite(fd, &byte, 1, at) == 1);
		}
		must(close(fd) == 0);
		cr_assert_leq(count(&damaged), RECORDS);
	}
	cr_assert_gt(damaged, 0);
}
