/*
 * syscall(2): programs that call the kernel by number through libc (Node: statx, copy_file_range) open, read, name and
 * start things too.  The real call first; then what it means, as in the function of that name.
 */
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "shim/preload/door.h"
#include "shim/preload/memory.h"
#include "shim/preload/real.h"
#include "shim/preload/ring.h"

/* What a call about files that are named meant, whether it succeeded or not.  Returns false for other calls. */
static bool was_named(long number, const long *arguments, long ret)
{
	const char *first = (const char *)arguments[0], *second = (const char *)arguments[1];
	const char *fourth = (const char *)arguments[3];
	int fd = (int)arguments[0], error = ret < 0 ? -1 : 0;

	switch (number) {
#ifdef SYS_open
	case SYS_open:
		(void)door_opened((int)ret, AT_FDCWD, first, (int)arguments[1], NULL);
		return true;
	case SYS_creat:
		(void)door_opened((int)ret, AT_FDCWD, first, CREATES, NULL);
		return true;
	case SYS_rename:
		door_changed_two(JOURNAL_RENAME, error, AT_FDCWD, first, AT_FDCWD, second, 0);
		return true;
	case SYS_unlink:
		door_changed(JOURNAL_DELETE, error, AT_FDCWD, first, 0, 0);
		return true;
	case SYS_rmdir:
		door_changed(JOURNAL_DELETE, error, AT_FDCWD, first, AT_REMOVEDIR, 0);
		return true;
	case SYS_mkdir:
		door_changed(JOURNAL_CREATE, error, AT_FDCWD, first,
			     S_IFDIR | (uint32_t)arguments[1], 0);
		return true;
	case SYS_mknod: /* some errors come before the path is read */
		door_changed(JOURNAL_CREATE, error, AT_FDCWD, error ? NULL : first,
			     (uint32_t)arguments[1], 0);
		return true;
	case SYS_link:
		door_changed_two(JOURNAL_LINK, error, AT_FDCWD, first, AT_FDCWD, second, 0);
		return true;
	case SYS_symlink:
		door_changed_two(JOURNAL_SYMLINK, error, AT_FDCWD, second, AT_FDCWD, first, 0);
		return true;
#endif
	case SYS_openat:
		(void)door_opened((int)ret, fd, second, (int)arguments[2], NULL);
		return true;
	case SYS_openat2: {
		/* A failed call did not prove that the flags can be read. */
		const struct open_how *how = (const struct open_how *)arguments[2];
		(void)door_opened((int)ret, fd, second, ret < 0 ? 0 : (int)how->flags, NULL);
		return true;
	}
	case SYS_open_by_handle_at:
		(void)door_opened((int)ret, AT_FDCWD, NULL, (int)arguments[2], NULL);
		return true;
#ifdef SYS_renameat
	case SYS_renameat:
		door_changed_two(JOURNAL_RENAME, error, fd, second, (int)arguments[2], fourth, 0);
		return true;
#endif
	case SYS_renameat2:
		door_changed_two(JOURNAL_RENAME, error, fd, second, (int)arguments[2], fourth,
				 (uint32_t)arguments[4]);
		return true;
	case SYS_unlinkat:
		door_changed(JOURNAL_DELETE, error, fd, second,
			     (uint32_t)arguments[2] & AT_REMOVEDIR, 0);
		return true;
	case SYS_mkdirat:
		door_changed(JOURNAL_CREATE, error, fd, second, S_IFDIR | (uint32_t)arguments[2],
			     0);
		return true;
	case SYS_mknodat:
		door_changed(JOURNAL_CREATE, error, fd, error ? NULL : second,
			     (uint32_t)arguments[2], 0);
		return true;
	case SYS_linkat:
		door_changed_two(JOURNAL_LINK, error, fd, second, (int)arguments[2], fourth,
				 (uint32_t)arguments[4]);
		return true;
	case SYS_symlinkat:
		door_changed_two(JOURNAL_SYMLINK, error, (int)arguments[1],
				 (const char *)arguments[2], AT_FDCWD, first, 0);
		return true;
	case SYS_truncate:
		door_changed(JOURNAL_TRUNCATE, error, AT_FDCWD, first, 0, (uint64_t)arguments[1]);
		return true;
	case SYS_ftruncate:
		door_described(JOURNAL_TRUNCATE, error, fd, 0, (uint64_t)arguments[1]);
		return false;
	case SYS_chdir:
		door_moved(error, -1, first);
		return true;
	case SYS_fchdir:
		door_moved(error, fd, NULL);
		return true;
	default:
		return false;
	}
}

