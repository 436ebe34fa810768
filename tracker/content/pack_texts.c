/* Paths that stand in records: see pack_texts.h. */
#include "tracker/content/pack_texts.h"

#include <string.h>

#include "tracker/content/pack.h"

enum {
	TEXTS = 4, /* a rename over a file has two, what becomes of both comes soon */
	TEXT_BYTES_MAX = 256,
};

static struct {
	uint32_t taken;   /* by a thread that reads or writes them */
	uint32_t next;    /* to be replaced */
	uint64_t session; /* when its segment was created */
	struct {
		uint64_t place;
		size_t bytes; /* 0: none */
		char path[TEXT_BYTES_MAX];
	} texts[TEXTS];
} known;

static bool acquire(const struct segment *segment)
{
	if (__atomic_exchange_n(&known.taken, 1, __ATOMIC_ACQUIRE))
		return false;
	if (known.session != segment->header->created_realtime_ns) {
		for (int i = 0; i < TEXTS; i++)
			known.texts[i].bytes = 0;
		known.session = segment->header->created_realtime_ns;
	}
	return true;
}

static void release(void)
{
	__atomic_store_n(&known.taken, 0, __ATOMIC_RELEASE);
}

uint64_t pack_texts_find(const struct segment *segment, const char *path, size_t path_bytes)
{
	uint64_t place = PACK_NO_PLACE;

	if (!path_bytes || path_bytes > TEXT_BYTES_MAX || !acquire(segment))
		return place;
	for (int i = 0; i < TEXTS && place == PACK_NO_PLACE; i++)
		if (known.texts[i].bytes == path_bytes &&
		    memcmp(known.texts[i].path, path, path_bytes) == 0)
			place = known.texts[i].place;
	release();
	return place;
}

void pack_texts_note(const struct segment *segment, const char *path, size_t path_bytes,
		     uint64_t place)
{
	if (!path_bytes || path_bytes > TEXT_BYTES_MAX || !acquire(segment))
		return;
	uint32_t at = known.next++ % TEXTS;
	known.texts[at].place = place;
	known.texts[at].bytes = path_bytes;
	memcpy(known.texts[at].path, path, path_bytes);
	release();
}

void pack_texts_reset(void)
{
	/* by another thread of the process that was copied, which may have been about to write them */
	if (known.taken)
		known.session = 0;
	known.taken = 0;
}
