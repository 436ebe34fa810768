/* cli/attest: keys, envelopes, and that nothing that was changed is accepted. */
#include "seal_case.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "cli/attest/attestation.h"
#include "cli/attest/envelope.h"
#include "cli/attest/statement.h"

TestSuite(attestation, .init = start, .fini = stop);

/* RFC 8410, section 10.3, and RFC 8032, section 7.1, "TEST 1". */
static const char KEY[] = "-----BEGIN PRIVATE KEY-----\n"
			  "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
			  "-----END PRIVATE KEY-----\n";
static const char PUBLIC_KEY[] = "-----BEGIN PUBLIC KEY-----\n"
				 "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
				 "-----END PUBLIC KEY-----\n";

enum { PRODUCTS = 3, PRODUCT_BYTES = 300 };

static struct ed25519_key key;
static char product[PRODUCTS][PRODUCT_BYTES];

static void digest_of(const void *bytes, size_t size, char *ret_digits)
{
	unsigned char digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, size, bytes);
	sha256_digest(&context, sizeof(digest), digest);
	(void)seal_digest_text(digest, ret_digits);
}

static const char *product_path(int index)
{
	static char path_of[256];

	(void)snprintf(path_of, sizeof(path_of), "%s/p%d", directory, index);
	return path_of;
}

/* A session with three files, attested. */
static char *make(size_t *ret_size)
{
	char digits[SEAL_TEXT_BYTES], statement[4096], *text = NULL;
	size_t used;

	must(ed25519_load() == 0 && ed25519_parse(KEY, strlen(KEY), &key) == 0);
	write_some(30);
	struct seal_result result = append();
	used = (size_t)snprintf(statement, sizeof(statement),
				"{\"_type\":\"" STATEMENT_TYPE
				"\",\"subject\":[{\"name\":\"" STATEMENT_JOURNAL
				"\",\"digest\":{\"" STATEMENT_SEAL "\":\"%s\"}}",
				result.digest);
	for (int i = 0; i < PRODUCTS; i++) {
		for (int at = 0; at < PRODUCT_BYTES; at++)
			product[i][at] = (char)(at * 7 + i);
		write_path(product_path(i), product[i], PRODUCT_BYTES);
		digest_of(product[i], PRODUCT_BYTES, digits);
		used += (size_t)snprintf(statement + used, sizeof(statement) - used,
					 ",{\"name\":\"p%d\",\"digest\":{\"sha256\":\"%s\"}}", i,
					 digits);
	}
	used += (size_t)snprintf(
		statement + used, sizeof(statement) - used,
		"],\"predicateType\":\"" STATEMENT_PREDICATE
		"\",\"predicate\":{\"complete\":true,\"materials\":[],\"removed\":[\"gone\"]}}");
	FILE *file = open_memstream(&text, ret_size);
	must(file && envelope_write(file, &key, statement, used) == 0 && fclose(file) == 0);
	return text;
}

/* What was found to differ first; ATTESTED_KIND_COUNT: nothing. */
static enum attested_kind found;
static char why[256];

static void note(const struct attested_item *item, void *data)
{
	(void)data;
	if (item->result != ATTESTED_DIFFERS || found != ATTESTED_KIND_COUNT)
		return;
	found = item->kind;
	(void)snprintf(why, sizeof(why), "%s", item->why ? item->why : "");
}

static enum attested_kind check_text(const char *text, size_t size)
{
	struct attestation_check check = { .text = text,
					   .size_bytes = size,
					   .key = &key,
					   .journal = journal_path,
					   .checkout = directory,
					   .visit = note };
	found = ATTESTED_KIND_COUNT;
	why[0] = '\0';
	must(attestation_check(&check) == 0);
	return found;
}

