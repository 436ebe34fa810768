/* seal.h: what `seen verify` finds of tampering with the journal, and with the seal. */
#include "seal_case.h"

TestSuite(seal, .init = start, .fini = stop);

/* A forger who knows the format: the record is changed, and its check computed anew, by having it written by the
 * library itself at the same place. */
static void forge(uint64_t number, uint64_t amount)
{
	uint64_t next = journal.header->next;

	memset(unit(number), 0, JOURNAL_UNIT_BYTES);
	journal.header->next = number;
	must(write_one(amount) == number);
	journal.header->next = next;
}

/* ---- tampering ---- */

/* A journal of several blocks, sealed; the second block is the one that is tampered with. */
static void prepare(void)
{
	write_some(600);
	(void)append();
	assert_intact();
	cr_assert_gt(seal.block_count, 3);
}

/* A record of the second block: of one unit, a text, with details. */
static uint64_t victim(uint8_t op)
{
	unsigned index = 0;
	uint64_t number;
	while ((number = find(op, index++)) < seal.blocks[1].from + 100)
		;
	return number;
}

static void assert_second_block(const struct seal_report *report)
{
	cr_assert_not(is_intact(report));
	cr_assert_eq(report->first_bad, 1);
	cr_assert_not(report->line_changed);
}

static void assert_suspect(const struct seal_report *report, uint64_t number)
{
	assert_second_block(report);
	cr_assert_geq(report->suspect_count, 1);
	cr_assert_eq(report->suspects[0].number, number, "%lu, not %lu", report->suspects[0].number,
		     number);
}

Test(seal, each_changed_byte_of_a_record_is_found)
{
	prepare();
	for (int op = 0; op < 3; op++) {
		uint64_t number = victim(
			(uint8_t[]){ JOURNAL_OPEN, JOURNAL_TEXT, JOURNAL_READ }[op]);
		size_t bytes = (size_t)head(number)->units * JOURNAL_UNIT_BYTES;
		unsigned char *at = unit(number);
		for (size_t i = 0; i < bytes; i++) {
			at[i] ^= 0x20;
			struct seal_report report = check();
			assert_suspect(&report, number);
			cr_assert_eq(report.bad_blocks, 1);
			at[i] ^= 0x20;
		}
	}
	assert_intact();
}

Test(seal, erased_record)
{
	prepare();
	uint64_t number = victim(JOURNAL_OPEN);
	memset(unit(number), 0, JOURNAL_UNIT_BYTES);
	struct seal_report report = check();
	assert_suspect(&report, number);
	cr_assert(report.suspects[0].erased);
	cr_assert_eq(report.suspect_count, 1);
	/* a record is not taken back by being abandoned again */
	(void)journal_abandon(&journal, number);
	report = check();
	assert_second_block(&report);
	cr_assert_eq(report.suspect_count, 0);
}

Test(seal, swapped_records)
{
	unsigned char kept[JOURNAL_UNIT_BYTES];

	prepare();
	uint64_t a = victim(JOURNAL_OPEN), b = a + 4;
	while (head(b)->op != JOURNAL_OPEN || head(b)->units != 1)
		b++;
	cr_assert_lt(b, seal.blocks[1].to);
	memcpy(kept, unit(a), sizeof(kept));
	memcpy(unit(a), unit(b), sizeof(kept));
	memcpy(unit(b), kept, sizeof(kept));
	struct seal_report report = check();
	assert_suspect(&report, a);
	cr_assert_eq(report.suspect_count, 2);
	cr_assert_eq(report.suspects[1].number, b);
	cr_assert_eq(report.bad_blocks, 1);
}

Test(seal, dropped_record_with_the_rest_moved_up)
{
	prepare();
	uint64_t number = victim(JOURNAL_OPEN), next = journal.header->next;
	memmove(unit(number), unit(number + 1), (next - number - 1) * JOURNAL_UNIT_BYTES);
	journal.header->next--;
	struct seal_report report = check();
	assert_suspect(&report, number);
	cr_assert_eq(report.journal_end_unit, report.sealed_to - 1);
	cr_assert_gt(report.bad_blocks, 1);
}

