/* The locks of this process: see locks.h. */
#include "shim/preload/follow/locks.h"

#include <stdint.h>

#include "shim/preload/thread.h"
#include "tracker/sys/sys.h"

enum { DESCRIPTORS = 1024 };

/* By which descriptors this process set locks, of files that it may have closed since. */
static uint64_t locked[DESCRIPTORS / 64];
static bool locked_more; /* by others, too */

void guarded_locked(int fd)
{
	if ((unsigned)fd >= DESCRIPTORS)
		locked_more = true;
	else if (!in_vfork_child())
		(void)__atomic_fetch_or(&locked[fd / 64], UINT64_C(1) << fd % 64, __ATOMIC_RELAXED);
}

bool write_check_may_be_locked(const struct stat *file)
{
	struct stat stat;

	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		uint64_t word = __atomic_load_n(&locked[fd / 64], __ATOMIC_RELAXED);
		if (!word)
			fd |= 63;
		else if ((word >> fd % 64 & 1) && sys_fstat(fd, &stat) == 0 &&
			 stat.st_dev == file->st_dev && stat.st_ino == file->st_ino)
			return true;
	}
	return locked_more;
}
