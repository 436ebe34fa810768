/*
 * The exported functions that name files: rename, link, remove, make, and change the folder.
 */
#include <sys/stat.h>
#include <utmp.h>
#include <utmpx.h>

#include "shim/preload/call.h"
#include "shim/preload/real.h"

/* A call about one name, which is guarded: comes back with `error`. */
static int changed(enum journal_op op, int error, int directory, const char *path, uint32_t flags,
		   uint64_t amount, struct write_check *check)
{
	call_changed(op, error, directory, path, flags, amount);
	write_check_changed(check, error);
	return error;
}

static int renamed(int error, int directory, const char *path, int other_directory,
		   const char *other, unsigned flags, struct write_check *check)
{
	call_changed_two(JOURNAL_RENAME, error, directory, path, other_directory, other, flags);
	write_check_renamed(check, error);
	return error;
}

static void linked(struct write_check *check, int error)
{
	check->source_key = 0; /* it keeps its name */
	write_check_renamed(check, error);
}

EXPORT int rename(const char *from, const char *to)
{
	struct write_check check;
	int error = -1;
	if (call_may_rename(AT_FDCWD, from, AT_FDCWD, to, 0, &check))
		error = REAL(rename)(from, to);
	return renamed(error, AT_FDCWD, from, AT_FDCWD, to, 0, &check);
}

EXPORT int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
	struct write_check check;
	int error = -1;
	if (call_may_rename(from_directory, from, to_directory, to, 0, &check))
		error = REAL(renameat)(from_directory, from, to_directory, to);
	return renamed(error, from_directory, from, to_directory, to, 0, &check);
}

EXPORT int renameat2(int from_directory, const char *from, int to_directory, const char *to,
		     unsigned flags)
{
	struct write_check check;
	int error = -1;
	if (call_may_rename(from_directory, from, to_directory, to, flags, &check))
		error = REAL(renameat2)(from_directory, from, to_directory, to, flags);
	return renamed(error, from_directory, from, to_directory, to, flags, &check);
}

EXPORT int unlink(const char *path)
{
	struct write_check check;
	int error = -1;
	if (call_may_change(GUARD_UNNAMES, AT_FDCWD, path, false, &check))
		error = REAL(unlink)(path);
	return changed(JOURNAL_DELETE, error, AT_FDCWD, path, 0, 0, &check);
}

EXPORT int unlinkat(int directory, const char *path, int flags)
{
	struct write_check check;
	int error = -1;
	check.path = NULL;
	if (flags & AT_REMOVEDIR ? call_may(RULE_DELETE, directory, path, false)
				 : call_may_change(GUARD_UNNAMES, directory, path, false, &check))
		error = REAL(unlinkat)(directory, path, flags);
	return changed(JOURNAL_DELETE, error, directory, path, (uint32_t)flags & AT_REMOVEDIR, 0,
		       &check);
}

EXPORT int remove(const char *path)
{
	struct write_check check;
	int error = -1;
	if (call_may_change(GUARD_UNNAMES, AT_FDCWD, path, false, &check))
		error = REAL(remove)(path);
	return changed(JOURNAL_DELETE, error, AT_FDCWD, path, 0, 0, &check);
}

EXPORT int rmdir(const char *path)
{
	int error = call_may(RULE_DELETE, AT_FDCWD, path, false) ? REAL(rmdir)(path) : -1;
	call_changed(JOURNAL_DELETE, error, AT_FDCWD, path, AT_REMOVEDIR, 0);
	return error;
}

EXPORT int mkdir(const char *path, mode_t mode)
{
	int error = call_may(RULE_MAKES, AT_FDCWD, path, false) ? REAL(mkdir)(path, mode) : -1;
	call_changed(JOURNAL_CREATE, error, AT_FDCWD, path, S_IFDIR | mode, 0);
	return error;
}

EXPORT int mkdirat(int directory, const char *path, mode_t mode)
{
	int error = call_may(RULE_MAKES, directory, path, false)
			    ? REAL(mkdirat)(directory, path, mode)
			    : -1;
	call_changed(JOURNAL_CREATE, error, directory, path, S_IFDIR | mode, 0);
	return error;
}

EXPORT char *mkdtemp(char *path)
{
	/* the template's name, which is never taken */
	char *ret = call_may(RULE_WRITE | RULE_CREATE, AT_FDCWD, path, false) ? REAL(mkdtemp)(path)
									      : NULL;
	call_changed(JOURNAL_CREATE, ret ? 0 : -1, AT_FDCWD, path, S_IFDIR | 0700, 0);
	return ret;
}

EXPORT int link(const char *from, const char *to)
{
	struct write_check check;
	int error = -1;
	if (call_may_link(AT_FDCWD, from, false, AT_FDCWD, to, &check))
		error = REAL(link)(from, to);
	call_changed_two(JOURNAL_LINK, error, AT_FDCWD, from, AT_FDCWD, to, 0);
	linked(&check, error);
	return error;
}

EXPORT int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
	struct write_check check;
	int error = -1;
	if (call_may_link(from_directory, from, flags & AT_SYMLINK_FOLLOW, to_directory, to,
			  &check))
		error = REAL(linkat)(from_directory, from, to_directory, to, flags);
	call_changed_two(JOURNAL_LINK, error, from_directory, from, to_directory, to,
			 (uint32_t)flags);
	linked(&check, error);
	return error;
}

