/* A seen.ini: of a trusted source, or of a workspace. */
#include "fuzz_harness.h"

#include <errno.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config *built_in;
	struct config *config;
	struct config_error error;

	if (!built_in)
		fuzz_holds(config_new(&built_in) == 0);
	for (int trusted = 0; trusted < 2; trusted++) {
		fuzz_holds(config_copy(built_in, &config) == 0);
		memset(&error, 0, sizeof(error));
		int ret = config_read(config, (const char *)data, size, "f.ini", trusted, &error);
		if (ret == -EINVAL) /* a line that says which and why */
			fuzz_holds(memchr(error.text, '\0', sizeof(error.text)) && error.text[0]);
		(void)config_free(config);
	}
	return 0;
}
