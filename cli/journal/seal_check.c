/* Verifying a seal: see seal_check.h. */
#include "cli/journal/seal_check.h"

#include <string.h>

#include "cli/journal/seal_digest.h"

enum { BLOCKS_KEPT = 64 }; /* of the journal, in memory while it is verified */

/* Names the records of a block that are not what a writer left. */
static void find_suspects(const struct journal *journal, const struct seal_block *block,
			  struct seal_report *report)
{
	struct journal_entry entry;

	for (uint64_t number = block->from; number < block->to;) {
		uint64_t at = number;
		enum journal_found found = journal_next(journal, &at, &entry);
		if (found != JOURNAL_FOUND_RECORD) {
			if (report->suspect_count < SEAL_SUSPECTS_MAX)
				report->suspects[report->suspect_count] = (struct seal_suspect){
					number, found == JOURNAL_FOUND_UNDONE
				};
			report->suspect_count++;
		}
		struct journal_head head = seal_head_at(journal, number);
		number += seal_units_of(&head, number, block->to);
	}
}

static void count_block(const struct journal *journal, const struct seal_block *block,
			struct seal_report *report)
{
	for (uint64_t number = block->from; number < block->to;) {
		struct journal_head head = seal_head_at(journal, number);
		seal_count_record(journal, number, &report->records, &report->abandoned,
				  &report->damaged);
		number += seal_units_of(&head, number, block->to);
	}
}

static void check_blocks(const struct seal *seal, const struct journal *journal,
			 struct seal_report *report)
{
	const unsigned char *previous = seal->head_digest;
	unsigned char digest[SEAL_DIGEST_BYTES], bad_digest[SEAL_DIGEST_BYTES];

	for (size_t i = 0; i < seal->block_count; i++) {
		const struct seal_block *block = &seal->blocks[i];
		if (block->to > report->journal_end_unit)
			break;
		seal_digest_block(journal, previous, block->from, block->to, digest);
		bool is_same = seal_digest_equal(digest, block->digest);
		if (!is_same && report->bad_blocks > 0 && i == report->first_bad + 1) {
			/* If this block goes on from what its neighbour's records give, and not
			 * from what the neighbour's line says, then it is the line that was
			 * changed. */
			seal_digest_block(journal, bad_digest, block->from, block->to, digest);
			is_same = seal_digest_equal(digest, block->digest);
			report->line_changed = is_same;
		}
		if (is_same) {
			count_block(journal, block, report);
		} else if (report->bad_blocks++ == 0) {
			report->first_bad = i;
			memcpy(bad_digest, digest, sizeof(digest));
			find_suspects(journal, block, report);
		}
		previous = block->digest; /* each block is judged by itself */
		if (i % BLOCKS_KEPT == BLOCKS_KEPT - 1)
			journal_drop(journal, block->from);
	}
}

static void count_not_sealed(const struct journal *journal, struct seal_report *report)
{
	uint64_t number = report->sealed_to;
	struct journal_entry entry;

	for (;;) {
		enum journal_found found = journal_next(journal, &number, &entry);
		if (found == JOURNAL_FOUND_END)
			return;
		if (found == JOURNAL_FOUND_UNDONE)
			number = journal_behind_undone(journal, number);
		else
			report->not_sealed++;
	}
}

static void find_digest(const struct seal *seal, const char *text, struct seal_report *report)
{
	unsigned char digest[SEAL_DIGEST_BYTES];

	report->wanted = SEAL_WANTED_MISSING;
	seal_digest_parse(text, digest);
	for (size_t i = 0; i < seal->block_count; i++) {
		if (!seal_digest_equal(seal->blocks[i].digest, digest))
			continue;
		report->wanted = i + 1 == seal->block_count ? SEAL_WANTED_LAST
							    : SEAL_WANTED_EARLIER;
		report->wanted_to = seal->blocks[i].to;
	}
}

void seal_check(const struct seal *seal, const struct journal *journal, const char *digest,
		struct seal_report *ret_report)
{
	struct seal_report report = { .sealed_to = seal_end_unit(seal),
				      .journal_end_unit = journal_end_unit(journal) };
	unsigned char head[SEAL_DIGEST_BYTES];

	report.other_journal = strcmp(seal->nonce, journal->header->nonce) != 0;
	if (digest)
		find_digest(seal, digest, &report);
	if (!report.other_journal) {
		seal_digest_head(journal, head);
		report.head_changed = !seal_digest_equal(head, seal->head_digest);
		check_blocks(seal, journal, &report);
		count_not_sealed(journal, &report);
	}
	*ret_report = report;
}

bool seal_is_intact(const struct seal *seal, const struct seal_report *report)
{
	return !report->other_journal && !report->head_changed && !seal->bad_line &&
	       report->bad_blocks == 0 && report->journal_end_unit >= report->sealed_to &&
	       report->wanted != SEAL_WANTED_MISSING;
}
