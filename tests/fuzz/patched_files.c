/* A patch of the form "*** Begin Patch": the files that it names. */
#include "fuzz_harness.h"

#include "cli/hooks/patched_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct patched_file file;
	char *text = fuzz_text(data, size);

	for (size_t i = 0; patched_files_at(text, i, &file); i++)
		fuzz_holds(i <= size && memchr(file.name, '\0', sizeof(file.name)));
	free(text);
	return 0;
}