Test(attestation, keys_in_pem)
{
	struct ed25519_key public;
	unsigned char signature[ED25519_SIGNATURE_BYTES];

	must(ed25519_load() == 0);
	cr_assert_eq(ed25519_parse(KEY, strlen(KEY), &key), 0);
	cr_assert(key.has_private);
	cr_assert_eq(ed25519_parse(PUBLIC_KEY, strlen(PUBLIC_KEY), &public), 0);
	cr_assert_not(public.has_private);
	cr_assert_arr_eq(public.public, key.public, ED25519_KEY_BYTES);
	cr_assert_str_eq(public.id, key.id);
	ed25519_sign(&key, "text", 4, signature);
	cr_assert(ed25519_verify(&public, "text", 4, signature));
	cr_assert_not(ed25519_verify(&public, "texT", 4, signature));
	signature[9] ^= 1;
	cr_assert_not(ed25519_verify(&public, "text", 4, signature));
	for (size_t size = 0; size < strlen(PUBLIC_KEY) - 2; size++)
		cr_assert_eq(ed25519_parse(PUBLIC_KEY, size, &public), -EBADMSG, "%zu", size);
	cr_assert_eq(ed25519_parse("", 0, &public), -EBADMSG);
}

Test(attestation, what_is_as_it_was_holds)
{
	size_t size;
	char *text = make(&size);
	struct envelope envelope;
	size_t at;

	cr_assert_eq(check_text(text, size), ATTESTED_KIND_COUNT, "%s", why);
	cr_assert_eq(envelope_parse(text, size, &envelope, &at), 0);
	cr_assert_eq(envelope.payload_bytes, strlen(envelope.payload));
	envelope_free(&envelope);

	/* What later runs add to the journal changes nothing. */
	write_some(5);
	(void)append();
	cr_assert_eq(check_text(text, size), ATTESTED_KIND_COUNT, "%s", why);

	write_path(product_path(3), "x", 1);
	cr_assert_eq(check_text(text, size), ATTESTED_KIND_COUNT, "one that is not named: %s", why);
	char gone[256];
	(void)snprintf(gone, sizeof(gone), "%s/gone", directory);
	write_path(gone, "x", 1);
	cr_assert_eq(check_text(text, size), ATTESTED_REMOVED);
	free(text);
}

/* The last character of a signature has four bits that stand for nothing; a decoder may let blanks
 * pass. */
Test(attestation, an_envelope_has_one_form)
{
	static const char DIGITS[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t size;
	char *text = make(&size);
	char *last = strstr(text, "==\"}]}") - 1;
	char was = *last;
	int same = 0;

	for (int i = 0; i < 64; i++) {
		*last = DIGITS[i];
		bool is_same = DIGITS[i] == was;
		same += is_same;
		cr_assert_eq(check_text(text, size),
			     is_same ? ATTESTED_KIND_COUNT : ATTESTED_SIGNATURE, "%c", DIGITS[i]);
	}
	cr_assert_eq(same, 1);
	*last = was;
	for (const char *blank = " \n\t\r"; *blank; blank++) {
		char copy[8192];
		size_t at = (size_t)(strstr(text, "\"payload\":\"") - text) + 20;
		memcpy(copy, text, at);
		copy[at] = *blank;
		memcpy(copy + at + 1, text + at, size - at);
		cr_assert_eq(check_text(copy, size + 1), ATTESTED_SIGNATURE);
	}
	free(text);
}

static uint64_t state = 1;

static uint64_t below(uint64_t limit)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t mixed = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (mixed ^ (mixed >> 31)) % limit;
}

/* Changes some bytes: replaces, inserts, removes, moves.  bytes: room for 8 more.  Never leaves it as
 * it was. */
static size_t mutate(char *bytes, size_t size)
{
	size_t at = below(size), other = below(size), count = 1 + below(4);
	char *before = malloc(size);
	size_t now = size;

	must(before != NULL);
	memcpy(before, bytes, size);
	switch (below(5)) {
	case 0:
		bytes[at] ^= (char)(1 << below(8));
		break;
	case 1:
		count = count > size - at ? size - at : count;
		memmove(bytes + at, bytes + at + count, size - at - count);
		now -= count;
		break;
	case 2:
		memmove(bytes + at + count, bytes + at, size - at);
		for (size_t i = 0; i < count; i++)
			bytes[at + i] = (char)below(256);
		now += count;
		break;
	case 3:
		bytes[at] = bytes[other];
		break;
	default:
		now = at;
		break;
	}
	if (now == size && memcmp(before, bytes, size) == 0)
		bytes[at] ^= 1;
	free(before);
	return now;
}

static void expect(enum attested_kind kind, enum attested_kind wanted, uint64_t round)
{
	cr_assert_eq(kind, wanted, "round %llu: %s, not %s: %s", (unsigned long long)round,
		     kind == ATTESTED_KIND_COUNT ? "accepted" : attested_kind_name(kind),
		     attested_kind_name(wanted), why);
	cr_assert(why[0], "round %llu: a %s without a reason", (unsigned long long)round,
		  attested_kind_name(kind));
}

