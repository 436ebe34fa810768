/*
 * The exported functions that open and close descriptors: each is libc's between the stations of its
 * operation (stations.h).
 */
#include <errno.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "shim/preload/real.h"
#include "shim/preload/stations.h"
#include "tracker/sys/sys.h"

/* mkdir(2)'s and open(2)'s third argument is there only with these flags. */
static bool has_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define READ_MODE(flags, last) \
	mode_t mode = 0; \
	if (has_mode(flags)) { \
		va_list arguments; \
		va_start(arguments, last); \
		mode = (mode_t)va_arg(arguments, int); \
		va_end(arguments); \
	}

/* glibc's, 2.32: has the process only ever had one thread? */
extern char __libc_single_threaded __attribute__((weak));

/* Below a supervisor, may this call pass it by?  Not where another preloaded
 * library has its own open behind ours, nor with other threads: libc's open can be cancelled
 * (pthreads(7)), and is trapped then, to no end but to be let pass. */
static bool is_marked(void)
{
	return __builtin_expect(shim.opens_pass, 0) && &__libc_single_threaded &&
	       __libc_single_threaded;
}

/* As libc's, with the session's mark in the sixth argument, which the call has no use for
 * (shim/start/filter.h). */
static int open_marked(int directory, const char *path, int flags, mode_t mode)
{
	long fd = sys_call6(SYS_openat, directory, (long)path, flags, (long)mode, 0,
			    (long)shim.segment.header->supervise_mark);
	if (fd < 0) {
		errno = (int)-fd;
		return -1;
	}
	return (int)fd;
}

/* What the guard left of an open's flags. */
#define FLAGS write_check_flags(&own.check, flags)

/* Ends the wrapper of an open: libc's function alone where a tool opens a file to read it, else
 * between the stations. */
#define OPEN(directory, open_by_libc) \
	do { \
		struct open_work own; \
		own.check.path = NULL; \
		if (open_is_plain(flags)) \
			return open_plainly(open_by_libc, directory, path, flags); \
		struct call call = open_call(OPERATION_OPEN, directory, path, flags, &own); \
		PASS_STATIONS(&call, OPERATION_OPEN, open_came_back(&call, open_by_libc)); \
		return call.descriptor; \
	} while (0)

/* The same of libc's function NAME with a mode, or in its place by the session's mark. */
#define OPEN_MARKED(directory, open_by_libc) \
	OPEN(directory, is_marked() ? open_marked(directory, path, FLAGS, mode) : open_by_libc)

EXPORT int open(const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	OPEN_MARKED(AT_FDCWD, REAL(open)(path, FLAGS, mode));
}

EXPORT int open64(const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	OPEN_MARKED(AT_FDCWD, REAL(open64)(path, FLAGS, mode));
}

EXPORT int openat(int directory, const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	OPEN_MARKED(directory, REAL(openat)(directory, path, FLAGS, mode));
}

EXPORT int openat64(int directory, const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	OPEN_MARKED(directory, REAL(openat64)(directory, path, FLAGS, mode));
}

EXPORT int __open(const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	OPEN_MARKED(AT_FDCWD, REAL(__open)(path, FLAGS, mode));
}

EXPORT int __open64(const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	OPEN_MARKED(AT_FDCWD, REAL(__open64)(path, FLAGS, mode));
}

EXPORT int __open_2(const char *path, int flags)
{
	OPEN(AT_FDCWD, REAL(__open_2)(path, FLAGS));
}

EXPORT int __open64_2(const char *path, int flags)
{
	OPEN(AT_FDCWD, REAL(__open64_2)(path, FLAGS));
}

EXPORT int __openat_2(int directory, const char *path, int flags)
{
	OPEN(directory, REAL(__openat_2)(directory, path, FLAGS));
}

EXPORT int __openat64_2(int directory, const char *path, int flags)
{
	OPEN(directory, REAL(__openat64_2)(directory, path, FLAGS));
}

EXPORT int creat(const char *path, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC;
	OPEN(AT_FDCWD, FLAGS != flags ? REAL(open)(path, FLAGS, mode) : REAL(creat)(path, mode));
}

EXPORT int creat64(const char *path, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC;
	OPEN(AT_FDCWD,
	     FLAGS != flags ? REAL(open64)(path, FLAGS, mode) : REAL(creat64)(path, mode));
}

EXPORT int open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	struct open_work own;
	struct call call = open_call(OPERATION_OPEN_HANDLE, AT_FDCWD, NULL, flags, &own);
	PASS_STATIONS(&call, OPERATION_OPEN_HANDLE,
		      open_came_back(&call, REAL(open_by_handle_at)(mount, handle, flags)));
	return call.descriptor;
}

/* Ends the wrapper of a function that makes a file by a template's path.  Rules are asked of that
 * path, which is not the one that the file will have. */
