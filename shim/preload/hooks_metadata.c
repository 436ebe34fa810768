/*
 * The exported functions that set what a file is beside its content: mode, owner, times,
 * attributes.  They are recorded, and mean nothing else: content stays as it is.  And one that only
 * asks.
 */
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include "shim/preload/real.h"
#include "shim/preload/stations.h"

static inline uint64_t owner(uid_t user, gid_t group)
{
	return (uint64_t)user << 32 | group;
}

/* Returns from the wrapper what libc's function returns, between the stations. */
#define SET_NAMED(directory_, path_, follows_, what, value, attribute_, call_by_libc) \
	do { \
		struct call call = { .operation = OPERATION_METADATA, \
				     .flags = (what), \
				     .amount = (value), \
				     .name = { (path_), (directory_), (follows_) }, \
				     .attribute = (attribute_) }; \
		PASS(METADATA, call_by_libc); \
	} while (0)
#define SET(directory_, path_, follows_, what, value, call_by_libc) \
	SET_NAMED(directory_, path_, follows_, what, value, NULL, call_by_libc)

#define SET_NAMED_BY(fd, what, value, attribute_, call_by_libc) \
	do { \
		struct call call = { .operation = OPERATION_METADATA_OF_DESCRIPTOR, \
				     .flags = (what), \
				     .amount = (value), \
				     .name = { NULL, (fd), false }, \
				     .attribute = (attribute_) }; \
		PASS(METADATA_OF_DESCRIPTOR, call_by_libc); \
	} while (0)
#define SET_BY(fd, what, value, call_by_libc) SET_NAMED_BY(fd, what, value, NULL, call_by_libc)

EXPORT int chmod(const char *path, mode_t mode)
{
	SET(AT_FDCWD, path, true, JOURNAL_METADATA_MODE, mode, REAL(chmod)(path, mode));
}

EXPORT int fchmod(int fd, mode_t mode)
{
	SET_BY(fd, JOURNAL_METADATA_MODE, mode, REAL(fchmod)(fd, mode));
}

EXPORT int fchmodat(int directory, const char *path, mode_t mode, int flags)
{
	SET(directory, path, !(flags & AT_SYMLINK_NOFOLLOW), JOURNAL_METADATA_MODE, mode,
	    REAL(fchmodat)(directory, path, mode, flags));
}

EXPORT int lchmod(const char *path, mode_t mode)
{
	SET(AT_FDCWD, path, false, JOURNAL_METADATA_MODE, mode, REAL(lchmod)(path, mode));
}

EXPORT int chown(const char *path, uid_t user, gid_t group)
{
	SET(AT_FDCWD, path, true, JOURNAL_METADATA_OWNER, owner(user, group),
	    REAL(chown)(path, user, group));
}

EXPORT int fchown(int fd, uid_t user, gid_t group)
{
	SET_BY(fd, JOURNAL_METADATA_OWNER, owner(user, group), REAL(fchown)(fd, user, group));
}

EXPORT int lchown(const char *path, uid_t user, gid_t group)
{
	SET(AT_FDCWD, path, false, JOURNAL_METADATA_OWNER, owner(user, group),
	    REAL(lchown)(path, user, group));
}

EXPORT int fchownat(int directory, const char *path, uid_t user, gid_t group, int flags)
{
	SET(directory, path, !(flags & AT_SYMLINK_NOFOLLOW), JOURNAL_METADATA_OWNER,
	    owner(user, group), REAL(fchownat)(directory, path, user, group, flags));
}

EXPORT int utime(const char *path, const struct utimbuf *times)
{
	SET(AT_FDCWD, path, true, JOURNAL_METADATA_TIMES, 0, REAL(utime)(path, times));
}

EXPORT int utimes(const char *path, const struct timeval times[2])
{
	SET(AT_FDCWD, path, true, JOURNAL_METADATA_TIMES, 0, REAL(utimes)(path, times));
}

EXPORT int lutimes(const char *path, const struct timeval times[2])
{
	SET(AT_FDCWD, path, false, JOURNAL_METADATA_TIMES, 0, REAL(lutimes)(path, times));
}

EXPORT int futimes(int fd, const struct timeval times[2])
{
	SET_BY(fd, JOURNAL_METADATA_TIMES, 0, REAL(futimes)(fd, times));
}

/* Without a path, or with none in utimensat(2): the descriptor itself. */
EXPORT int futimesat(int directory, const char *path, const struct timeval times[2])
{
	if (!path)
		SET_BY(directory, JOURNAL_METADATA_TIMES, 0,
		       REAL(futimesat)(directory, path, times));
	SET(directory, path, true, JOURNAL_METADATA_TIMES, 0,
	    REAL(futimesat)(directory, path, times));
}

/* A call that succeeded and had nothing to do did not even read the path: it is not recorded. */
static bool set_nothing(int error, const struct timespec *times)
{
	return error == 0 && times && times[0].tv_nsec == UTIME_OMIT &&
	       times[1].tv_nsec == UTIME_OMIT;
}

