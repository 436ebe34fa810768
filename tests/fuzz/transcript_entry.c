/* A line of an agent's transcript, or a row of its database. */
#include "fuzz_harness.h"

#include "cli/agents/transcript_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct entry entry;
	char *text = fuzz_text(data, size);

	entry_parse(text, size, &entry);
	fuzz_holds(entry.call_count <= ENTRY_CALLS_MAX && entry.result_count <= ENTRY_RESULTS_MAX);
	entry_done(&entry);
	for (int part = 0; part < 2; part++) {
		entry_of_row(text, size, part, &entry);
		entry_done(&entry);
	}
	free(text);
	return 0;
}