#define MAKE_TEMPORARY(flags, make_by_libc) \
	do { \
		const int all = ((flags) & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL; \
		struct open_work own; \
		struct call call = open_call(OPERATION_OPEN_TEMPORARY, AT_FDCWD, path, all, &own); \
		PASS_STATIONS(&call, OPERATION_OPEN_TEMPORARY, \
			      open_temporary_came_back(&call, make_by_libc)); \
		return call.descriptor; \
	} while (0)

EXPORT int mkstemp(char *path)
{
	MAKE_TEMPORARY(0, REAL(mkstemp)(path));
}

EXPORT int mkstemp64(char *path)
{
	MAKE_TEMPORARY(0, REAL(mkstemp64)(path));
}

EXPORT int mkostemp(char *path, int flags)
{
	MAKE_TEMPORARY(flags, REAL(mkostemp)(path, flags));
}

EXPORT int mkostemp64(char *path, int flags)
{
	MAKE_TEMPORARY(flags, REAL(mkostemp64)(path, flags));
}

EXPORT int mkstemps(char *path, int suffix_bytes)
{
	MAKE_TEMPORARY(0, REAL(mkstemps)(path, suffix_bytes));
}

EXPORT int mkstemps64(char *path, int suffix_bytes)
{
	MAKE_TEMPORARY(0, REAL(mkstemps64)(path, suffix_bytes));
}

EXPORT int mkostemps(char *path, int suffix_bytes, int flags)
{
	MAKE_TEMPORARY(flags, REAL(mkostemps)(path, suffix_bytes, flags));
}

EXPORT int mkostemps64(char *path, int suffix_bytes, int flags)
{
	MAKE_TEMPORARY(flags, REAL(mkostemps64)(path, suffix_bytes, flags));
}

/* Ends the wrapper of close(2). */
#define CLOSE(close_by_libc) \
	do { \
		int refused = close_begins(fd), error = close_by_libc; \
		if (error || !refused) \
			return error; \
		errno = refused; \
		return -1; \
	} while (0)

EXPORT int close(int fd)
{
	CLOSE(REAL(close)(fd));
}

EXPORT int __close(int fd)
{
	CLOSE(REAL(__close)(fd));
}

static void closing_many(unsigned first, unsigned last)
{
	struct call call = descriptor_call(OPERATION_CLOSE_MANY, (int)first);
	call.amount = last;
	order_closes(&call, OPERATION_CLOSE_MANY);
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		closing_many(first, last);
	return REAL(close_range)(first, last, flags);
}

EXPORT void closefrom(int first)
{
	closing_many(first < 0 ? 0 : (unsigned)first, UINT32_MAX);
	REAL(closefrom)(first);
}

/* A second descriptor for the same file. */
EXPORT int dup(int fd)
{
	struct call call = descriptor_call(OPERATION_DUPLICATE, fd);
	call.descriptor = REAL(dup)(fd);
	order_came_back(&call, OPERATION_DUPLICATE);
	return call.descriptor;
}

/* What stood behind its number before is closed. */
#define REPLACE(replace_by_libc) \
	do { \
		struct close_work own; \
		struct call call = close_call(OPERATION_REPLACE, fd, target, NULL, &own); \
		replace_begins(&call); \
		replace_ends(&call, replace_by_libc); \
		return call.descriptor; \
	} while (0)

EXPORT int dup2(int fd, int target)
{
	REPLACE(REAL(dup2)(fd, target));
}

EXPORT int __dup2(int fd, int target)
{
	REPLACE(REAL(__dup2)(fd, target));
}

EXPORT int dup3(int fd, int target, int flags)
{
	REPLACE(REAL(dup3)(fd, target, flags));
}

static inline int controlled(int fd, int command, int ret)
{
	if (control_is_followed(command)) {
		struct call call = descriptor_call(OPERATION_CONTROL, fd);
		call.flags = (uint32_t)command;
		call.descriptor = ret;
		order_came_back(&call, OPERATION_CONTROL);
	}
	return ret;
}

/* fcntl(2) and ioctl(2) take at most one more argument, a number or a pointer: both fit a
 * register. */
#define READ_ARGUMENT(last) \
	va_list arguments; \
	va_start(arguments, last); \
	void *argument = va_arg(arguments, void *); \
	va_end(arguments);

EXPORT int fcntl(int fd, int command, ...)
{
	READ_ARGUMENT(command)
	return controlled(fd, command, REAL(fcntl)(fd, command, argument));
}

EXPORT int fcntl64(int fd, int command, ...)
{
	READ_ARGUMENT(command)
	return controlled(fd, command, REAL(fcntl64)(fd, command, argument));
}

EXPORT int __fcntl(int fd, int command, ...)
{
	READ_ARGUMENT(command)
	return controlled(fd, command, REAL(__fcntl)(fd, command, argument));
}

static void locking(int fd)
{
	struct call call = descriptor_call(OPERATION_LOCK, fd);
	order_came_back(&call, OPERATION_LOCK);
}

EXPORT int lockf(int fd, int command, off_t size_bytes)
{
	locking(fd);
	return REAL(lockf)(fd, command, size_bytes);
}

EXPORT int lockf64(int fd, int command, off64_t size_bytes)
{
	locking(fd);
	return REAL(lockf64)(fd, command, size_bytes);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	READ_ARGUMENT(request)
	struct call call = { .operation = OPERATION_CLONE, .name = { .directory = fd } };
	if (__builtin_expect(request != FICLONE && request != FICLONERANGE, 1))
		return REAL(ioctl)(fd, request, argument);
	PASS(CLONE, REAL(ioctl)(fd, request, argument));
}