/* What any other call that succeeded meant. */
static void was_called(long number, const long *arguments, long ret)
{
	int fd = (int)arguments[0];

	switch (number) {
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup:
	case SYS_dup3:
		door_duplicated(fd, (int)ret);
		break;
	case SYS_read:
	case SYS_pread64:
	case SYS_readv:
	case SYS_preadv:
	case SYS_preadv2:
		if (shim.views)
			view_odd();
		else if (shim.reads_own)
			own_read(fd, ret);
		door_read(fd, ret);
		break;
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
		if (shim.views)
			view_odd();
		door_written(fd, ret);
		break;
	case SYS_copy_file_range:
	case SYS_splice:
		if (shim.views)
			view_odd();
		door_read(fd, ret);
		door_written((int)arguments[2], ret);
		break;
	case SYS_sendfile:
		if (shim.views)
			view_odd();
		door_read((int)arguments[1], ret);
		door_written(fd, ret);
		break;
	case SYS_mmap:
		if (ring_any())
			ring_mapped((int)arguments[4], (const void *)ret, (size_t)arguments[1],
				    (uint64_t)arguments[5]);
		__attribute__((fallthrough));
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_ftruncate:
	case SYS_fallocate:
		if (shim.views)
			view_odd();
		break;
	case SYS_fcntl:
		if (arguments[1] == F_SETLK || arguments[1] == F_SETLKW)
			writes_locked(fd);
		if (arguments[1] == F_DUPFD || arguments[1] == F_DUPFD_CLOEXEC)
			door_duplicated(fd, (int)ret);
		break;
	case SYS_seccomp:
		if (arguments[0] == SECCOMP_SET_MODE_STRICT)
			door_sandboxed_strictly();
		else if (arguments[0] == SECCOMP_SET_MODE_FILTER)
			door_sandboxed();
		break;
	case SYS_prctl:
		if (arguments[0] == PR_SET_SECCOMP && arguments[1] == SECCOMP_MODE_STRICT)
			door_sandboxed_strictly();
		else if (arguments[0] == PR_SET_SECCOMP)
			door_sandboxed();
		break;
	case SYS_io_uring_setup:
		ring_made((int)ret, (const void *)arguments[1]);
		break;
	case SYS_io_uring_enter:
		ring_entered(fd, ret, (unsigned)arguments[3]);
		break;
	default:
		break;
	}
}

/* The same for calls that rules alone have something to say of.  Not every one that there is: of those that set metadata the ones that libc
 * would make.  Where libc's function says no by itself to what the kernel takes, or the other way round, the kernel is asked as before. */
