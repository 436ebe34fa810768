/* Memory for reading files: see chunk.h. */
#include "tracker/sys/chunk.h"

#include <stddef.h>
#include <stdint.h>

enum { CHUNKS = 4 };

static struct {
	uint32_t taken;
	_Alignas(64) char bytes[CHUNK_BYTES];
} chunks[CHUNKS];

char *chunk_acquire(void)
{
	for (int i = 0; i < CHUNKS; i++)
		if (!__atomic_exchange_n(&chunks[i].taken, 1, __ATOMIC_ACQUIRE))
			return chunks[i].bytes;
	return NULL;
}

void chunk_release(char *chunk)
{
	for (int i = 0; i < CHUNKS; i++)
		if (chunk == chunks[i].bytes)
			__atomic_store_n(&chunks[i].taken, 0, __ATOMIC_RELEASE);
}

void chunk_reset(void)
{
	for (int i = 0; i < CHUNKS; i++)
		__atomic_store_n(&chunks[i].taken, 0, __ATOMIC_RELAXED);
}
