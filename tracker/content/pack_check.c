/* The check of a record of a pack: see pack_check.h. */
#include "tracker/content/pack_check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t pack_check(const struct pack_record *record, const char *path, const char *other)
{
	const size_t from = offsetof(struct pack_record, place);
	uint64_t check = XXH3_64bits_withSeed((const char *)record + from, sizeof(*record) - from,
					      record->place + record->magic);

	if (record->path_bytes)
		check = XXH3_64bits_withSeed(path, record->path_bytes, check);
	if (record->other_bytes)
		check = XXH3_64bits_withSeed(other, record->other_bytes, check);
	return check;
}
