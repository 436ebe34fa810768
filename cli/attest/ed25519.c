/* Ed25519: see ed25519.h. */
#include "cli/attest/ed25519.h"

#include <dlfcn.h>
#include <errno.h>
#include <nettle/base16.h>
#include <nettle/base64.h>
#include <nettle/eddsa.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)ED25519_KEY_BYTES == (int)ED25519_KEY_SIZE, "as nettle has them");
_Static_assert((int)ED25519_SIGNATURE_BYTES == (int)ED25519_SIGNATURE_SIZE, "as nettle has them");

/* What stands before the key's 32 bytes in DER: RFC 8410, sections 7 and 4. */
static const unsigned char PRIVATE_HEAD[] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
					      0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };
static const unsigned char PUBLIC_HEAD[] = { 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
					     0x2b, 0x65, 0x70, 0x03, 0x21, 0x00 };

static struct {
	__typeof__(ed25519_sha512_public_key) *public_key;
	__typeof__(ed25519_sha512_sign) *sign;
	__typeof__(ed25519_sha512_verify) *verify;
} nettle;

const char *ed25519_library(void)
{
	return "libhogweed.so.6";
}

int ed25519_load(void)
{
	void *handle = nettle.verify ? NULL : dlopen(ed25519_library(), RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return nettle.verify ? 0 : -ENOSYS;
	nettle.public_key = (__typeof__(nettle.public_key))dlsym(
		handle, "nettle_ed25519_sha512_public_key");
	nettle.sign = (__typeof__(nettle.sign))dlsym(handle, "nettle_ed25519_sha512_sign");
	if (nettle.public_key && nettle.sign)
		nettle.verify = (__typeof__(nettle.verify))dlsym(handle,
								 "nettle_ed25519_sha512_verify");
	return nettle.verify ? 0 : -ENOSYS;
}

/* The bytes between two lines of PEM.  Returns how many; 0: there are no such lines, or more than
 * `capacity`. */
static size_t decode(const char *text, size_t size_bytes, const char *label,
		     unsigned char *ret_bytes, size_t capacity)
{
	char begin[64], end[64], body[256];
	struct base64_decode_ctx context;
	size_t length = 0, decoded = sizeof(body);
	unsigned char bytes[BASE64_DECODE_LENGTH(sizeof(body))];

	(void)snprintf(begin, sizeof(begin), "-----BEGIN %s-----", label);
	(void)snprintf(end, sizeof(end), "-----END %s-----", label);
	const char *from = memmem(text, size_bytes, begin, strlen(begin));
	if (!from)
		return 0;
	from += strlen(begin);
	const char *to = memmem(from, size_bytes - (size_t)(from - text), end, strlen(end));
	for (; to && from < to && length < sizeof(body); from++)
		if (!strchr(" \t\r\n", *from))
			body[length++] = *from;
	base64_decode_init(&context);
	if (!to || from < to || !base64_decode_update(&context, &decoded, bytes, length, body) ||
	    !base64_decode_final(&context) || decoded > capacity)
		return 0;
	memcpy(ret_bytes, bytes, decoded);
	return decoded;
}

static void set_id(struct ed25519_key *key)
{
	unsigned char digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, sizeof(PUBLIC_HEAD), PUBLIC_HEAD);
	sha256_update(&context, sizeof(key->public), key->public);
	sha256_digest(&context, sizeof(digest), digest);
	base16_encode_update(key->id, sizeof(digest), digest);
	key->id[ED25519_ID_BYTES - 1] = '\0';
}

int ed25519_parse(const char *text, size_t size_bytes, struct ed25519_key *ret_key)
{
	unsigned char der[sizeof(PRIVATE_HEAD) + ED25519_KEY_BYTES];
	struct ed25519_key key = { .has_private = false };

	if (decode(text, size_bytes, "PRIVATE KEY", der, sizeof(der)) == sizeof(der) &&
	    memcmp(der, PRIVATE_HEAD, sizeof(PRIVATE_HEAD)) == 0) {
		memcpy(key.private, der + sizeof(PRIVATE_HEAD), ED25519_KEY_BYTES);
		key.has_private = true;
		nettle.public_key(key.public, key.private);
	} else if (decode(text, size_bytes, "PUBLIC KEY", der, sizeof(der)) ==
			   sizeof(PUBLIC_HEAD) + ED25519_KEY_BYTES &&
		   memcmp(der, PUBLIC_HEAD, sizeof(PUBLIC_HEAD)) == 0) {
		memcpy(key.public, der + sizeof(PUBLIC_HEAD), ED25519_KEY_BYTES);
	} else {
		return -EBADMSG;
	}
	explicit_bzero(der, sizeof(der));
	set_id(&key);
	*ret_key = key;
	return 0;
}

void ed25519_sign(const struct ed25519_key *key, const void *bytes, size_t size_bytes,
		  unsigned char *ret_signature)
{
	nettle.sign(key->public, key->private, size_bytes, bytes, ret_signature);
}

bool ed25519_verify(const struct ed25519_key *key, const void *bytes, size_t size_bytes,
		    const unsigned char *signature)
{
	return nettle.verify(key->public, size_bytes, bytes, signature);
}
