/*
 * Ed25519 keys in PEM (RFC 8410), as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`
 * write them, and signatures by them (RFC 8032).  nettle's libhogweed computes; it is loaded when it
 * is needed.
 */
#ifndef SEEN_CLI_ED25519_H
#define SEEN_CLI_ED25519_H

#include <stdbool.h>
#include <stddef.h>

enum {
	ED25519_KEY_BYTES = 32,
	ED25519_SIGNATURE_BYTES = 64,
	ED25519_ID_BYTES = 65, /* a key's id, NUL counted */
};

struct ed25519_key {
	unsigned char public[ED25519_KEY_BYTES];
	unsigned char private[ED25519_KEY_BYTES];
	bool has_private;
	/* SHA-256 of the public key's SubjectPublicKeyInfo (DER), in hexadecimal digits */
	char id[ED25519_ID_BYTES];
};

/* ed25519_load(): needed before all that follows.  Returns 0; -ENOSYS: the library is not there. */
int ed25519_load(void);

/* ed25519_library(): the name of the library; static. */
const char *ed25519_library(void);

/* ed25519_parse(): reads a private or a public key from PEM text.
 *
 * text: size_bytes long; an encrypted key is none.  Returns 0; -EBADMSG: there is no such key. */
int ed25519_parse(const char *text, size_t size_bytes, struct ed25519_key *ret_key);

/* ed25519_sign(): key: with has_private.  ret_signature: ED25519_SIGNATURE_BYTES.
 * ed25519_verify(): is it the key's signature of these bytes? */
void ed25519_sign(const struct ed25519_key *key, const void *bytes, size_t size_bytes,
		  unsigned char *ret_signature);
bool ed25519_verify(const struct ed25519_key *key, const void *bytes, size_t size_bytes,
		    const unsigned char *signature);

#endif
