/* Processes that opened a file: see openers.h. */
#include "shim/supervise/openers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "shim/supervise/proc.h"

enum {
	OPENERS = 16, /* before those that have ended are forgotten */
};

static void forget_ended(struct openers *openers)
{
	size_t count = 0;

	for (size_t i = 0; i < openers->count; i++)
		if (kill((pid_t)openers->pids[i], 0) == 0 || errno != ESRCH)
			openers->pids[count++] = openers->pids[i];
	openers->count = count;
}

void openers_note(struct openers *openers, uint32_t pid)
{
	for (size_t i = openers->count; i-- > 0;)
		if (openers->pids[i] == pid)
			return;
	if (openers->count && openers->count % OPENERS == 0)
		forget_ended(openers);
	uint32_t *more = reallocarray(openers->pids, openers->count + 1, sizeof(*more));
	if (!more)
		return;
	openers->pids = more;
	more[openers->count++] = pid;
}

bool openers_have(const struct openers *openers, uint64_t dev, uint64_t ino, bool writes)
{
	for (size_t i = openers->count; i-- > 0;)
		if (proc_has_open((pid_t)openers->pids[i], dev, ino, writes))
			return true;
	return false;
}

void openers_free(struct openers *openers)
{
	free(openers->pids);
	*openers = (struct openers){ .pids = NULL };
}
