/* What a seal is made of: see seal_digest.h. */
#include "cli/journal/seal_digest.h"

#include <ctype.h>
#include <endian.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <string.h>

_Static_assert(SEAL_DIGEST_BYTES == SHA256_DIGEST_SIZE, "SHA-256");
_Static_assert(SEAL_TEXT_BYTES == BASE16_ENCODE_LENGTH(SEAL_DIGEST_BYTES) + 1, "and a NUL");
_Static_assert(JOURNAL_NONCE_BYTES == 24, "in the format below");

/* The constant part of the header; what is behind may come to change. */
enum { HEAD_BYTES = offsetof(struct journal_header, reserved) };

const char *seal_digest_text(const unsigned char *digest, char *ret_text)
{
	base16_encode_update(ret_text, SEAL_DIGEST_BYTES, digest);
	ret_text[SEAL_TEXT_BYTES - 1] = '\0';
	return ret_text;
}

bool seal_is_digest(const char *text)
{
	size_t digits = 0;
	while (isxdigit((unsigned char)text[digits]))
		digits++;
	return digits == SEAL_TEXT_BYTES - 1 && text[digits] == '\0';
}

void seal_digest_parse(const char *text, unsigned char *ret_digest)
{
	struct base16_decode_ctx context;
	size_t length = SEAL_DIGEST_BYTES;

	base16_decode_init(&context);
	(void)base16_decode_update(&context, &length, ret_digest, SEAL_TEXT_BYTES - 1, text);
}

bool seal_digest_equal(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, SEAL_DIGEST_BYTES) == 0;
}

void seal_digest_head(const struct journal *journal, unsigned char *ret_digest)
{
	struct sha256_ctx context;
	sha256_init(&context);
	sha256_update(&context, HEAD_BYTES, (const unsigned char *)journal->header);
	sha256_digest(&context, SEAL_DIGEST_BYTES, ret_digest);
}

struct journal_head seal_head_at(const struct journal *journal, uint64_t number)
{
	const uint64_t *word = (const uint64_t *)(const void *)(journal->units +
								number * JOURNAL_UNIT_BYTES);
	uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	struct journal_head head;
	memcpy(&head, &value, sizeof(head));
	return head;
}

uint64_t seal_units_of(const struct journal_head *head, uint64_t number, uint64_t to)
{
	return head->units == 0 || head->units > to - number ? 1 : head->units;
}

void seal_digest_block(const struct journal *journal, const unsigned char *previous, uint64_t from,
		       uint64_t to, unsigned char *ret_digest)
{
	const uint64_t range[2] = { htole64(from), htole64(to) };
	struct sha256_ctx context;
	uint64_t pending = from; /* what is hashed at once, for speed */

	sha256_init(&context);
	sha256_update(&context, SEAL_DIGEST_BYTES, previous);
	sha256_update(&context, sizeof(range), (const unsigned char *)range);
	for (uint64_t number = from; number < to;) {
		struct journal_head head = seal_head_at(journal, number);
		if (head.op == JOURNAL_ABANDONED) {
			sha256_update(&context, (number - pending) * JOURNAL_UNIT_BYTES,
				      journal->units + pending * JOURNAL_UNIT_BYTES);
			sha256_update(&context, sizeof(head), (const unsigned char *)&head);
		}
		number += seal_units_of(&head, number, to);
		if (head.op == JOURNAL_ABANDONED)
			pending = number;
	}
	sha256_update(&context, (to - pending) * JOURNAL_UNIT_BYTES,
		      journal->units + pending * JOURNAL_UNIT_BYTES);
	sha256_digest(&context, SEAL_DIGEST_BYTES, ret_digest);
}

void seal_count_record(const struct journal *journal, uint64_t number, uint64_t *records,
		       uint64_t *abandoned, uint64_t *damaged)
{
	struct journal_entry entry;
	uint64_t at = number;

	if (journal_next(journal, &at, &entry) != JOURNAL_FOUND_RECORD)
		++*damaged;
	else if (entry.record.head.op == JOURNAL_ABANDONED)
		++*abandoned;
	else
		++*records;
}
