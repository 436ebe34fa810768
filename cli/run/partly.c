/* Programs that call the kernel past libc: see partly.h. */
#include "cli/run/partly.h"

#include <stdlib.h>

#include "tracker/process/process.h"

static void inspect(struct partly *partly, const struct segment *segment,
		    const struct journal *journal, uint64_t index)
{
	struct process_slot process;

	if (!process_read(segment, index, &process) ||
	    (process.state != PROCESS_ATTACHED && process.state != PROCESS_EXITED) ||
	    partly->serials[index] == process.serial)
		return;
	partly->serials[index] = process.serial;
	if (process_past_libc(journal, &process, &partly->images))
		process_note_past_libc(segment, (struct process_ref){ index, process.serial });
}

void partly_note(struct partly *partly, const struct segment *segment,
		 const struct journal *journal)
{
	if (!partly->serials) {
		partly->count = segment->capacity[TABLE_PROCESSES];
		partly->serials = calloc(partly->count, sizeof(*partly->serials));
	}
	if (!partly->serials)
		return;
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used && i < partly->count;
	     i++) {
		const struct process_slot *slot = segment_slot(segment, TABLE_PROCESSES, i);
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
		uint64_t serial = __atomic_load_n(&slot->serial, __ATOMIC_RELAXED);
		/* It may have ended since the last call. */
		if ((state == PROCESS_ATTACHED || state == PROCESS_EXITED) &&
		    serial != partly->serials[i])
			inspect(partly, segment, journal, i);
	}
}

void partly_free(struct partly *partly)
{
	free(partly->serials);
	partly->serials = NULL;
}
