/*
 * A damaged or hostile journal: every function of journal.h is called on it and must neither crash, nor
 * touch memory beyond their own, nor take long.  What they answer does not matter.
 *
 * fuzz.h has what FUZZ_SEED and FUZZ_ROUNDS in the environment change.
 */
#include <criterion/criterion.h>
#include <sys/resource.h>

#include "fuzz.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"

enum { RECORDS = 400, FILE_BYTES = 1 << 20, MAX_BYTES = 2 << 20 };

static struct world world;
static char path[128];
static unsigned char *image; /* of the file before damage, in use */
static uint64_t image_units; /* that are in use */

/* Records of every kind, texts, and what dead writers left. */
static void fill(void)
{
	struct journal journal;
	char text[600];

	must(journal_create(path, "fuzz", "0123456789abcdef", "/w", MAX_BYTES) == 0);
	must(journal_map(path, &journal) == 0);
	memset(text, 'x', sizeof(text));
	for (uint64_t i = 0; i < RECORDS; i++) {
		struct journal_record record = {
			.head = { .op = (uint8_t)(JOURNAL_START + i % 20) }, .amount = i
		};
		union {
			struct journal_process process;
			struct journal_details details;
			unsigned char bytes[254 * JOURNAL_UNIT_BYTES];
		} details = { .bytes = { 0 } };
		static const size_t SIZES[] = { 0, 0, 64, 128, 0, 0, 0, 254 * 64 };
		text[0] = (char)i;
		record.path = journal_text(&journal, text, pick(sizeof(text)), true);
		must(journal_write(&journal, &record, &details, SIZES[i % 8], true) != 0);
		if (i % 10 == 0)
			journal.header->next += 1 + pick(3);
		if (i % 30 == 0)
			must(journal_abandon(&journal, journal.header->next - 1));
	}
	must(journal.header->allocated == JOURNAL_CHUNK_UNITS);
	image_units = journal.header->next;
	image = malloc(FILE_BYTES);
	must(image);
	memcpy(image, journal.header, FILE_BYTES);
	journal_unmap(&journal);
}

static uint64_t nasty_number(void)
{
	return nasty(image_units);
}

static void guard_journal(struct journal *journal)
{
	unsigned char *new = guard(journal->header, journal->mapped_units * JOURNAL_UNIT_BYTES);
	journal->header = (struct journal_header *)(void *)new;
	journal->units = new;
	journal->known = (uint64_t *)(void *)(new + 4096);
}

static void unguard_journal(struct journal *journal)
{
	unguard(journal->header, journal->mapped_units * JOURNAL_UNIT_BYTES);
}

static uint64_t touch(const void *bytes, size_t size_bytes)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < size_bytes; i++)
		sum += ((const unsigned char *)bytes)[i];
	return sum;
}

static volatile uint64_t touched; /* so that nothing is left out */

/* Everything that a reader does. */
static void read_all(const struct journal *journal)
{
	uint64_t number = JOURNAL_UNITS_FIRST, steps = 0;
	struct journal_entry entry;
	enum journal_found found;
	size_t size_bytes;

	while ((found = journal_next(journal, &number, &entry)) != JOURNAL_FOUND_END) {
		uint64_t before = entry.number;
		if (found == JOURNAL_FOUND_UNDONE)
			number = journal_behind_undone(journal, number);
		must(number > before && ++steps <= journal->mapped_units);
		if (found != JOURNAL_FOUND_RECORD)
			continue;
		(void)journal_op_name(entry.record.head.op);
		const char *bytes = journal_bytes(journal, entry.record.path, &size_bytes);
		touched += bytes ? touch(bytes, size_bytes) : 0;
		bytes = journal_bytes(journal, (uint32_t)entry.number, &size_bytes);
		touched += bytes ? touch(bytes, size_bytes) : 0;
	}
	for (int i = 0; i < 100; i++) {
		number = nasty_number();
		(void)journal_next(journal, &number, &entry);
		(void)journal_behind_undone(journal, nasty_number());
		const char *bytes = journal_bytes(journal, (uint32_t)nasty_number(), &size_bytes);
		touched += bytes ? touch(bytes, size_bytes) : 0;
	}
	must(journal_end_unit(journal) <= journal->mapped_units);
}

/* And a writer. */
static void write_some(struct journal *journal)
{
	char text[600];
	memset(text, (int)pick(256), sizeof(text));
	for (int i = 0; i < 30; i++) {
		struct journal_details details = { .dev = 1 };
		struct journal_record record = { .head = { .op = JOURNAL_OPEN } };
		text[0] = (char)pick(256);
		record.path = journal_text(journal, text, pick(sizeof(text)), pick(2));
		(void)journal_write(journal, &record, &details, pick(2) ? sizeof(details) : 0,
				    pick(2));
		(void)journal_abandon(journal, nasty_number());
		if (pick(8) == 0)
			journal_make_room(journal, JOURNAL_ROOM_UNITS);
	}
	journal_lost(journal);
}

static void restore(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0 && ftruncate(fd, FILE_BYTES) == 0 &&
	     pwrite(fd, image, FILE_BYTES, 0) == FILE_BYTES && close(fd) == 0);
}

static bool is_known(int error)
{
	return error == 0 || error == -EBADMSG || error == -EPROTO;
}

