/* `seen verify --attestation`: prints what of an attestation holds. */
#ifndef SEEN_CLI_VERIFY_ATTESTATION_H
#define SEEN_CLI_VERIFY_ATTESTATION_H

#include <stdbool.h>

#include "config/config.h"

struct verify_attestation {
	const char *attestation, *key;           /* paths */
	const char *journal, *checkout, *before; /* NULL: not given */
	const char *session; /* whose journal; NULL: the one that is named in it */
	bool json;
};

/* verify_attestation(): says on stderr what is wrong, and returns an exit code: EXIT_CODE_TAMPERED
 * where something differs. */
int verify_attestation(const struct config *config, const struct verify_attestation *request);

#endif
