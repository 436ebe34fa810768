/*
 * The exported functions that open, close, name and copy files.  Each does what libc's does and then
 * says what it meant: to view.c in a viewer, to own.c in an agent, to change.c where it destroyed or replaced something.
 */
#include <stdarg.h>

#include "shim/preload/real.h"
#include "shim/preload/shim.h"

/* mkdir(2)'s and open(2)'s third argument is there only with these flags. */
static bool has_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define TAKE_MODE(flags, last)                             \
	mode_t mode = 0;                                   \
	if (has_mode(flags)) {                             \
		va_list arguments;                         \
		va_start(arguments, last);                 \
		mode = (mode_t)va_arg(arguments, int);     \
		va_end(arguments);                         \
	}

static void opened(int fd, int directory, const char *path, int flags)
{
	if (fd < 0 || !shim.on || (flags & (O_PATH | O_DIRECTORY)))
		return;
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC)) {
		if (shim.changes && (flags & O_TMPFILE) != O_TMPFILE)
			change_note(directory, path);
	} else if (shim.views) {
		view_opened(fd, path);
	} else if (shim.reads_own) {
		own_opened(fd, directory, path);
	}
}

EXPORT int open(const char *path, int flags, ...)
{
	TAKE_MODE(flags, flags)
	int fd = REAL(open)(path, flags, mode);
	opened(fd, AT_FDCWD, path, flags);
	return fd;
}

EXPORT int open64(const char *path, int flags, ...)
{
	TAKE_MODE(flags, flags)
	int fd = REAL(open64)(path, flags, mode);
	opened(fd, AT_FDCWD, path, flags);
	return fd;
}

EXPORT int openat(int directory, const char *path, int flags, ...)
{
	TAKE_MODE(flags, flags)
	int fd = REAL(openat)(directory, path, flags, mode);
	opened(fd, directory, path, flags);
	return fd;
}

EXPORT int openat64(int directory, const char *path, int flags, ...)
{
	TAKE_MODE(flags, flags)
	int fd = REAL(openat64)(directory, path, flags, mode);
	opened(fd, directory, path, flags);
	return fd;
}

EXPORT int __open_2(const char *path, int flags)
{
	int fd = REAL(__open_2)(path, flags);
	opened(fd, AT_FDCWD, path, flags);
	return fd;
}

EXPORT int __open64_2(const char *path, int flags)
{
	int fd = REAL(__open64_2)(path, flags);
	opened(fd, AT_FDCWD, path, flags);
	return fd;
}

EXPORT int __openat_2(int directory, const char *path, int flags)
{
	int fd = REAL(__openat_2)(directory, path, flags);
	opened(fd, directory, path, flags);
	return fd;
}

EXPORT int __openat64_2(int directory, const char *path, int flags)
{
	int fd = REAL(__openat64_2)(directory, path, flags);
	opened(fd, directory, path, flags);
	return fd;
}

EXPORT int creat(const char *path, mode_t mode)
{
	int fd = REAL(creat)(path, mode);
	opened(fd, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC);
	return fd;
}

EXPORT int creat64(const char *path, mode_t mode)
{
	int fd = REAL(creat64)(path, mode);
	opened(fd, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC);
	return fd;
}

/* fopen(3)'s mode as open(2)'s flags, as far as they matter here. */
static int flags_of_mode(const char *mode)
{
	bool updates = false;
	for (const char *at = mode; *at && *at != ','; at++)
		updates = updates || *at == '+';
	if (mode[0] == 'r')
		return updates ? O_RDWR : O_RDONLY;
	return (updates ? O_RDWR : O_WRONLY) | O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND);
}

static void opened_stream(FILE *stream, const char *path, const char *mode)
{
	if (stream && shim.on && path)
		opened(fileno(stream), AT_FDCWD, path, flags_of_mode(mode));
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	FILE *stream = REAL(fopen)(path, mode);
	opened_stream(stream, path, mode);
	return stream;
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	FILE *stream = REAL(fopen64)(path, mode);
	opened_stream(stream, path, mode);
	return stream;
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *old)
{
	FILE *stream = REAL(freopen)(path, mode, old);
	if (shim.views)
		view_odd(); /* a descriptor, perhaps 1, now is another file */
	opened_stream(stream, path, mode);
	return stream;
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *old)
{
	FILE *stream = REAL(freopen64)(path, mode, old);
	if (shim.views)
		view_odd();
	opened_stream(stream, path, mode);
	return stream;
}

EXPORT int close(int fd)
{
	if (shim.views)
		view_closing(fd);
	else if (shim.reads_own)
		own_closing(fd);
	return REAL(close)(fd);
}

/* A second descriptor for the same file, or another file behind a number: not followed in a viewer. */

EXPORT int dup(int fd)
{
	if (shim.views)
		view_odd();
	return REAL(dup)(fd);
}

EXPORT int dup2(int fd, int target)
{
	if (shim.views)
		view_odd();
	else if (shim.reads_own)
		own_closing(target);
	return REAL(dup2)(fd, target);
}

EXPORT int dup3(int fd, int target, int flags)
{
	if (shim.views)
		view_odd();
	else if (shim.reads_own)
		own_closing(target);
	return REAL(dup3)(fd, target, flags);
}

static void changed(int error, int directory, const char *path)
{
	if (error == 0 && shim.on && shim.changes)
		change_note(directory, path);
}

EXPORT int rename(const char *from, const char *to)
{
	int error = REAL(rename)(from, to);
	changed(error, AT_FDCWD, from);
	changed(error, AT_FDCWD, to);
	return error;
}

EXPORT int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
	int error = REAL(renameat)(from_directory, from, to_directory, to);
	changed(error, from_directory, from);
	changed(error, to_directory, to);
	return error;
}

EXPORT int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags)
{
	int error = REAL(renameat2)(from_directory, from, to_directory, to, flags);
	changed(error, from_directory, from);
	changed(error, to_directory, to);
	return error;
}

EXPORT int unlink(const char *path)
{
	int error = REAL(unlink)(path);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int unlinkat(int directory, const char *path, int flags)
{
	int error = REAL(unlinkat)(directory, path, flags);
	if (!(flags & AT_REMOVEDIR))
		changed(error, directory, path);
	return error;
}

EXPORT int remove(const char *path)
{
	int error = REAL(remove)(path);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int truncate(const char *path, off_t size_bytes)
{
	int error = REAL(truncate)(path, size_bytes);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int truncate64(const char *path, off64_t size_bytes)
{
	int error = REAL(truncate64)(path, size_bytes);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int chdir(const char *path)
{
	int error = REAL(chdir)(path);
	if (error == 0 && shim.on)
		change_directory(path);
	return error;
}

EXPORT int fchdir(int directory)
{
	int error = REAL(fchdir)(directory);
	if (error == 0 && shim.on)
		change_directory(NULL);
	return error;
}
