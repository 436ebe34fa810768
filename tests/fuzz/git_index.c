/* A git index: its entries; it is the same as itself. */
#include "fuzz_harness.h"

#include "cli/undo/git_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct git_index index;

	for (size_t oid_bytes = 20; oid_bytes <= 32; oid_bytes += 12) {
		uint64_t entries = 0;
		int ret = git_index_init(&index, (const char *)data, size, oid_bytes);
		while (ret == 0 && (ret = git_index_next(&index)) == 1) {
			fuzz_holds(++entries <= size && strlen(index.path) == index.path_bytes);
			ret = 0;
		}
	}
	bool is_whole = git_index_oid_bytes((const char *)data, size) != 0;
	fuzz_holds(git_index_is_same((const char *)data, size, (const char *)data, size) ==
		   is_whole);
	return 0;
}