static void change_envelope(const char *text, size_t size, uint64_t round)
{
	char copy[8192];

	must(size + 8 < sizeof(copy));
	memcpy(copy, text, size);
	expect(check_text(copy, mutate(copy, size)), ATTESTED_SIGNATURE, round);
}

/* The statement is another one, in an envelope that is well formed. */
static void change_statement(const char *text, size_t size, uint64_t round)
{
	struct envelope envelope;
	char payload[4096], encoded[8192], copy[8192];
	size_t at;

	must(envelope_parse(text, size, &envelope, &at) == 0);
	memcpy(payload, envelope.payload, envelope.payload_bytes);
	size_t now = mutate(payload, envelope.payload_bytes);
	base64_encode_raw(encoded, now, (const unsigned char *)payload);
	const char *from = strstr(text, "\"payload\":\"") + strlen("\"payload\":\"");
	int length = snprintf(copy, sizeof(copy), "%.*s%.*s%s", (int)(from - text), text,
			      (int)BASE64_ENCODE_RAW_LENGTH(now), encoded, strchr(from, '"'));
	expect(check_text(copy, (size_t)length), ATTESTED_SIGNATURE, round);
	envelope_free(&envelope);
}

/* One byte of a file; it is put back. */
static void change_file(const char *name, off_t at, const char *text, size_t size,
			enum attested_kind wanted, uint64_t round)
{
	char byte, other;
	int fd = open(name, O_RDWR | O_CLOEXEC);

	must(fd >= 0 && pread(fd, &byte, 1, at) == 1);
	other = (char)(byte ^ (1 << below(8)));
	must(pwrite(fd, &other, 1, at) == 1);
	expect(check_text(text, size), wanted, round);
	must(pwrite(fd, &byte, 1, at) == 1 && close(fd) == 0);
}

static void change_journal(const char *text, size_t size, uint64_t to, uint64_t round)
{
	enum { HEAD_BYTES = 136 };
	uint64_t records = (to - JOURNAL_UNITS_FIRST) * JOURNAL_UNIT_BYTES;
	uint64_t at = below(HEAD_BYTES + records);

	at = at < HEAD_BYTES ? at : at - HEAD_BYTES + JOURNAL_UNITS_FIRST * JOURNAL_UNIT_BYTES;
	change_file(journal_path, (off_t)at, text, size, ATTESTED_JOURNAL, round);
}

static void change_product(const char *text, size_t size, uint64_t round)
{
	int index = (int)below(PRODUCTS);
	char copy[PRODUCT_BYTES + 8];

	if (below(4) == 0) {
		must(unlink(product_path(index)) == 0);
		if (below(2))
			must(symlink("elsewhere", product_path(index)) == 0);
		expect(check_text(text, size), ATTESTED_PRODUCT, round);
		(void)unlink(product_path(index));
	} else {
		memcpy(copy, product[index], PRODUCT_BYTES);
		write_path(product_path(index), copy, mutate(copy, PRODUCT_BYTES));
		expect(check_text(text, size), ATTESTED_PRODUCT, round);
	}
	write_path(product_path(index), product[index], PRODUCT_BYTES);
}

/* SEEN_LONG: 10^6. */
Test(attestation, nothing_that_was_changed_is_accepted, .timeout = 3600)
{
	uint64_t rounds = getenv("SEEN_LONG") ? 1000000 : 10000;
	size_t size;
	char *text = make(&size);
	uint64_t to = journal.header->next;

	state = (uint64_t)getpid();
	cr_log_info("seed %llu", (unsigned long long)state);
	for (uint64_t round = 0; round < rounds; round++) {
		switch (below(5)) {
		case 0:
			change_envelope(text, size, round);
			break;
		case 1:
			change_statement(text, size, round);
			break;
		case 2:
			change_journal(text, size, to, round);
			break;
		case 3:
			change_file(path, (off_t)below(100), text, size, ATTESTED_JOURNAL, round);
			break;
		default:
			change_product(text, size, round);
			break;
		}
	}
	cr_assert_eq(check_text(text, size), ATTESTED_KIND_COUNT, "%s", why);
	free(text);
}
