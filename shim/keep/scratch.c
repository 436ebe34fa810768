/* Memory for paths: see scratch.h. */
#include "shim/keep/scratch.h"

#include "tracker/segment/segment.h"

enum { SCRATCHES = 32 }; /* a write that finds none is not guarded: threads of a pool, two each */

static struct {
	uint32_t taken;
	char bytes[SEGMENT_PATH_BYTES];
} scratches[SCRATCHES];

char *scratch_acquire(void)
{
	for (int i = 0; i < SCRATCHES; i++)
		if (!__atomic_exchange_n(&scratches[i].taken, 1, __ATOMIC_ACQUIRE))
			return scratches[i].bytes;
	return NULL;
}

void scratch_reset(void)
{
	for (int i = 0; i < SCRATCHES; i++)
		scratches[i].taken = 0;
}

void scratch_release(char *scratch)
{
	/* the offset of none of them, where it is NULL */
	size_t offset = (uintptr_t)scratch - (uintptr_t)scratches[0].bytes;
	if (offset < sizeof(scratches))
		__atomic_store_n(&scratches[offset / sizeof(scratches[0])].taken, 0,
				 __ATOMIC_RELEASE);
}