static bool is_ruled(long number, const long *arguments, long *ret)
{
	const char *first = (const char *)arguments[0], *second = (const char *)arguments[1];
	int fd = (int)arguments[0];

	switch (number) {
#ifdef SYS_open
	case SYS_rmdir:
		*ret = rmdir(first);
		return true;
	case SYS_mkdir:
		*ret = mkdir(first, (mode_t)arguments[1]);
		return true;
	case SYS_mknod:
		*ret = mknod(first, (mode_t)arguments[1], (unsigned)arguments[2]); /* 32 bits */
		return true;
	case SYS_symlink:
		*ret = symlink(first, second);
		return true;
	case SYS_chmod:
		*ret = chmod(first, (mode_t)arguments[1]);
		return true;
	case SYS_chown:
		*ret = chown(first, (uid_t)arguments[1], (gid_t)arguments[2]);
		return true;
	case SYS_lchown:
		*ret = lchown(first, (uid_t)arguments[1], (gid_t)arguments[2]);
		return true;
#endif
	case SYS_mkdirat:
		*ret = mkdirat(fd, second, (mode_t)arguments[2]);
		return true;
	case SYS_mknodat:
		*ret = mknodat(fd, second, (mode_t)arguments[2], (unsigned)arguments[3]);
		return true;
	case SYS_symlinkat:
		*ret = symlinkat(first, (int)arguments[1], (const char *)arguments[2]);
		return true;
	case SYS_fchmod:
		*ret = fchmod(fd, (mode_t)arguments[1]);
		return true;
	case SYS_fchmodat: /* that has no flags */
		*ret = fchmodat(fd, second, (mode_t)arguments[2], 0);
		return true;
	case SYS_fchown:
		*ret = fchown(fd, (uid_t)arguments[1], (gid_t)arguments[2]);
		return true;
	case SYS_fchownat:
		*ret = fchownat(fd, second, (uid_t)arguments[2], (gid_t)arguments[3],
				(int)arguments[4]);
		return true;
	case SYS_utimensat:
		if (!second && arguments[3]) /* refused by the kernel */
			return false;
		if (second)
			*ret = utimensat(fd, second, (const struct timespec *)arguments[2],
					 (int)arguments[3]);
		else
			*ret = futimens(fd, (const struct timespec *)arguments[2]);
		return true;
	case SYS_setxattr:
		*ret = setxattr(first, second, (const void *)arguments[2], (size_t)arguments[3],
				(int)arguments[4]);
		return true;
	case SYS_lsetxattr:
		*ret = lsetxattr(first, second, (const void *)arguments[2], (size_t)arguments[3],
				 (int)arguments[4]);
		return true;
	case SYS_fsetxattr:
		*ret = fsetxattr(fd, second, (const void *)arguments[2], (size_t)arguments[3],
				 (int)arguments[4]);
		return true;
	case SYS_removexattr:
		*ret = removexattr(first, second);
		return true;
	case SYS_lremovexattr:
		*ret = lremovexattr(first, second);
		return true;
	case SYS_fremovexattr:
		*ret = fremovexattr(fd, second);
		return true;
	default:
		return false;
	}
}

/* Calls that the guard looks at first and that are made by the functions of their names: libc's pass the same arguments on. */
static bool is_guarded(long number, const long *arguments, long *ret)
{
	const char *first = (const char *)arguments[0], *second = (const char *)arguments[1];
	int fd = (int)arguments[0];

	switch (number) {
#ifdef SYS_open
	case SYS_rename:
		*ret = rename(first, second);
		return true;
	case SYS_unlink:
		*ret = unlink(first);
		return true;
	case SYS_link:
		*ret = link(first, second);
		return true;
#endif
#ifdef SYS_renameat
	case SYS_renameat:
		*ret = renameat(fd, second, (int)arguments[2], (const char *)arguments[3]);
		return true;
#endif
	case SYS_renameat2:
		*ret = renameat2(fd, second, (int)arguments[2], (const char *)arguments[3],
				 (unsigned)arguments[4]);
		return true;
	case SYS_linkat:
		*ret = linkat(fd, second, (int)arguments[2], (const char *)arguments[3],
			      (int)arguments[4]);
		return true;
	case SYS_unlinkat:
		*ret = unlinkat(fd, second, (int)arguments[2]);
		return true;
	case SYS_truncate:
		*ret = truncate(first, arguments[1]);
		return true;
	default:
		return false;
	}
}