EXPORT int utimensat(int directory, const char *path, const struct timespec times[2], int flags)
{
	struct call call = { .operation = path ? OPERATION_METADATA
					       : OPERATION_METADATA_OF_DESCRIPTOR,
			     .flags = JOURNAL_METADATA_TIMES,
			     .name = { path, directory, !(flags & AT_SYMLINK_NOFOLLOW) } };

	call.error = order_may(&call, OPERATION_METADATA)
			     ? REAL(utimensat)(directory, path, times, flags)
			     : -1;
	if (set_nothing(call.error, times))
		station_kept(&call, OPERATION_METADATA);
	else if (path)
		order_came_back(&call, OPERATION_METADATA);
	else
		order_came_back(&call, OPERATION_METADATA_OF_DESCRIPTOR);
	return call.error;
}

EXPORT int futimens(int fd, const struct timespec times[2])
{
	SET_BY(fd, JOURNAL_METADATA_TIMES, 0, REAL(futimens)(fd, times));
}

EXPORT int setxattr(const char *path, const char *name, const void *value, size_t size_bytes,
		    int flags)
{
	SET_NAMED(AT_FDCWD, path, true, JOURNAL_METADATA_ATTRIBUTE, 0, name,
		  REAL(setxattr)(path, name, value, size_bytes, flags));
}

EXPORT int lsetxattr(const char *path, const char *name, const void *value, size_t size_bytes,
		     int flags)
{
	SET_NAMED(AT_FDCWD, path, false, JOURNAL_METADATA_ATTRIBUTE, 0, name,
		  REAL(lsetxattr)(path, name, value, size_bytes, flags));
}

EXPORT int fsetxattr(int fd, const char *name, const void *value, size_t size_bytes, int flags)
{
	SET_NAMED_BY(fd, JOURNAL_METADATA_ATTRIBUTE, 0, name,
		     REAL(fsetxattr)(fd, name, value, size_bytes, flags));
}

EXPORT int removexattr(const char *path, const char *name)
{
	SET_NAMED(AT_FDCWD, path, true, JOURNAL_METADATA_NO_ATTRIBUTE, 0, name,
		  REAL(removexattr)(path, name));
}

EXPORT int lremovexattr(const char *path, const char *name)
{
	SET_NAMED(AT_FDCWD, path, false, JOURNAL_METADATA_NO_ATTRIBUTE, 0, name,
		  REAL(lremovexattr)(path, name));
}

EXPORT int fremovexattr(int fd, const char *name)
{
	SET_NAMED_BY(fd, JOURNAL_METADATA_NO_ATTRIBUTE, 0, name, REAL(fremovexattr)(fd, name));
}

/* What a name stands for was asked.  Returns the call's own result. */
static inline int asked(int directory, const char *path, int flags, int error)
{
	if (__builtin_expect(shim.tracks, 0))
		reader_asked(directory, path, flags, error);
	return error;
}

/* The edit tools of some agents ask before they read what they are about to write (own.c). */
EXPORT int access(const char *path, int mode)
{
	int error = REAL(access)(path, mode);
	if (__builtin_expect(shim.answers_own, 0) && error == 0)
		in_process_asked(AT_FDCWD, path, mode & W_OK);
	return asked(AT_FDCWD, path, 0, error);
}

EXPORT int stat(const char *path, struct stat *ret_stat)
{
	return asked(AT_FDCWD, path, 0, REAL(stat)(path, ret_stat));
}

EXPORT int stat64(const char *path, struct stat64 *ret_stat)
{
	return asked(AT_FDCWD, path, 0, REAL(stat64)(path, ret_stat));
}

EXPORT int lstat(const char *path, struct stat *ret_stat)
{
	return asked(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, REAL(lstat)(path, ret_stat));
}

EXPORT int lstat64(const char *path, struct stat64 *ret_stat)
{
	return asked(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, REAL(lstat64)(path, ret_stat));
}

EXPORT int fstatat(int directory, const char *path, struct stat *ret_stat, int flags)
{
	return asked(directory, path, flags, REAL(fstatat)(directory, path, ret_stat, flags));
}

EXPORT int fstatat64(int directory, const char *path, struct stat64 *ret_stat, int flags)
{
	return asked(directory, path, flags, REAL(fstatat64)(directory, path, ret_stat, flags));
}

EXPORT int statx(int directory, const char *path, int flags, unsigned mask, struct statx *ret_stat)
{
	return asked(directory, path, flags, REAL(statx)(directory, path, flags, mask, ret_stat));
}

/* What programs call that were built with a glibc of before 2.33. */

EXPORT int __xstat(int version, const char *path, struct stat *ret_stat)
{
	return asked(AT_FDCWD, path, 0, REAL(__xstat)(version, path, ret_stat));
}

EXPORT int __xstat64(int version, const char *path, struct stat64 *ret_stat)
{
	return asked(AT_FDCWD, path, 0, REAL(__xstat64)(version, path, ret_stat));
}

EXPORT int __lxstat(int version, const char *path, struct stat *ret_stat)
{
	return asked(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, REAL(__lxstat)(version, path, ret_stat));
}

EXPORT int __lxstat64(int version, const char *path, struct stat64 *ret_stat)
{
	return asked(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
		     REAL(__lxstat64)(version, path, ret_stat));
}

EXPORT int __fxstatat(int version, int directory, const char *path, struct stat *ret_stat,
		      int flags)
{
	return asked(directory, path, flags,
		     REAL(__fxstatat)(version, directory, path, ret_stat, flags));
}

EXPORT int __fxstatat64(int version, int directory, const char *path, struct stat64 *ret_stat,
			int flags)
{
	return asked(directory, path, flags,
		     REAL(__fxstatat64)(version, directory, path, ret_stat, flags));
}
