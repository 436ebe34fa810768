/*
 * DSSE envelopes (https://github.com/secure-systems-lab/dsse, version 1.0.2) with one signature, in
 * one form, byte for byte:
 *
 *	{"payloadType":TYPE,"payload":BASE64,"signatures":[{"keyid":ID,"sig":BASE64}]} and a newline
 *
 * So no two different files are the same envelope: whatever is changed in one is found.  What is
 * signed is PAE(TYPE, payload): type, payload and the length of each.
 */
#ifndef SEEN_CLI_ENVELOPE_H
#define SEEN_CLI_ENVELOPE_H

#include <stddef.h>
#include <stdio.h>

#include "cli/attest/ed25519.h"

#define ENVELOPE_PAYLOAD_TYPE "application/vnd.in-toto+json"

struct envelope {
	char *payload; /* owned; a NUL follows */
	size_t payload_bytes;
	char key_id[ED25519_ID_BYTES];
	unsigned char signature[ED25519_SIGNATURE_BYTES];
};

/* envelope_write(): signs a payload and writes its envelope.
 *
 * key: with its private part.  The caller checks the errors of `file`.  Returns 0 or -ENOMEM. */
int envelope_write(FILE *file, const struct ed25519_key *key, const char *payload,
		   size_t payload_bytes);

/* envelope_parse(): reads an envelope; envelope_free() it.
 *
 * ret_at: where the text is not what envelope_write() writes: number of that byte, from 0.
 * Returns 0; -EBADMSG; -ENOMEM. */
int envelope_parse(const char *text, size_t size_bytes, struct envelope *ret_envelope,
		   size_t *ret_at);

/* envelope_verify(): is the signature that of the key?  Returns 0; -EKEYREJECTED: it is not;
 * -ENOKEY: it names another key; -ENOMEM. */
int envelope_verify(const struct envelope *envelope, const struct ed25519_key *key);

void envelope_free(struct envelope *envelope);

#endif
