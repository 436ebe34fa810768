/* DSSE envelopes: see envelope.h. */
#include "cli/attest/envelope.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE_TEXT_BYTES = BASE64_ENCODE_RAW_LENGTH(ED25519_SIGNATURE_BYTES) };

/* The text of an envelope around its four values. */
static const char *const AROUND[] = {
	"{\"payloadType\":\"" ENVELOPE_PAYLOAD_TYPE "\",\"payload\":\"",
	"\",\"signatures\":[{\"keyid\":\"",
	"\",\"sig\":\"",
	"\"}]}\n",
};

/* What is signed.  Returns it, ret_bytes long; free() it; NULL: no memory. */
static char *authenticated(const char *payload, size_t payload_bytes, size_t *ret_bytes)
{
	char head[96];
	int length = snprintf(head, sizeof(head), "DSSEv1 %zu %s %zu ",
			      sizeof(ENVELOPE_PAYLOAD_TYPE) - 1, ENVELOPE_PAYLOAD_TYPE,
			      payload_bytes);
	char *bytes = malloc((size_t)length + payload_bytes);

	if (!bytes)
		return NULL;
	memcpy(bytes, head, (size_t)length);
	memcpy(bytes + length, payload, payload_bytes);
	*ret_bytes = (size_t)length + payload_bytes;
	return bytes;
}

int envelope_write(FILE *file, const struct ed25519_key *key, const char *payload,
		   size_t payload_bytes)
{
	unsigned char signature[ED25519_SIGNATURE_BYTES];
	char signature_text[SIGNATURE_TEXT_BYTES];
	size_t signed_bytes, text_bytes = BASE64_ENCODE_RAW_LENGTH(payload_bytes);
	char *bytes = authenticated(payload, payload_bytes, &signed_bytes);
	char *text = bytes ? malloc(text_bytes + 1) : NULL;

	if (!text) {
		free(bytes);
		return -ENOMEM;
	}
	ed25519_sign(key, bytes, signed_bytes, signature);
	base64_encode_raw(text, payload_bytes, (const unsigned char *)payload);
	base64_encode_raw(signature_text, sizeof(signature), signature);
	(void)fputs(AROUND[0], file);
	(void)fwrite(text, 1, text_bytes, file);
	(void)fprintf(file, "%s%s%s%.*s%s", AROUND[1], key->id, AROUND[2], SIGNATURE_TEXT_BYTES,
		      signature_text, AROUND[3]);
	free(text);
	free(bytes);
	return 0;
}

/* A place in the text that is read. */
struct reading {
	const char *text;
	size_t size_bytes, at;
};

static bool skip(struct reading *reading, const char *wanted)
{
	for (; *wanted; wanted++, reading->at++)
		if (reading->at >= reading->size_bytes || reading->text[reading->at] != *wanted)
			return false;
	return true;
}

/* How far it is to the next quote. */
static size_t value_bytes(const struct reading *reading)
{
	const char *from = reading->text + reading->at;
	const char *quote = memchr(from, '"', reading->size_bytes - reading->at);

	return quote ? (size_t)(quote - from) : 0;
}

/* Reads base64 in the one form that its bytes have.  nettle refuses bits that stand for nothing, and
 * passes over blanks: those make the text longer.  ret_bytes: room for all of it. */
static bool read_base64(struct reading *reading, size_t length, char *ret_bytes, size_t *ret_size)
{
	struct base64_decode_ctx context;
	size_t size = BASE64_DECODE_LENGTH(length);

	base64_decode_init(&context);
	if (!base64_decode_update(&context, &size, (unsigned char *)ret_bytes, length,
				  reading->text + reading->at) ||
	    !base64_decode_final(&context) || BASE64_ENCODE_RAW_LENGTH(size) != length)
		return false;
	reading->at += length;
	*ret_size = size;
	return true;
}

static bool read_key_id(struct reading *reading, char *ret_id)
{
	for (int i = 0; i < ED25519_ID_BYTES - 1; i++, reading->at++) {
		if (reading->at >= reading->size_bytes || !reading->text[reading->at] ||
		    !strchr("0123456789abcdef", reading->text[reading->at]))
			return false;
		ret_id[i] = reading->text[reading->at];
	}
	ret_id[ED25519_ID_BYTES - 1] = '\0';
	return true;
}

static bool read_signature(struct reading *reading, unsigned char *ret_signature)
{
	char bytes[BASE64_DECODE_LENGTH(SIGNATURE_TEXT_BYTES)];
	size_t size = 0;

	if (value_bytes(reading) != SIGNATURE_TEXT_BYTES ||
	    !read_base64(reading, SIGNATURE_TEXT_BYTES, bytes, &size) ||
	    size != ED25519_SIGNATURE_BYTES)
		return false;
	memcpy(ret_signature, bytes, ED25519_SIGNATURE_BYTES);
	return true;
}

int envelope_parse(const char *text, size_t size_bytes, struct envelope *ret_envelope,
		   size_t *ret_at)
{
	struct reading reading = { .text = text, .size_bytes = size_bytes };
	struct envelope envelope = { .payload = NULL };
	bool is_read = skip(&reading, AROUND[0]);
	size_t length = is_read ? value_bytes(&reading) : 0;

	envelope.payload = malloc(BASE64_DECODE_LENGTH(length) + 1);
	if (!envelope.payload)
		return -ENOMEM;
	is_read = is_read &&
		  read_base64(&reading, length, envelope.payload, &envelope.payload_bytes) &&
		  skip(&reading, AROUND[1]) && read_key_id(&reading, envelope.key_id) &&
		  skip(&reading, AROUND[2]) && read_signature(&reading, envelope.signature) &&
		  skip(&reading, AROUND[3]) && reading.at == size_bytes;
	if (!is_read) {
		*ret_at = reading.at;
		envelope_free(&envelope);
		return -EBADMSG;
	}
	envelope.payload[envelope.payload_bytes] = '\0';
	*ret_envelope = envelope;
	return 0;
}

int envelope_verify(const struct envelope *envelope, const struct ed25519_key *key)
{
	size_t size;

	if (strcmp(envelope->key_id, key->id) != 0)
		return -ENOKEY;
	char *bytes = authenticated(envelope->payload, envelope->payload_bytes, &size);
	if (!bytes)
		return -ENOMEM;
	bool is_signed = ed25519_verify(key, bytes, size, envelope->signature);
	free(bytes);
	return is_signed ? 0 : -EKEYREJECTED;
}

void envelope_free(struct envelope *envelope)
{
	free(envelope->payload);
	envelope->payload = NULL;
}
