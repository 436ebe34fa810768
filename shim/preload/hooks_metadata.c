/*
 * The exported functions that set what a file is beside its content: mode, owner, times, attributes.  They are
 * recorded, and mean nothing else: content stays as it is.  And one that only asks.
 */
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#include "shim/preload/call.h"
#include "shim/preload/real.h"

static inline int by_name(int error, int directory, const char *path, enum journal_flags what,
			  uint64_t value)
{
	call_changed(JOURNAL_METADATA, error, directory, path, what, value);
	return error;
}

static inline int by_descriptor(int error, int fd, enum journal_flags what, uint64_t value)
{
	call_described(JOURNAL_METADATA, error, fd, what, value);
	return error;
}

static inline bool may_set(int directory, const char *path, bool follows)
{
	return call_may(RULE_METADATA, directory, path, follows);
}

static inline bool may_set_by(int fd)
{
	return call_may_descriptor(RULE_METADATA, fd);
}

static inline uint64_t owner(uid_t user, gid_t group)
{
	return (uint64_t)user << 32 | group;
}

EXPORT int chmod(const char *path, mode_t mode)
{
	return by_name(may_set(AT_FDCWD, path, true) ? REAL(chmod)(path, mode) : -1, AT_FDCWD, path,
		       JOURNAL_METADATA_MODE, mode);
}

EXPORT int fchmod(int fd, mode_t mode)
{
	return by_descriptor(may_set_by(fd) ? REAL(fchmod)(fd, mode) : -1, fd,
			     JOURNAL_METADATA_MODE, mode);
}

EXPORT int fchmodat(int directory, const char *path, mode_t mode, int flags)
{
	return by_name(may_set(directory, path, !(flags & AT_SYMLINK_NOFOLLOW))
			       ? REAL(fchmodat)(directory, path, mode, flags)
			       : -1,
		       directory, path, JOURNAL_METADATA_MODE, mode);
}

EXPORT int lchmod(const char *path, mode_t mode)
{
	return by_name(may_set(AT_FDCWD, path, false) ? REAL(lchmod)(path, mode) : -1, AT_FDCWD,
		       path, JOURNAL_METADATA_MODE, mode);
}

EXPORT int chown(const char *path, uid_t user, gid_t group)
{
	return by_name(may_set(AT_FDCWD, path, true) ? REAL(chown)(path, user, group) : -1,
		       AT_FDCWD, path, JOURNAL_METADATA_OWNER, owner(user, group));
}

EXPORT int fchown(int fd, uid_t user, gid_t group)
{
	return by_descriptor(may_set_by(fd) ? REAL(fchown)(fd, user, group) : -1, fd,
			     JOURNAL_METADATA_OWNER, owner(user, group));
}

EXPORT int lchown(const char *path, uid_t user, gid_t group)
{
	return by_name(may_set(AT_FDCWD, path, false) ? REAL(lchown)(path, user, group) : -1,
		       AT_FDCWD, path, JOURNAL_METADATA_OWNER, owner(user, group));
}

EXPORT int fchownat(int directory, const char *path, uid_t user, gid_t group, int flags)
{
	return by_name(may_set(directory, path, !(flags & AT_SYMLINK_NOFOLLOW))
			       ? REAL(fchownat)(directory, path, user, group, flags)
			       : -1,
		       directory, path, JOURNAL_METADATA_OWNER, owner(user, group));
}

EXPORT int utime(const char *path, const struct utimbuf *times)
{
	return by_name(may_set(AT_FDCWD, path, true) ? REAL(utime)(path, times) : -1, AT_FDCWD,
		       path, JOURNAL_METADATA_TIMES, 0);
}

EXPORT int utimes(const char *path, const struct timeval times[2])
{
	return by_name(may_set(AT_FDCWD, path, true) ? REAL(utimes)(path, times) : -1, AT_FDCWD,
		       path, JOURNAL_METADATA_TIMES, 0);
}