/* As those do who meet the file first. */
static void map_and_use(void)
{
	struct journal to_read, journal;
	int error = journal_map_to_read(path, &to_read);

	must(is_known(error));
	if (error == 0) {
		guard_journal(&to_read);
		read_all(&to_read);
	}
	int write_error = journal_map(path, &journal);
	must(write_error == error || write_error == -ENOMEM); /* it is to be of any size */
	if (write_error == 0) {
		guard_journal(&journal);
		read_all(&journal);
		write_some(&journal);
		read_all(&journal);
		unguard_journal(&journal);
	}
	if (error == 0) {
		read_all(&to_read);
		unguard_journal(&to_read);
	}
}

static void write_at(uint64_t offset, const void *bytes, size_t size_bytes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && pwrite(fd, bytes, size_bytes, (off_t)offset) == (ssize_t)size_bytes &&
	     close(fd) == 0);
}

/* Every byte and word of the header, in several ways. */
static void damage_header(void)
{
	for (size_t at = 0; at < sizeof(struct journal_header); at++) {
		unsigned char values[] = { 0, 0xff, (unsigned char)(image[at] ^ 1),
					   (unsigned char)(image[at] ^ 0x80),
					   (unsigned char)next_random(&random_state) };
		for (size_t i = 0; i < sizeof(values); i++) {
			start_round();
			write_at(at, &values[i], 1);
			map_and_use();
			restore();
		}
	}
	for (size_t at = 0; at + 8 <= sizeof(struct journal_header); at += 8) {
		uint64_t value = nasty_number();
		start_round();
		write_at(at, &value, 8);
		map_and_use();
		restore();
	}
}

/* A first word as it could be, with any size and kind. */
static uint64_t nasty_head(void)
{
	static const uint8_t OPS[] = { JOURNAL_NONE, JOURNAL_TEXT, JOURNAL_ABANDONED, JOURNAL_OPEN,
				       JOURNAL_FILLING };
	struct journal_head head = { .check = (uint32_t)pick(UINT32_MAX),
				     .op = pick(4) ? OPS[pick(5)] : (uint8_t)pick(256),
				     .units = (uint8_t)pick(256),
				     .error = (uint16_t)pick(65536) };
	uint64_t word;
	memcpy(&word, &head, sizeof(word));
	return word;
}

/* Records, known texts, the length of the file; before it is mapped and while it is. */
static void damage_body(uint64_t rounds)
{
	for (uint64_t round = 0; round < rounds; round++) {
		start_round();
		for (uint64_t i = pick(200); i > 0; i--) {
			uint64_t value = pick(2) ? nasty_head() : nasty_number();
			write_at(pick(image_units) * 64 + (pick(2) ? 0 : pick(8) * 8), &value, 8);
		}
		for (uint64_t i = pick(20); i > 0; i--) {
			uint64_t value = pick(2) ? pick(image_units) : nasty_number();
			write_at(4096 + pick(512) * 8, &value, 4);
		}
		if (pick(2)) { /* so that the last records lie at the end */
			struct journal_header *header = (struct journal_header *)(void *)image;
			uint64_t units = image_units - pick(image_units - JOURNAL_UNITS_FIRST);
			write_at(offsetof(struct journal_header, allocated), &units, 8);
			if (pick(2))
				write_at(offsetof(struct journal_header, next), &header->allocated,
					 8);
		}
		if (pick(8) == 0)
			must(truncate(path, (off_t)pick(FILE_BYTES)) == 0);
		map_and_use();
		restore();

		struct journal journal;
		must(journal_map(path, &journal) == 0);
		guard_journal(&journal);
		for (int i = 0; i < 10; i++) {
			/* `allocated` says where the file ends: only its owner could make it lie (docs/limits.md). */
			journal.header->next = pick(4) ? pick(image_units) : nasty_number();
			journal.known[pick(JOURNAL_KNOWN_TEXTS)] = nasty_number();
			uint64_t value = nasty_head();
			memcpy(journal.units + (JOURNAL_UNITS_FIRST + pick(image_units)) * 64,
			       &value, 8);
			write_some(&journal);
			read_all(&journal);
		}
		unguard_journal(&journal);
		restore();
	}
}

/* Nothing of a journal but its header, or not even that. */
static void damage_all(void)
{
	for (int round = 0; round < 100; round++) {
		unsigned char *bytes = malloc(FILE_BYTES);
		must(bytes);
		for (size_t i = 0; i < FILE_BYTES; i += 8) {
			uint64_t value = round % 2 ? next_random(&random_state) : nasty_head();
			memcpy(bytes + i, &value, 8);
		}
		if (pick(4))
			memcpy(bytes, image, 4096);
		start_round();
		write_at(0, bytes, FILE_BYTES);
		map_and_use();
		restore();
		free(bytes);
	}
}

static int fuzz(void *data)
{
	/* A number that is too large must not fill the disk. */
	struct rlimit limit = { 4 * MAX_BYTES, 4 * MAX_BYTES };
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	damage_header();
	damage_body(*(const uint64_t *)data);
	damage_all();
	return 0;
}

Test(fuzz_journal, no_damage_does_harm, .timeout = 280)
{
	uint64_t rounds = fuzz_init(200);

	world_open(&world, NULL);
	(void)snprintf(path, sizeof(path), "%s/journal", world.root);
	fill();
	int status = in_child(fuzz, &rounds);
	printf("fuzz_journal: seed %lu, %lu rounds\n", (unsigned long)seed,
	       (unsigned long)*round_at);
	free(image);
	world_close(&world);
	cr_assert_eq(status, 0, "ended with %d in round %lu; FUZZ_SEED=%lu", status,
		     (unsigned long)*round_at, (unsigned long)seed);
}
