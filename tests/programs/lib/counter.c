/* A library to be preloaded beside others: it wraps open, read and execve as others do, and counts what passes
 * through it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int opens, reads;

int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT,
										     "open");
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = flags & O_CREAT ? (mode_t)va_arg(arguments, int) : 0;
	va_end(arguments);
	opens++;
	return next(path, flags, mode);
}

ssize_t read(int fd, void *buffer, size_t size_bytes)
{
	ssize_t (*next)(int, void *, size_t) = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT,
										      "read");
	reads++;
	return next(fd, buffer, size_bytes);
}

__attribute__((destructor)) static void finish(void)
{
	dprintf(2, "counted: %d opens, %d reads\n", opens, reads);
}