Test(seal, put_in_record_with_the_rest_moved_down)
{
	prepare();
	uint64_t number = victim(JOURNAL_OPEN), next = journal.header->next;
	memmove(unit(number + 1), unit(number), (next - number) * JOURNAL_UNIT_BYTES);
	journal.header->next++;
	forge(number, 99);
	struct seal_report report = check();
	/* the one put in has a good check, those behind it are not where they were */
	assert_suspect(&report, number + 1);
}

Test(seal, record_in_the_place_of_an_abandoned_one)
{
	write_some(10);
	uint64_t number = reserve(1);
	write_some(10);
	(void)append();
	assert_intact();
	forge(number, 99);
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.bad_blocks, 1);
	cr_assert_eq(report.suspect_count, 0);
}

Test(seal, changed_with_its_check_computed_anew)
{
	prepare();
	forge(victim(JOURNAL_OPEN), 99);
	struct seal_report report = check();
	assert_second_block(&report);
	cr_assert_eq(report.suspect_count, 0);
	cr_assert_eq(report.bad_blocks, 1);
}

Test(seal, dropped_at_the_end)
{
	prepare();
	uint64_t last = find(JOURNAL_OPEN, 599);
	journal.header->next = last;
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.bad_blocks, 0);
	cr_assert_eq(report.journal_end_unit, last);
	cr_assert_eq(report.sealed_to, last + 1);
	/* and the next seal does not go on as if nothing had happened */
	struct seal_result result;
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EBADMSG);
}

Test(seal, journal_file_cut_short)
{
	struct journal view;

	prepare();
	must(truncate(journal_path, 65536) == 0);
	cr_assert_eq(journal_map_to_read(journal_path, &view), -EBADMSG);
	/* with a header that says so: no different from dropped at the end */
	journal.header->allocated = 1024;
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.journal_end_unit, 1024);
}

Test(seal, header)
{
	prepare();
	journal.header->workspace++;
	struct seal_report report = check();
	cr_assert(report.head_changed);
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.bad_blocks, 0);
	struct seal_result result;
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EBADMSG);
	journal.header->workspace--;
	/* what changes in its life is not part of it */
	journal.header->lost++;
	assert_intact();
}

Test(seal, of_another_journal)
{
	prepare();
	journal.header->nonce[0] = '9';
	struct seal_report report = check();
	cr_assert(report.other_journal);
	cr_assert_not(is_intact(&report));
}

/* ---- tampering with the seal ---- */

/* Replaces the bytes at a place of the seal. */
static void edit_seal(size_t at, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0);
	must(pwrite(fd, bytes, strlen(bytes), (off_t)at) == (ssize_t)strlen(bytes));
	must(close(fd) == 0);
}

static size_t line_at(const char *text, unsigned line)
{
	const char *at = text;
	while (line-- > 0)
		at = strchr(at, '\n') + 1;
	return (size_t)(at - text);
}

Test(seal, edited_digest)
{
	char text[8192];

	prepare();
	(void)words_of_seal(text, sizeof(text));
	size_t digit = line_at(text, 3) - 2; /* the last but the newline of the second block's */
	edit_seal(digit, text[digit] == '0' ? "1" : "0");
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert(report.line_changed);
	cr_assert_eq(report.first_bad, 1);
	cr_assert_eq(report.bad_blocks, 1);
	cr_assert_eq(report.suspect_count, 0);
}

Test(seal, every_edited_character_is_found)
{
	char text[8192];

	prepare();
	uint64_t bytes = words_of_seal(text, sizeof(text));
	for (size_t i = 0; i < bytes; i++) {
		const char other[2] = { text[i] == '7' ? '8' : '7', '\0' };
		const char same[2] = { text[i], '\0' };
		struct seal now;
		edit_seal(i, other);
		int error = seal_read(path, &now);
		if (error == 0) {
			struct seal_report report;
			seal_check(&now, &journal, NULL, &report);
			/* without its newline the last line is one that was not written to its end */
			cr_assert(!seal_is_intact(&now, &report) || (i == bytes - 1 && now.torn),
				  "character %zu", i);
			seal_destroy(&now);
		}
		edit_seal(i, same);
	}
	assert_intact();
}

