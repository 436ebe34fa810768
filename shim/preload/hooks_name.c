/*
 * The exported functions that name files: rename, link, remove, make, and change the folder.
 */
#include <sys/stat.h>
#include <utmp.h>
#include <utmpx.h>

#include "shim/preload/door.h"
#include "shim/preload/real.h"

/* What stood, or now stands, under a name was replaced, removed or made. */
static inline void changed(int error, int directory, const char *path)
{
	if (error == 0)
		door_changed(directory, path);
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

EXPORT int renameat2(int from_directory, const char *from, int to_directory, const char *to,
		     unsigned flags)
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

EXPORT int rmdir(const char *path)
{
	int error = REAL(rmdir)(path);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int mkdir(const char *path, mode_t mode)
{
	int error = REAL(mkdir)(path, mode);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int mkdirat(int directory, const char *path, mode_t mode)
{
	int error = REAL(mkdirat)(directory, path, mode);
	changed(error, directory, path);
	return error;
}

EXPORT char *mkdtemp(char *path)
{
	char *ret = REAL(mkdtemp)(path);
	changed(ret ? 0 : -1, AT_FDCWD, path);
	return ret;
}

EXPORT int link(const char *from, const char *to)
{
	int error = REAL(link)(from, to);
	changed(error, AT_FDCWD, to);
	return error;
}

EXPORT int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
	int error = REAL(linkat)(from_directory, from, to_directory, to, flags);
	changed(error, to_directory, to);
	return error;
}

EXPORT int symlink(const char *target, const char *path)
{
	int error = REAL(symlink)(target, path);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int symlinkat(const char *target, int directory, const char *path)
{
	int error = REAL(symlinkat)(target, directory, path);
	changed(error, directory, path);
	return error;
}

EXPORT int mknod(const char *path, mode_t mode, dev_t device)
{
	int error = REAL(mknod)(path, mode, device);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int mknodat(int directory, const char *path, mode_t mode, dev_t device)
{
	int error = REAL(mknodat)(directory, path, mode, device);
	changed(error, directory, path);
	return error;
}

/* mknod for programs built before glibc 2.33. */
EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *device)
{
	int error = REAL(__xmknod)(version, path, mode, device);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int __xmknodat(int version, int directory, const char *path, mode_t mode, dev_t *device)
{
	int error = REAL(__xmknodat)(version, directory, path, mode, device);
	changed(error, directory, path);
	return error;
}

/* These append to a file that the caller names, and do not say whether they could. */
EXPORT void updwtmp(const char *path, const struct utmp *entry)
{
	REAL(updwtmp)(path, entry);
	changed(0, AT_FDCWD, path);
}

EXPORT void updwtmpx(const char *path, const struct utmpx *entry)
{
	REAL(updwtmpx)(path, entry);
	changed(0, AT_FDCWD, path);
}

EXPORT int mkfifo(const char *path, mode_t mode)
{
	int error = REAL(mkfifo)(path, mode);
	changed(error, AT_FDCWD, path);
	return error;
}

EXPORT int mkfifoat(int directory, const char *path, mode_t mode)
{
	int error = REAL(mkfifoat)(directory, path, mode);
	changed(error, directory, path);
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
