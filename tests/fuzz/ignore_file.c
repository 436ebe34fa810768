/* A line of an agent's ignore file, as a rule's glob. */
#include "fuzz_harness.h"

#include "config/ignore_files.h"
#include "tracker/path/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char glob[IGNORE_FILES_GLOB_BYTES], *text = fuzz_text(data, size);
	bool includes;

	if (!strchr(text, '\n') && ignore_files_glob(text, glob, &includes)) {
		fuzz_holds(memchr(glob, '\0', sizeof(glob)));
		(void)path_covers(glob, "/w/a/b", false);
	}
	free(text);
	return 0;
}