EXPORT int symlink(const char *target, const char *path)
{
	int error = call_may(RULE_MAKES_LINK, AT_FDCWD, path, false) ? REAL(symlink)(target, path)
								     : -1;
	call_changed_two(JOURNAL_SYMLINK, error, AT_FDCWD, path, AT_FDCWD, target, 0);
	return error;
}

EXPORT int symlinkat(const char *target, int directory, const char *path)
{
	int error = call_may(RULE_MAKES_LINK, directory, path, false)
			    ? REAL(symlinkat)(target, directory, path)
			    : -1;
	call_changed_two(JOURNAL_SYMLINK, error, directory, path, AT_FDCWD, target, 0);
	return error;
}

/* mknod(2) refuses a type that it does not make before it looks at the path. */
static const char *named(int error, mode_t mode, const char *path)
{
	mode_t type = mode & S_IFMT;
	bool makes = type == 0 || type == S_IFREG || type == S_IFCHR || type == S_IFBLK ||
		     type == S_IFIFO || type == S_IFSOCK;
	return error && !makes ? NULL : path;
}

EXPORT int mknod(const char *path, mode_t mode, dev_t device)
{
	int error = call_may(RULE_MAKES, AT_FDCWD, path, false) ? REAL(mknod)(path, mode, device)
								: -1;
	call_changed(JOURNAL_CREATE, error, AT_FDCWD, named(error, mode, path), mode, 0);
	return error;
}

EXPORT int mknodat(int directory, const char *path, mode_t mode, dev_t device)
{
	int error = call_may(RULE_MAKES, directory, path, false)
			    ? REAL(mknodat)(directory, path, mode, device)
			    : -1;
	call_changed(JOURNAL_CREATE, error, directory, named(error, mode, path), mode, 0);
	return error;
}

/* mknod for programs built before glibc 2.33. */
EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *device)
{
	int error = call_may(RULE_MAKES, AT_FDCWD, path, false)
			    ? REAL(__xmknod)(version, path, mode, device)
			    : -1;
	call_changed(JOURNAL_CREATE, error, AT_FDCWD, named(error, mode, path), mode, 0);
	return error;
}

EXPORT int __xmknodat(int version, int directory, const char *path, mode_t mode, dev_t *device)
{
	int error = call_may(RULE_MAKES, directory, path, false)
			    ? REAL(__xmknodat)(version, directory, path, mode, device)
			    : -1;
	call_changed(JOURNAL_CREATE, error, directory, named(error, mode, path), mode, 0);
	return error;
}

/* These append to a file that the caller names, and do not say whether they could. */
EXPORT void updwtmp(const char *path, const struct utmp *entry)
{
	if (!call_may(RULE_WRITE, AT_FDCWD, path, true))
		return;
	REAL(updwtmp)(path, entry);
	call_changed(JOURNAL_WRITE, 0, AT_FDCWD, path, 0, 0);
}

EXPORT void updwtmpx(const char *path, const struct utmpx *entry)
{
	if (!call_may(RULE_WRITE, AT_FDCWD, path, true))
		return;
	REAL(updwtmpx)(path, entry);
	call_changed(JOURNAL_WRITE, 0, AT_FDCWD, path, 0, 0);
}

EXPORT int mkfifo(const char *path, mode_t mode)
{
	int error = call_may(RULE_MAKES, AT_FDCWD, path, false) ? REAL(mkfifo)(path, mode) : -1;
	call_changed(JOURNAL_CREATE, error, AT_FDCWD, path, S_IFIFO | mode, 0);
	return error;
}

EXPORT int mkfifoat(int directory, const char *path, mode_t mode)
{
	int error = call_may(RULE_MAKES, directory, path, false)
			    ? REAL(mkfifoat)(directory, path, mode)
			    : -1;
	call_changed(JOURNAL_CREATE, error, directory, path, S_IFIFO | mode, 0);
	return error;
}

EXPORT int truncate(const char *path, off_t size_bytes)
{
	struct write_check check;
	int error = -1;
	check.path = NULL;
	if (size_bytes < 0 || call_may_change(GUARD_WRITES, AT_FDCWD, path, true, &check))
		error = REAL(truncate)(path, size_bytes);
	return changed(JOURNAL_TRUNCATE, error, AT_FDCWD, path, 0, (uint64_t)size_bytes, &check);
}

EXPORT int truncate64(const char *path, off64_t size_bytes)
{
	struct write_check check;
	int error = -1;
	check.path = NULL;
	if (size_bytes < 0 || call_may_change(GUARD_WRITES, AT_FDCWD, path, true, &check))
		error = REAL(truncate64)(path, size_bytes);
	return changed(JOURNAL_TRUNCATE, error, AT_FDCWD, path, 0, (uint64_t)size_bytes, &check);
}

EXPORT int chdir(const char *path)
{
	int error = REAL(chdir)(path);
	call_moved(error, -1, path);
	return error;
}

EXPORT int fchdir(int directory)
{
	int error = REAL(fchdir)(directory);
	call_moved(error, directory, NULL);
	return error;
}
