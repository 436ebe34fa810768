/* As libaio: requests are given to the kernel past libc, and an error is a negative number. */
#include <errno.h>
#include <sys/syscall.h>

int io_submit(unsigned long context, long count, void *requests);

int io_submit(unsigned long context, long count, void *requests)
{
	long ret;
#ifdef __x86_64__
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_io_submit), "D"(context), "S"(count), "d"(requests)
			 : "rcx", "r11", "memory");
#else
	(void)context, (void)count, (void)requests;
	ret = -ENOSYS;
#endif
	return (int)ret;
}
