/*
 * What an attestation states of a session: an in-toto Statement
 * (https://github.com/in-toto/attestation, spec/v1) with the predicate urn:seen:attestation:1.
 * config/data/schema/attestation.schema.json says what each member is.
 */
#ifndef SEEN_CLI_STATEMENT_H
#define SEEN_CLI_STATEMENT_H

#include <jansson.h>

#include "cli/attest/artifacts.h"
#include "cli/attest/run_facts.h"
#include "cli/report/report.h"

#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define STATEMENT_PREDICATE "urn:seen:attestation:1"
/* The subject that stands for the journal, and its digest's name: the last digest of the seal's
 * chain.  No file of a workspace has such a name: it is no path that artifact_path() takes. */
#define STATEMENT_JOURNAL "/journal"
#define STATEMENT_SEAL "seenSeal1"

/* statement_make(): a new reference; NULL: no memory. */
json_t *statement_make(const struct report *report, const struct run_facts *facts,
		       const struct artifacts *artifacts);

/* statement_name_bytes(): the bytes of a name that text_json() wrote.
 *
 * Returns them, a NUL behind; free() it; NULL: it is no such text, or no memory. */
char *statement_name_bytes(const char *text);

#endif
