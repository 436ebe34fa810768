/* A statement of a session, an envelope, a key. */
#include "fuzz_harness.h"

#include "cli/attest/attestation.h"
#include "cli/attest/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct envelope envelope;
	struct ed25519_key key;
	size_t at = 0;
	char *text = fuzz_text(data, size);

	fuzz_holds(ed25519_load() == 0);
	if (envelope_parse(text, size, &envelope, &at) == 0)
		envelope_free(&envelope);
	else
		fuzz_holds(at <= size);
	json_decref(attestation_statement(text, size));
	(void)ed25519_parse(text, size, &key);
	free(text);
	return 0;
}
