/* A journal: every record of it, by the reader and as an entry. */
#include "fuzz_harness.h"

#include <unistd.h>

#include "cli/journal/journal_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct journal_reader reader;
	struct journal_entry entry;
	uint64_t number = 0, steps = 0;
	char path[64];
	int fd = fuzz_file(data, size, path);

	memset(&reader, 0, sizeof(reader));
	if (journal_reader_open(path, &reader) == 0) {
		for (;;) {
			enum journal_found found = journal_reader_next(&reader, &number, &entry);
			if (found == JOURNAL_FOUND_END)
				break;
			if (found == JOURNAL_FOUND_UNDONE) {
				uint64_t behind = journal_reader_behind_undone(&reader, number);
				if (behind == number)
					break;
				number = behind;
			}
			fuzz_holds(++steps <= size); /* each takes a unit at least: it ends */
		}
	}
	journal_reader_close(&reader);
	(void)close(fd);
	return 0;
}
