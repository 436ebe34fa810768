/*
 * Does an attestation hold: its signature, what it states of the journal, and each file that it names?
 *
 * The signature is inspected first: nothing else of a file without a good one is believed.  Never
 * prints.
 */
#ifndef SEEN_CLI_ATTESTATION_H
#define SEEN_CLI_ATTESTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/attest/ed25519.h"

enum attested_kind {
	ATTESTED_SIGNATURE,
	ATTESTED_STATEMENT,
	ATTESTED_JOURNAL,
	ATTESTED_MATERIAL,
	ATTESTED_PRODUCT,
	ATTESTED_REMOVED,
	ATTESTED_KIND_COUNT,
};

enum attested_result {
	ATTESTED_HOLDS,
	ATTESTED_DIFFERS,
	ATTESTED_NOT_CHECKED,
	ATTESTED_RESULT_COUNT
};

/* One thing that was inspected.  Texts are valid during the call. */
struct attested_item {
	enum attested_kind kind;
	enum attested_result result;
	const char *name; /* of a file, bytes of others; else NULL */
	const char *
		why; /* what differs, or why it was not checked; what holds, where that says more; else NULL */
};

struct attestation_check {
	const char *text; /* of the attestation */
	size_t size_bytes;
	/* NULL: the caller has inspected the signature of `text`, an envelope or a bare statement */
	const struct ed25519_key *key;
	const char *journal;  /* path of the journal, its seal beside it; NULL: not at hand */
	bool is_found;        /* by the session's name alone: it may be another one's */
	const char *checkout; /* absolute: the workspace as the session left it; NULL: not at hand */
	const char *before;   /* absolute: as it was before the session; NULL: not at hand */
	/* Called for each item, in this order: signature, statement, journal, files. */
	void (*visit)(const struct attested_item *item, void *data);
	void *data;
	uint64_t results[ATTESTED_RESULT_COUNT]; /* out: how many of each */
};

/* attestation_check(): inspects all.  Where the signature or the statement does not hold, nothing else
 * is inspected.  Returns 0 or -ENOMEM; errors of open(2) for "/". */
int attestation_check(struct attestation_check *check);

/* attestation_statement(): the statement of an envelope or of a bare statement, unverified; a new
 * reference.  NULL: it is none. */
json_t *attestation_statement(const char *text, size_t size_bytes);

/* attested_kind_name(): "signature" ...; attested_result_name(): "holds", "differs", "not checked".
 * Static. */
const char *attested_kind_name(enum attested_kind kind);
const char *attested_result_name(enum attested_result result);

#endif
