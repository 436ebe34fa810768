/* journal_reader.h: in parts a journal says what it says as a whole, also while it is written, damaged or cut short. */
#include <criterion/criterion.h>

#include "cli/journal/journal_reader.h"
#include "journal_file.h"

static struct journal_reader *reader;

static void start(void)
{
	journal_file_open("test");
	reader = calloc(1, sizeof(*reader));
	must(reader && journal_reader_open(path, reader) == 0);
}

static void stop(void)
{
	journal_reader_close(reader);
	free(reader);
	journal_file_close();
}

TestSuite(journal_reader, .init = start, .fini = stop);

static uint32_t append(void)
{
	struct journal_record record = journal_blank(JOURNAL_DELETE);
	uint32_t number = journal_write(&journal, &record, NULL, 0, true);
	must(number);
	return number;
}

/* Records and texts of every length, `units` of them at least. */
static void fill(uint64_t units)
{
	static char bytes[JOURNAL_TEXT_BYTES_MAX];
	unsigned random = 1;

	for (uint64_t from = journal_end_unit(&journal);
	     journal_end_unit(&journal) < from + units;) {
		random = random * 1103515245 + 12345;
		memset(bytes, (int)(random >> 16), sizeof(bytes));
		memcpy(bytes, &random, sizeof(random));
		must(journal_text(&journal, bytes, (random >> 8) % sizeof(bytes), true));
		for (unsigned i = 0; i < random % 40; i++)
			(void)append();
	}
}

static unsigned char *unit(uint64_t number)
{
	return journal.units + number * JOURNAL_UNIT_BYTES;
}

static uint64_t at;
static struct journal_entry entry;

static enum journal_found next(void)
{
	return journal_reader_next(reader, &at, &entry);
}

static void is_the_same(uint64_t number)
{
	struct journal_entry whole = { .number = 0 };
	uint64_t behind = number;

	at = number;
	memset(&entry, 0, sizeof(entry));
	enum journal_found found = journal_next(&journal, &behind, &whole);
	cr_assert_eq(next(), found, "%llu", (unsigned long long)number);
	cr_assert_eq(at, behind);
	cr_assert_eq(memcmp(&whole, &entry, sizeof(whole)), 0);
	if (found != JOURNAL_FOUND_RECORD || whole.record.head.op != JOURNAL_TEXT)
		return;
	size_t size, size_of_part;
	const char *bytes = journal_bytes(&journal, (uint32_t)number, &size);
	const char *part = journal_reader_bytes(reader, (uint32_t)number, &size_of_part);
	cr_assert(part);
	cr_assert_eq(size, size_of_part);
	cr_assert_eq(memcmp(bytes, part, size), 0);
}

Test(journal_reader, says_what_a_view_of_the_whole_says)
{
	fill(5 * JOURNAL_READER_AHEAD_UNITS);
	uint64_t number = JOURNAL_UNITS_FIRST, far = 0;
	while (number < journal_end_unit(&journal)) {
		is_the_same(number);
		number = at;
		far = (far + 7919) % (journal_end_unit(&journal) + 10);
		is_the_same(far); /* anywhere: mostly no record begins there */
	}
	cr_assert_eq(journal_reader_end_unit(reader), journal_end_unit(&journal));
}

static bool is_aligned(const struct journal_reader_piece *part)
{
	return ((uintptr_t)part->view.units + part->from * JOURNAL_UNIT_BYTES) %
		       _Alignof(uint64_t) ==
	       0;
}

Test(journal_reader, reads_where_a_word_can_be_loaded_at_once)
{
	fill(2 * JOURNAL_READER_AHEAD_UNITS);
	is_the_same(JOURNAL_UNITS_FIRST);
	is_the_same(journal_end_unit(&journal) - 1); /* in a piece */
	cr_assert(is_aligned(&reader->ahead));
	cr_assert_neq(reader->pieces[0].to, 0);
	cr_assert(is_aligned(&reader->pieces[0]));
}

