/* Memory that may not be there: see memory.h. */
#include "shim/preload/memory.h"

#include <errno.h>

#include "tracker/segment/segment.h"
#include "tracker/sys/sys.h"

/* rt_sigprocmask(2) copies the set before it looks at how, which is none here: the
 * mask stays. */
bool launch_is_readable(const void *address)
{
	return address && sys_call6(SYS_rt_sigprocmask, 99, (long)address, 0, 8, 0, 0) != -EFAULT;
}

bool launch_is_text(const char *path)
{
	const char *end = path + SEGMENT_PATH_BYTES;
	uintptr_t page = 1; /* no page begins there */

	for (const char *at = path; at < end; at++) {
		if (((uintptr_t)at & ~(uintptr_t)4095) != page) {
			/* eight bytes are looked at: not over the end of the page */
			if (!launch_is_readable((const void *)((uintptr_t)at & ~(uintptr_t)7)))
				return false;
			page = (uintptr_t)at & ~(uintptr_t)4095;
		}
		if (!*at)
			return true;
	}
	return false; /* too long, which the kernel will say */
}