Test(seal, other_ways_to_write_a_line_are_refused)
{
	static const char *const LINES[] = { " 128 1152", "0128 1152",      "+128 1152",
					     "128  1152", "128 1152 ",      "129 1152",
					     "128 128",   "128 99999999999" };
	struct seal now;
	char text[512];

	prepare();
	char digest[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	for (size_t i = 0; i <= sizeof(LINES) / sizeof(LINES[0]); i++) {
		bool is_good = i == sizeof(LINES) / sizeof(LINES[0]);
		int length = snprintf(text, sizeof(text), "seen-seal 1 %s %s\n%s %s\n", NONCE,
				      digest, is_good ? "128 1152" : LINES[i], digest);
		write_path(path, text, (size_t)length);
		cr_assert_eq(seal_read(path, &now), 0);
		cr_assert_eq(now.bad_line, is_good ? 0 : 2, "%s", is_good ? "good" : LINES[i]);
		seal_destroy(&now);
	}
	static const char *const HEADS[] = { "seen-seal 1  %s %s\n", "seen-seal 1 %s  %s\n",
					     "seen-seal 1 %s %s \n", "seen-seal 1 %s %s0\n",
					     "seen-seal 1 0%s0000000 %s\n" };
	for (size_t i = 0; i < sizeof(HEADS) / sizeof(HEADS[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		int length = snprintf(text, sizeof(text), HEADS[i], NONCE, digest);
#pragma GCC diagnostic pop
		write_path(path, text, (size_t)length);
		cr_assert_eq(seal_read(path, &now), -EBADMSG, "%zu", i);
	}
	/* upper case is another digest's text */
	int length = snprintf(text, sizeof(text), "seen-seal 1 %s %s\n128 1152 A%s\n", NONCE,
			      digest, digest + 1);
	write_path(path, text, (size_t)length);
	cr_assert_eq(seal_read(path, &now), 0);
	cr_assert_eq(now.bad_line, 2);
	seal_destroy(&now);
}

Test(seal, line_taken_out)
{
	char text[8192];

	prepare();
	uint64_t bytes = words_of_seal(text, sizeof(text));
	size_t second = line_at(text, 2), third = line_at(text, 3);
	memmove(text + second, text + third, bytes - third + 1);
	write_path(path, text, strlen(text));
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert_eq(seal.bad_line, 3);
	struct seal_result result;
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EBADMSG);
}

Test(seal, cut_seal_is_found_by_the_digest_alone)
{
	char text[8192];

	write_some(600);
	struct seal_result result = append();
	(void)words_of_seal(text, sizeof(text));
	cut_seal(line_at(text, 3));
	/* no different from a journal whose last records are not sealed yet */
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	cr_assert_gt(report.not_sealed, 0);
	report = check_for(result.digest);
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.wanted, SEAL_WANTED_MISSING);
}

Test(seal, both_replaced_is_found_by_the_digest_alone)
{
	write_some(600);
	struct seal_result result = append();
	assert_intact();
	forge(victim(JOURNAL_OPEN), 99);
	must(unlink(path) == 0);
	struct seal_result forged = append();
	cr_assert_str_neq(forged.digest, result.digest);
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	report = check_for(result.digest);
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.wanted, SEAL_WANTED_MISSING);
	report = check_for(forged.digest);
	cr_assert(is_intact(&report));
}

Test(seal, digests_in_text)
{
	cr_assert(
		seal_is_digest("00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"));
	cr_assert_not(
		seal_is_digest("00112233445566778899aabbccddeeff00112233445566778899aabbccddeef"));
	cr_assert_not(seal_is_digest(
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0"));
	cr_assert_not(
		seal_is_digest("00112233445566778899aabbccddeeff00112233445566778899aabbccddeefg"));
	cr_assert_not(seal_is_digest(""));
}

Test(seal, lies_beside_the_journal)
{
	char text[32];
	cr_assert_eq(seal_path("/a/b/journal", text, sizeof(text)), 0);
	cr_assert_str_eq(text, "/a/b/seal");
	cr_assert_eq(seal_path("journal", text, sizeof(text)), 0);
	cr_assert_str_eq(text, "seal");
	cr_assert_eq(seal_path("/a/b/journal", text, 9), -ENAMETOOLONG);
}
