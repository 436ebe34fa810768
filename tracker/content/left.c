/* Contents as they were left: see left.h. */
#include "tracker/content/left.h"

#include <stddef.h>
#include <string.h>

#include "tracker/content/pack.h"

enum { INDEX_BYTES_MAX = 4 << 20 /* some 40,000 files */ };

bool left_is_git_index(const char *path)
{
	static const char *const NAMES[] = { "/index.lock", "/index" };
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		size_t bytes = strlen(NAMES[i]);
		if (length > bytes && strcmp(path + length - bytes, NAMES[i]) == 0)
			return true;
	}
	return false;
}

uint64_t left_bytes_max(const char *path)
{
	return left_is_git_index(path) ? INDEX_BYTES_MAX : PACK_INLINE_BYTES_MAX;
}
