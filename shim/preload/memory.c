/* Memory that may not be there: see memory.h. */
#include "shim/preload/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>

#include "tracker/segment/segment.h"
#include "tracker/sys/sys.h"

/* Does the process run in valgrind?  By its client request 0x1001, RUNNING_ON_VALGRIND:
 * instructions that do nothing on a processor (valgrind.h, since 3.0; aarch64 since 3.10). */
static bool runs_in_valgrind(void)
{
	const uint64_t request[6] = { 0x1001 };
	uint64_t answer = 0;

#if defined(__x86_64__)
	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(request)
			 : "cc", "memory");
#elif defined(__aarch64__)
	register uint64_t result __asm__("x3") = answer;
	register const uint64_t *arguments __asm__("x4") = request;
	__asm__ volatile("ror x12, x12, #3; ror x12, x12, #13\n\t"
			 "ror x12, x12, #51; ror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(result)
			 : "r"(arguments)
			 : "cc", "memory");
	answer = result;
#endif
	return answer != 0;
}

/* rt_sigprocmask(2) copies the set before it inspects how, which is none here: the
 * mask stays.  It always copies eight bytes: aligned, they do not reach over the end of the page.
 *
 * valgrind complains of such a `how`, and memcheck of bytes among the eight that the caller never
 * wrote.  There sched_setaffinity(2) copies as many as are asked for, for a process that cannot
 * be.  Not everywhere: a filter of a sandbox may forbid that call (systemd's ~@resources). */
static bool can_copy(uintptr_t address, int size_bytes)
{
	const int NO_PROCESS = INT_MAX;
	long error;

	if (runs_in_valgrind())
		error = sys_call6(SYS_sched_setaffinity, NO_PROCESS, size_bytes, (long)address, 0,
				  0, 0);
	else
		error = sys_call6(SYS_rt_sigprocmask, 99,
				  (long)(size_bytes == 1 ? address & ~(uintptr_t)7 : address), 0, 8,
				  0, 0);
	return error != -EFAULT;
}

bool launch_is_readable(const void *address)
{
	return address && can_copy((uintptr_t)address, 8);
}

bool launch_is_byte(const void *address)
{
	return (uintptr_t)address >= 8 && can_copy((uintptr_t)address, 1);
}

bool launch_is_text(const char *path)
{
	const char *end = path + SEGMENT_PATH_BYTES;
	uintptr_t page = 1; /* no page begins there */

	for (const char *at = path; at < end; at++) {
		if (((uintptr_t)at & ~(uintptr_t)4095) != page) {
			if (!launch_is_byte(at))
				return false;
			page = (uintptr_t)at & ~(uintptr_t)4095;
		}
		if (!*at)
			return true;
	}
	return false; /* too long, which the kernel will say */
}
