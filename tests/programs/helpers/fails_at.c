/*
 * fails_at NUMBER kill|full|read-only COUNT COMMAND...
 *
 * Runs a command, and counts its system calls that change a file or directory.  kill: it is killed before the NUMBER-th of them.  full: from
 * the NUMBER-th on, each that needs room fails with ENOSPC.  read-only: each fails with EROFS, and so does each open for writing.  0: none
 * of these.  Writes the number of calls to the file COUNT.
 *
 * The exit status is the command's; 137 when it was killed.
 */
#include "traced.h"

#include <elf.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

static uint64_t reserved_1; /* the descriptor for which there is room, and 1 */

static bool needs_room(const struct __ptrace_syscall_info *call)
{
	switch (call->entry.nr) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_pwritev:
		/* its own messages get through */
		return call->entry.args[0] > 2 && call->entry.args[0] + 1 != reserved_1;
	case SYS_openat:
		return call->entry.args[2] & O_CREAT;
	case SYS_mkdirat:
	case SYS_symlinkat:
	case SYS_linkat:
	case SYS_mknodat:
	case SYS_fsync:
	case SYS_copy_file_range:
	case SYS_fallocate:
		return true;
	default:
		return false;
	}
}

static bool changes(const struct __ptrace_syscall_info *call)
{
	switch (call->entry.nr) {
	case SYS_unlinkat:
	case SYS_renameat2:
#ifdef SYS_renameat
	case SYS_renameat:
#endif
	case SYS_fchmod:
	case SYS_fchmodat:
	case SYS_fchown:
	case SYS_fchownat:
	case SYS_utimensat:
	case SYS_ftruncate:
#ifdef SYS_chmod
	case SYS_chmod:
	case SYS_unlink:
	case SYS_mkdir:
	case SYS_rename:
	case SYS_rmdir:
#endif
		return true;
	default:
		return needs_room(call);
	}
}

static bool opens_for_writing(const struct __ptrace_syscall_info *call)
{
	return call->entry.nr == SYS_openat && (call->entry.args[2] & O_ACCMODE) != O_RDONLY;
}

/* The call that the process is about to make becomes none, and fails so. */
static void refuse(pid_t process, int error)
{
	struct user_regs_struct registers;
	struct iovec whole = { &registers, sizeof(registers) };
	int status;

	CHECK(ptrace(PTRACE_GETREGSET, process, NT_PRSTATUS, &whole) == 0);
#ifdef __x86_64__
	registers.orig_rax = (unsigned long)-1;
	CHECK(ptrace(PTRACE_SETREGSET, process, NT_PRSTATUS, &whole) == 0);
#else
	int none = -1;
	struct iovec number = { &none, sizeof(none) };
	CHECK(ptrace(PTRACE_SETREGSET, process, NT_ARM_SYSTEM_CALL, &number) == 0);
#endif
	CHECK(ptrace(PTRACE_SYSCALL, process, 0, 0) == 0);
	CHECK(waitpid(process, &status, __WALL) == process && WIFSTOPPED(status));
	CHECK(ptrace(PTRACE_GETREGSET, process, NT_PRSTATUS, &whole) == 0);
#ifdef __x86_64__
	registers.rax = (unsigned long)-error;
#else
	registers.regs[0] = (unsigned long)-error;
#endif
	CHECK(ptrace(PTRACE_SETREGSET, process, NT_PRSTATUS, &whole) == 0);
}

int main(int argc, char **argv)
{
	struct __ptrace_syscall_info call;
	long number, count = 0;

	CHECK(argc > 4);
	number = strtol(argv[1], NULL, 10);
	bool kills = strcmp(argv[2], "kill") == 0;
	bool is_read_only = strcmp(argv[2], "read-only") == 0;
	struct traced traced = traced_start(argv + 4);
	while (traced_next(&traced, &call)) {
		bool is_over = number && count >= number;
		if (!changes(&call)) {
			if (is_read_only && is_over && opens_for_writing(&call))
				refuse(traced.process, EROFS);
			continue;
		}
		is_over = ++count >= number && number;
		if (kills && count == number)
			(void)kill(traced.process, SIGKILL);
		else if (is_read_only && is_over)
			refuse(traced.process, EROFS);
		else if (!kills && is_over && needs_room(&call))
			refuse(traced.process, ENOSPC);
		else if (call.entry.nr == SYS_fallocate)
			reserved_1 = call.entry.args[0] + 1;
	}
	/* one that is killed has its locks until it is gone */
	while (!WIFEXITED(traced.status) && !WIFSIGNALED(traced.status) &&
	       waitpid(traced.process, &traced.status, __WALL) == traced.process)
		;
	FILE *file = fopen(argv[3], "w");
	CHECK(file);
	(void)fprintf(file, "%ld\n", count);
	CHECK(fclose(file) == 0);
	return traced_exit_status(&traced);
}
