/* The current directory of a process: see directory.h. */
#include "shim/supervise/directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "shim/supervise/memory.h"

bool target_directory(struct target *target, pid_t tid, char *ret_directory, size_t capacity)
{
	target->has_threads = target->has_threads || tid != target->pid;
	if (!target->has_threads && target->directory && strlen(target->directory) < capacity) {
		memcpy(ret_directory, target->directory, strlen(target->directory) + 1);
		return true;
	}
	if (proc_directory(tid, AT_FDCWD, ret_directory, capacity) < 0)
		return false;
	if (!target->has_threads && !target->directory)
		target->directory = strdup(ret_directory);
	return true;
}

void target_moves(struct target *target, pid_t tid)
{
	free(target->directory);
	target->directory = NULL;
	target->has_threads = target->has_threads || tid != target->pid;
}