/* Opening and writing are left to the kernel: libc's functions can be cancelled (pthreads(7)), this one cannot.
 * creat(2) becomes the open(2) that it stands for, where the guard looks at it.
 * Returns which argument holds the flags of an open that is looked at, with what it opens; -1 for other calls; -2 where the call has to
 * fail. */
static int begin_guarded(long *number, long *arguments, struct plan *plan)
{
	int directory = AT_FDCWD, flags_at = -1;
	const char *path = (const char *)arguments[0];

	switch (*number) {
#ifdef SYS_open
	case SYS_open:
		flags_at = 1;
		break;
	case SYS_creat:
		if (!door_may_open(directory, path, CREATES, plan))
			return -2;
		if (!plan->path)
			return -1;
		*number = SYS_open;
		arguments[2] = arguments[1];
		arguments[1] = CREATES;
		return 1;
#endif
	case SYS_openat:
		directory = (int)arguments[0];
		path = (const char *)arguments[1];
		flags_at = 2;
		break;
	case SYS_openat2: {
		/* The guard does not look at this one. */
		const struct open_how *how = (const struct open_how *)arguments[2];
		bool asks = shim.rules.ops && launch_is_readable(how);
		return asks && door_rules_refuse_open((int)arguments[0], (const char *)arguments[1],
						      (int)how->flags)
			       ? -2
			       : -1;
	}
	case SYS_write:
	case SYS_pwrite64:
		return door_may_write((int)arguments[0], (const void *)arguments[1],
				      (size_t)arguments[2])
			       ? -1
			       : -2;
	case SYS_writev:
		return door_may_write_parts((int)arguments[0], (const struct iovec *)arguments[1],
					    (int)arguments[2])
			       ? -1
			       : -2;
	default:
		return -1;
	}
	return door_may_open(directory, path, (int)arguments[flags_at], plan) ? flags_at : -2;
}

EXPORT long syscall(long number, ...)
{
	long arguments[6], ret;
	va_list list;

	/* As libc's own: six words, whatever the caller passed (psABI: registers, then the stack). */
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);

	if (number == SYS_execve)
		return execve((const char *)arguments[0], (char *const *)arguments[1],
			      (char *const *)arguments[2]);
	if (number == SYS_execveat)
		return execveat((int)arguments[0], (const char *)arguments[1],
				(char *const *)arguments[2], (char *const *)arguments[3],
				(int)arguments[4]);
	struct plan plan = { .path = NULL };
	int flags_at = -1;
	long flags = 0;
	if ((shim.guards && !shim.views) || shim.rules.ops) { /* what a viewer does here is odd */
		if (is_guarded(number, arguments, &ret) ||
		    (shim.rules.ops && is_ruled(number, arguments, &ret)))
			return ret;
		flags_at = begin_guarded(&number, arguments, &plan);
		if (flags_at == -2)
			return -1;
		if (flags_at >= 0) {
			flags = arguments[flags_at];
			arguments[flags_at] = plan_flags(&plan, (int)flags);
		}
	}
	struct closing closing = { .fd = -1 };
	if (shim.on && number == SYS_close) { /* after it, the number may be another thread's */
		if (shim.views)
			view_odd();
		door_closing((int)arguments[0], &closing);
	} else if (number == SYS_close_range && !(arguments[2] & CLOSE_RANGE_CLOEXEC)) {
		door_closing_many((unsigned)arguments[0], (unsigned)arguments[1]);
	}
	ret = REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3],
			    arguments[4], arguments[5]);
	if (flags_at >= 0) {
		arguments[flags_at] = flags;
		ret = plan_emptied(&plan, (int)ret);
		plan_opened(&plan, (int)ret, (int)flags, false);
	}
	if (shim.on && !was_named(number, arguments, ret) && ret >= 0)
		was_called(number, arguments, ret);
	return closing.fd >= 0 && writes_closed(&closing) < 0 ? -1 : ret;
}
