/* JSON with comments, as agents' settings have it. */
#include "fuzz_harness.h"

#include "cli/base/jsonc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	int line = 0;
	const char *fault = NULL;
	char *plain = jsonc_plain(text, size, &line, &fault);

	if (plain) {
		for (size_t i = 0; i < size; i++) /* a byte stays, or becomes a space */
			fuzz_holds(plain[i] == text[i] || plain[i] == ' ');
		json_decref(jsonc_parse(plain, size, 0, NULL));
		/* what is JSON without comments means the same */
		json_t *strict = json_loadb(text, size, 0, NULL), *loaded = jsonc_load(text, size);
		if (strict && size && text[0] != '\xef')
			fuzz_holds(loaded && json_equal(strict, loaded));
		json_decref(strict);
		json_decref(loaded);
	} else {
		fuzz_holds(line > 0 && fault);
	}
	free(plain);
	free(text);
	return 0;
}
