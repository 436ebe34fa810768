/*
 * What a seal is made of: digests of a journal's header and of its records, block by block, and
 * their digits.
 *
 * journal: a view of the whole file.  Digests are SEAL_DIGEST_BYTES long.
 */
#ifndef SEEN_CLI_SEAL_DIGEST_H
#define SEEN_CLI_SEAL_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/journal/seal.h"

/* seal_digest_text(): 64 hexadecimal digits.  Returns ret_text, SEAL_TEXT_BYTES long. 
 * seal_is_digest(): is a text such? */
const char *seal_digest_text(const unsigned char *digest, char *ret_text);
bool seal_is_digest(const char *text);

/* seal_digest_parse(): text: seal_is_digest(). */
void seal_digest_parse(const char *text, unsigned char *ret_digest);

bool seal_digest_equal(const unsigned char *a, const unsigned char *b);

/* seal_digest_head(): of the constant part of the journal's header. */
void seal_digest_head(const struct journal *journal, unsigned char *ret_digest);

/* seal_digest_block(): of the records from `from` to before `to`, and of the digest before. */
void seal_digest_block(const struct journal *journal, const unsigned char *previous, uint64_t from,
		       uint64_t to, unsigned char *ret_digest);

/* seal_head_at(), seal_units_of(): how many units a record takes, by its first word alone and
 * inside of what ends at `to`: whatever was done to the records, sealing and verifying walk the
 * same way. */
struct journal_head seal_head_at(const struct journal *journal, uint64_t number);
uint64_t seal_units_of(const struct journal_head *head, uint64_t number, uint64_t to);

/* seal_count_record(): adds the record at `number` to the one of these counts that it belongs
 * to. */
void seal_count_record(const struct journal *journal, uint64_t number, uint64_t *records,
		       uint64_t *abandoned, uint64_t *damaged);

#endif