EXPORT int lutimes(const char *path, const struct timeval times[2])
{
	return by_name(may_set(AT_FDCWD, path, false) ? REAL(lutimes)(path, times) : -1, AT_FDCWD,
		       path, JOURNAL_METADATA_TIMES, 0);
}

EXPORT int futimes(int fd, const struct timeval times[2])
{
	return by_descriptor(may_set_by(fd) ? REAL(futimes)(fd, times) : -1, fd,
			     JOURNAL_METADATA_TIMES, 0);
}

static bool may_set_times(int directory, const char *path, int flags)
{
	return path ? may_set(directory, path, !(flags & AT_SYMLINK_NOFOLLOW))
		    : may_set_by(directory);
}

/* Without a path, or with none in utimensat(2): the descriptor itself. */
EXPORT int futimesat(int directory, const char *path, const struct timeval times[2])
{
	int error = may_set_times(directory, path, 0) ? REAL(futimesat)(directory, path, times)
						      : -1;
	return path ? by_name(error, directory, path, JOURNAL_METADATA_TIMES, 0)
		    : by_descriptor(error, directory, JOURNAL_METADATA_TIMES, 0);
}

EXPORT int utimensat(int directory, const char *path, const struct timespec times[2], int flags)
{
	int error = may_set_times(directory, path, flags)
			    ? REAL(utimensat)(directory, path, times, flags)
			    : -1;
	/* Nothing to do: the path is not even read. */
	if (error == 0 && times && times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
		return error;
	return path ? by_name(error, directory, path, JOURNAL_METADATA_TIMES, 0)
		    : by_descriptor(error, directory, JOURNAL_METADATA_TIMES, 0);
}

EXPORT int futimens(int fd, const struct timespec times[2])
{
	return by_descriptor(may_set_by(fd) ? REAL(futimens)(fd, times) : -1, fd,
			     JOURNAL_METADATA_TIMES, 0);
}

EXPORT int setxattr(const char *path, const char *name, const void *value, size_t size_bytes,
		    int flags)
{
	return by_name(may_set(AT_FDCWD, path, true)
			       ? REAL(setxattr)(path, name, value, size_bytes, flags)
			       : -1,
		       AT_FDCWD, path, JOURNAL_METADATA_ATTRIBUTE, 0);
}

EXPORT int lsetxattr(const char *path, const char *name, const void *value, size_t size_bytes,
		     int flags)
{
	return by_name(may_set(AT_FDCWD, path, false)
			       ? REAL(lsetxattr)(path, name, value, size_bytes, flags)
			       : -1,
		       AT_FDCWD, path, JOURNAL_METADATA_ATTRIBUTE, 0);
}

EXPORT int fsetxattr(int fd, const char *name, const void *value, size_t size_bytes, int flags)
{
	return by_descriptor(may_set_by(fd) ? REAL(fsetxattr)(fd, name, value, size_bytes, flags)
					    : -1,
			     fd, JOURNAL_METADATA_ATTRIBUTE, 0);
}

EXPORT int removexattr(const char *path, const char *name)
{
	return by_name(may_set(AT_FDCWD, path, true) ? REAL(removexattr)(path, name) : -1, AT_FDCWD,
		       path, JOURNAL_METADATA_NO_ATTRIBUTE, 0);
}

EXPORT int lremovexattr(const char *path, const char *name)
{
	return by_name(may_set(AT_FDCWD, path, false) ? REAL(lremovexattr)(path, name) : -1,
		       AT_FDCWD, path, JOURNAL_METADATA_NO_ATTRIBUTE, 0);
}

EXPORT int fremovexattr(int fd, const char *name)
{
	return by_descriptor(may_set_by(fd) ? REAL(fremovexattr)(fd, name) : -1, fd,
			     JOURNAL_METADATA_NO_ATTRIBUTE, 0);
}

/* The edit tools of some agents ask before they read what they are about to write (in_process.c). */
EXPORT int access(const char *path, int mode)
{
	int error = REAL(access)(path, mode);
	if (__builtin_expect(shim.answers_own, 0) && error == 0)
		in_process_asked(AT_FDCWD, path, mode & W_OK);
	return error;
}
