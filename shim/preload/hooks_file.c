/*
 * The exported functions that open and close descriptors.  Each does what libc's does and then says
 * what it meant: to viewer.c in a viewer, to in_process.c in an agent, to change.c where it may
 * destroy something.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "shim/preload/call.h"
#include "shim/preload/real.h"
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
 * (shim/supervise/filter.h). */
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

EXPORT int open(const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(open)(path, flags, mode), AT_FDCWD, path, flags);
	if (!call_may_open(AT_FDCWD, path, flags, &check))
		return -1;
	int now = write_check_flags(&check, flags);
	return call_opened(is_marked() ? open_marked(AT_FDCWD, path, now, mode)
				       : REAL(open)(path, now, mode),
			   AT_FDCWD, path, flags, &check);
}

EXPORT int open64(const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(open64)(path, flags, mode), AT_FDCWD, path, flags);
	if (!call_may_open(AT_FDCWD, path, flags, &check))
		return -1;
	int now = write_check_flags(&check, flags);
	return call_opened(is_marked() ? open_marked(AT_FDCWD, path, now, mode)
				       : REAL(open64)(path, now, mode),
			   AT_FDCWD, path, flags, &check);
}

EXPORT int openat(int directory, const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(openat)(directory, path, flags, mode), directory,
					   path, flags);
	if (!call_may_open(directory, path, flags, &check))
		return -1;
	int now = write_check_flags(&check, flags);
	return call_opened(is_marked() ? open_marked(directory, path, now, mode)
				       : REAL(openat)(directory, path, now, mode),
			   directory, path, flags, &check);
}

EXPORT int openat64(int directory, const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(openat64)(directory, path, flags, mode), directory,
					   path, flags);
	if (!call_may_open(directory, path, flags, &check))
		return -1;
	int now = write_check_flags(&check, flags);
	return call_opened(is_marked() ? open_marked(directory, path, now, mode)
				       : REAL(openat64)(directory, path, now, mode),
			   directory, path, flags, &check);
}

EXPORT int __open(const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(__open)(path, flags, mode), AT_FDCWD, path, flags);
	if (!call_may_open(AT_FDCWD, path, flags, &check))
		return -1;
	int now = write_check_flags(&check, flags);
	return call_opened(is_marked() ? open_marked(AT_FDCWD, path, now, mode)
				       : REAL(__open)(path, now, mode),
			   AT_FDCWD, path, flags, &check);
}

EXPORT int __open64(const char *path, int flags, ...)
{
	READ_MODE(flags, flags)
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(__open64)(path, flags, mode), AT_FDCWD, path,
					   flags);
	if (!call_may_open(AT_FDCWD, path, flags, &check))
		return -1;
	int now = write_check_flags(&check, flags);
	return call_opened(is_marked() ? open_marked(AT_FDCWD, path, now, mode)
				       : REAL(__open64)(path, now, mode),
			   AT_FDCWD, path, flags, &check);
}

EXPORT int __open_2(const char *path, int flags)
{
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(__open_2)(path, flags), AT_FDCWD, path, flags);
	if (!call_may_open(AT_FDCWD, path, flags, &check))
		return -1;
	return call_opened(REAL(__open_2)(path, write_check_flags(&check, flags)), AT_FDCWD, path,
			   flags, &check);
}

EXPORT int __open64_2(const char *path, int flags)
{
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(__open64_2)(path, flags), AT_FDCWD, path, flags);
	if (!call_may_open(AT_FDCWD, path, flags, &check))
		return -1;
	return call_opened(REAL(__open64_2)(path, write_check_flags(&check, flags)), AT_FDCWD, path,
			   flags, &check);
}

EXPORT int __openat_2(int directory, const char *path, int flags)
{
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(__openat_2)(directory, path, flags), directory,
					   path, flags);
	if (!call_may_open(directory, path, flags, &check))
		return -1;
	return call_opened(REAL(__openat_2)(directory, path, write_check_flags(&check, flags)),
			   directory, path, flags, &check);
}

EXPORT int __openat64_2(int directory, const char *path, int flags)
{
	struct write_check check;
	if (call_opens_plainly(flags))
		return call_opened_plainly(REAL(__openat64_2)(directory, path, flags), directory,
					   path, flags);
	if (!call_may_open(directory, path, flags, &check))
		return -1;
	return call_opened(REAL(__openat64_2)(directory, path, write_check_flags(&check, flags)),
			   directory, path, flags, &check);
}

EXPORT int creat(const char *path, mode_t mode)
{
	struct write_check check;
	if (!call_may_open(AT_FDCWD, path, CREATES, &check))
		return -1;
	if (check.path && check.holds)
		return call_opened(REAL(open)(path, write_check_flags(&check, CREATES), mode),
				   AT_FDCWD, path, CREATES, &check);
	return call_opened(REAL(creat)(path, mode), AT_FDCWD, path, CREATES, &check);
}

