/*
 * syscall(2): programs that call the kernel by number through libc (Node: statx, copy_file_range) open, read, name and
 * start things too.  The real call first; then what it means, as in the function of that name.
 */
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "shim/preload/door.h"
#include "shim/preload/real.h"

/* What a call that succeeded meant. */
static void was_called(long number, const long *arguments, long ret)
{
	const char *first = (const char *)arguments[0], *second = (const char *)arguments[1];
	int fd = (int)arguments[0];

	switch (number) {
#ifdef SYS_open
	case SYS_open:
		door_opened((int)ret, AT_FDCWD, first, (int)arguments[1]);
		break;
	case SYS_creat:
		door_opened((int)ret, AT_FDCWD, first, O_WRONLY | O_CREAT | O_TRUNC);
		break;
	case SYS_rename:
		door_changed(AT_FDCWD, first);
		door_changed(AT_FDCWD, second);
		break;
	case SYS_unlink:
	case SYS_rmdir:
	case SYS_mkdir:
	case SYS_mknod:
		door_changed(AT_FDCWD, first);
		break;
	case SYS_link:
	case SYS_symlink:
		door_changed(AT_FDCWD, second);
		break;
	case SYS_dup2:
#endif
	case SYS_dup:
	case SYS_dup3:
		if (shim.views)
			view_odd();
		else if (shim.reads_own && number != SYS_dup)
			own_closing((int)arguments[1]);
		break;
	case SYS_openat:
		door_opened((int)ret, fd, second, (int)arguments[2]);
		break;
	case SYS_openat2:
		door_opened((int)ret, fd, second,
			    (int)((const struct open_how *)arguments[2])->flags);
		break;
	case SYS_open_by_handle_at:
		door_opened((int)ret, AT_FDCWD, NULL, (int)arguments[2]);
		break;
	case SYS_renameat:
	case SYS_renameat2:
		door_changed(fd, second);
		door_changed((int)arguments[2], (const char *)arguments[3]);
		break;
	case SYS_unlinkat:
	case SYS_mkdirat:
	case SYS_mknodat:
		door_changed(fd, second);
		break;
	case SYS_linkat:
		door_changed((int)arguments[2], (const char *)arguments[3]);
		break;
	case SYS_symlinkat:
		door_changed((int)arguments[1], (const char *)arguments[2]);
		break;
	case SYS_truncate:
		door_changed(AT_FDCWD, first);
		break;
	case SYS_chdir:
		if (shim.on)
			change_directory(first);
		break;
	case SYS_fchdir:
		if (shim.on)
			change_directory(NULL);
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
		break;
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_copy_file_range:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_mmap:
	case SYS_ftruncate:
	case SYS_fallocate:
		if (shim.views)
			view_odd();
		break;
	case SYS_close:
		if (shim.views)
			view_odd();
		else if (shim.reads_own)
			own_closing(fd);
		break;
	case SYS_close_range:
		door_closing_many((unsigned)arguments[0], (unsigned)arguments[1]);
		break;
	case SYS_seccomp:
		if (arguments[0] == SECCOMP_SET_MODE_STRICT ||
		    arguments[0] == SECCOMP_SET_MODE_FILTER)
			door_sandboxed();
		break;
	case SYS_prctl:
		if (arguments[0] == PR_SET_SECCOMP)
			door_sandboxed();
		break;
	case SYS_io_uring_setup:
		partial_note();
		break;
	default:
		break;
	}
}

EXPORT long syscall(long number, ...)
{
	long arguments[6];
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
	long ret = REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3],
				 arguments[4], arguments[5]);
	if (shim.on && ret >= 0)
		was_called(number, arguments, ret);
	return ret;
}
