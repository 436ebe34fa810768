/* The current directory of a process: see directory.h. */
#include "shim/supervise/directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "shim/supervise/memory.h"

bool target_folder(struct target *target, pid_t tid, char *ret_folder, size_t capacity)
{
	target->has_threads = target->has_threads || tid != target->pid;
	if (!target->has_threads && target->folder && strlen(target->folder) < capacity) {
		memcpy(ret_folder, target->folder, strlen(target->folder) + 1);
		return true;
	}
	if (proc_folder(tid, AT_FDCWD, ret_folder, capacity) < 0)
		return false;
	if (!target->has_threads && !target->folder)
		target->folder = strdup(ret_folder);
	return true;
}

void target_moves(struct target *target, pid_t tid)
{
	free(target->folder);
	target->folder = NULL;
	target->has_threads = target->has_threads || tid != target->pid;
}