EXPORT int creat64(const char *path, mode_t mode)
{
	struct write_check check;
	if (!call_may_open(AT_FDCWD, path, CREATES, &check))
		return -1;
	if (check.path && check.holds)
		return call_opened(REAL(open64)(path, write_check_flags(&check, CREATES), mode),
				   AT_FDCWD, path, CREATES, &check);
	return call_opened(REAL(creat64)(path, mode), AT_FDCWD, path, CREATES, &check);
}

EXPORT int open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	return call_opened(REAL(open_by_handle_at)(mount, handle, flags), AT_FDCWD, NULL, flags,
			   NULL);
}

/* Of a template's path, which is not the one that the file will have. */
static bool may_make(const char *path)
{
	return call_may(RULE_READ | RULE_WRITE | RULE_CREATE, AT_FDCWD, path, false);
}

/* The file is new and its name stands in the template now. */
static int made(int fd, const char *path, int flags)
{
	struct write_check check = { .path = NULL };
	int all = (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL;
	if (fd >= 0 && shim.guards)
		(void)call_refuses_open(AT_FDCWD, path, all, true, &check);
	return call_opened(fd, AT_FDCWD, path, all, &check);
}

EXPORT int mkstemp(char *path)
{
	return made(may_make(path) ? REAL(mkstemp)(path) : -1, path, 0);
}

EXPORT int mkstemp64(char *path)
{
	return made(may_make(path) ? REAL(mkstemp64)(path) : -1, path, 0);
}

EXPORT int mkostemp(char *path, int flags)
{
	return made(may_make(path) ? REAL(mkostemp)(path, flags) : -1, path, flags);
}

EXPORT int mkostemp64(char *path, int flags)
{
	return made(may_make(path) ? REAL(mkostemp64)(path, flags) : -1, path, flags);
}

EXPORT int mkstemps(char *path, int suffix_bytes)
{
	return made(may_make(path) ? REAL(mkstemps)(path, suffix_bytes) : -1, path, 0);
}

EXPORT int mkstemps64(char *path, int suffix_bytes)
{
	return made(may_make(path) ? REAL(mkstemps64)(path, suffix_bytes) : -1, path, 0);
}

EXPORT int mkostemps(char *path, int suffix_bytes, int flags)
{
	return made(may_make(path) ? REAL(mkostemps)(path, suffix_bytes, flags) : -1, path, flags);
}

EXPORT int mkostemps64(char *path, int suffix_bytes, int flags)
{
	return made(may_make(path) ? REAL(mkostemps64)(path, suffix_bytes, flags) : -1, path,
		    flags);
}

EXPORT int close(int fd)
{
	int refused = call_closing_plain(fd);
	int error = REAL(close)(fd);
	return error == 0 && refused ? call_fail(refused) : error;
}

EXPORT int __close(int fd)
{
	int refused = call_closing_plain(fd);
	int error = REAL(__close)(fd);
	return error == 0 && refused ? call_fail(refused) : error;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		call_closing_many(first, last);
	return REAL(close_range)(first, last, flags);
}

EXPORT void closefrom(int first)
{
	call_closing_many(first < 0 ? 0 : (unsigned)first, UINT32_MAX);
	REAL(closefrom)(first);
}

/* A second descriptor for the same file; what stood behind its number before is closed. */
EXPORT int dup(int fd)
{
	int copy = REAL(dup)(fd);
	call_duplicated(fd, copy);
	return copy;
}

EXPORT int dup2(int fd, int target)
{
	struct closing closing;
	call_replacing(fd, target, &closing);
	int copy = REAL(dup2)(fd, target);
	call_duplicated(fd, copy);
	(void)call_closed(0, &closing); /* not reported: the call is about another file */
	return copy;
}

EXPORT int __dup2(int fd, int target)
{
	struct closing closing;
	call_replacing(fd, target, &closing);
	int copy = REAL(__dup2)(fd, target);
	call_duplicated(fd, copy);
	(void)call_closed(0, &closing); /* not reported: the call is about another file */
	return copy;
}

EXPORT int dup3(int fd, int target, int flags)
{
	struct closing closing;
	call_replacing(fd, target, &closing);
	int copy = REAL(dup3)(fd, target, flags);
	call_duplicated(fd, copy);
	(void)call_closed(0, &closing); /* not reported: the call is about another file */
	return copy;
}

static inline int controlled(int fd, int command, int ret)
{
	if (command == F_SETLK || command == F_SETLKW)
		guarded_locked(fd);
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		call_duplicated(fd, ret);
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

/* Locks of the kind that fcntl(2) sets. */
EXPORT int lockf(int fd, int command, off_t size_bytes)
{
	guarded_locked(fd);
	return REAL(lockf)(fd, command, size_bytes);
}

EXPORT int lockf64(int fd, int command, off64_t size_bytes)
{
	guarded_locked(fd);
	return REAL(lockf64)(fd, command, size_bytes);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	READ_ARGUMENT(request)
	int ret = REAL(ioctl)(fd, request, argument);
	if (shim.views && ret == 0 && (request == FICLONE || request == FICLONERANGE))
		viewer_untrackable();
	return ret;
}