Test(journal_reader, continues_in_order_from_any_place)
{
	fill(3 * JOURNAL_READER_AHEAD_UNITS);
	uint64_t last = journal_end_unit(&journal) - 1;
	for (at = JOURNAL_UNITS_FIRST; at < JOURNAL_READER_AHEAD_UNITS;) {
		cr_assert_eq(next(), JOURNAL_FOUND_RECORD);
		uint64_t kept = at;
		at = last;
		(void)next();
		at = kept;
		cr_assert_eq(reader->ahead.from, JOURNAL_UNITS_FIRST);
	}
}

Test(journal_reader, sees_what_was_finished_since)
{
	uint32_t first = append(), second = append();
	uint64_t head;

	memcpy(&head, unit(second), sizeof(head));
	memset(unit(second), 0, sizeof(head));
	at = first;
	cr_assert_eq(next(), JOURNAL_FOUND_RECORD);
	cr_assert_eq(next(), JOURNAL_FOUND_UNDONE);
	cr_assert_eq(at, second);
	cr_assert_eq(journal_reader_behind_undone(reader, second), second + 1);
	memcpy(unit(second), &head, sizeof(head));
	cr_assert_eq(journal_reader_behind_undone(reader, second), second);
	cr_assert_eq(next(), JOURNAL_FOUND_RECORD);
	cr_assert_eq(next(), JOURNAL_FOUND_END);
	uint32_t third = append();
	cr_assert_eq(next(), JOURNAL_FOUND_RECORD);
	cr_assert_eq(entry.number, third);
}

Test(journal_reader, believes_damage_only_as_the_file_has_it)
{
	uint32_t number = append();

	unit(number)[20] ^= 1;
	at = number;
	cr_assert_eq(next(), JOURNAL_FOUND_DAMAGED);
	cr_assert_eq(at, number + 1);
	unit(number)[20] ^= 1; /* as if it had been read while it was written */
	at = number;
	cr_assert_eq(next(), JOURNAL_FOUND_RECORD);
}

Test(journal_reader, passes_over_one_being_filled_as_a_whole)
{
	uint32_t number = append();
	struct journal_head head = { .op = JOURNAL_FILLING, .units = 3 };

	(void)append();
	(void)append();
	memcpy(unit(number), &head, sizeof(head));
	at = number;
	cr_assert_eq(next(), JOURNAL_FOUND_UNDONE);
	cr_assert_eq(journal_reader_behind_undone(reader, number), number + 3);
}

Test(journal_reader, ends_where_the_file_was_cut)
{
	fill(2 * JOURNAL_READER_AHEAD_UNITS);
	uint32_t number = append();

	must(truncate(path, (off_t)number * JOURNAL_UNIT_BYTES) == 0);
	for (at = JOURNAL_UNITS_FIRST; next() == JOURNAL_FOUND_RECORD;)
		;
	cr_assert_eq(at, number);
	cr_assert_eq(next(), JOURNAL_FOUND_END);
	size_t size;
	cr_assert_null(journal_reader_bytes(reader, number, &size));
	cr_assert_null(journal_reader_bytes(reader, UINT32_MAX, &size));
	cr_assert_null(journal_reader_bytes(reader, 1, &size));
}

Test(journal_reader, goes_elsewhere)
{
	fill(4 * JOURNAL_READER_AHEAD_UNITS);
	uint32_t number = append();

	at = JOURNAL_UNITS_FIRST;
	(void)next();
	journal_reader_seek(reader, number);
	at = number;
	cr_assert_eq(next(), JOURNAL_FOUND_RECORD);
	cr_assert_eq(reader->ahead.from, number);
	is_the_same(JOURNAL_UNITS_FIRST);
	cr_assert_eq(reader->ahead.from, number);
}

Test(journal_reader, refuses_what_is_no_journal)
{
	static struct journal_reader another;
	cr_assert_eq(journal_reader_open("/dev/null", &another), -EBADMSG);
	journal_reader_close(&another);
	cr_assert_eq(journal_reader_open("/nonexistent", &another), -ENOENT);
	journal_reader_close(&another);
}
