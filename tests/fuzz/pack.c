/* A part of what was kept for undo: its records and their contents. */
#include "fuzz_harness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/undo/pack_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char directory[] = "/tmp/seen-fuzz.XXXXXX", path[64];
	struct pack_reader reader;
	struct pack_entry entry;
	uint64_t records = 0;

	if (!path[0]) {
		fuzz_holds(mkdtemp(directory));
		(void)snprintf(path, sizeof(path), "%s/00000000.part", directory);
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fuzz_holds(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
	if (pack_reader_open(directory, &reader) == 0) {
		while (pack_reader_next(&reader, &entry) > 0) {
			fuzz_holds(++records <= size);
			fuzz_holds(strlen(entry.path) <= PACK_PATH_BYTES_MAX &&
				   strlen(entry.other) <= PACK_PATH_BYTES_MAX);
			int content = pack_content_open(&reader, &entry.record);
			if (content >= 0)
				(void)close(content);
		}
		pack_reader_close(&reader);
	}
	(void)unlink(path);
	return 0;
}
