/* shim/start/filter.h: which calls are trapped.  The test answers itself: what is trapped fails with EDOM, which no call does by
 * itself.  And supervise_supported(). */
#include <criterion/criterion.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "shim/call/operation.h"
#include "shim/start/compat.h"
#include "shim/start/filter.h"
#include "shim/supervise/supervisor.h"
#include "support.h"
#include "tracker/sys/sys.h"

#define MARK UINT64_C(0x4123456789abcde2)

enum { CALLS_MAX = 96, WAIT_MS = 20000 };

/* Shared with the child that makes the calls. */
static struct board {
	int listener; /* its number in the child */
	bool is_strict;
	unsigned count;
	struct {
		long number, args[6];
		long result;
	} calls[CALLS_MAX];
	char bytes[4096];
} * board;

static void start(void)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	must(board != MAP_FAILED);
}

TestSuite(supervise_filter, .init = start);

/* Notes a call; returns where its result will be. */
static unsigned add(long number, long a, long b, long c, long d, long e, uint64_t f)
{
	unsigned at = board->count++;

	must(at < CALLS_MAX);
	board->calls[at].number = number;
	const long args[] = { a, b, c, d, e, (long)f };
	memcpy(board->calls[at].args, args, sizeof(args));
	return at;
}

static long result(unsigned at)
{
	return board->calls[at].result;
}

/* exit_group is trapped, exit is not. */
_Noreturn static void leave(int status)
{
	for (;;)
		(void)sys_call3(SYS_exit, status, 0, 0);
}

static void make_calls(void)
{
	for (unsigned i = 0; i < board->count; i++) {
		const long *args = board->calls[i].args;
		board->calls[i].result = sys_call6(board->calls[i].number, args[0], args[1],
						   args[2], args[3], args[4], args[5]);
	}
}

/* Answers as long as the child lives; returns how many calls were trapped. */
static unsigned answer_all(pid_t child, int listener)
{
	int ended = (int)syscall(SYS_pidfd_open, child, 0);
	unsigned count = 0;

	must(ended >= 0);
	for (;;) {
		struct pollfd wait[] = { { listener, POLLIN, 0 }, { ended, POLLIN, 0 } };
		must(poll(wait, 2, WAIT_MS) > 0);
		if (!(wait[0].revents & POLLIN))
			break;
		struct seccomp_notif call = { 0 };
		must(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0);
		struct seccomp_notif_resp response = { .id = call.id, .error = -EDOM };
		must(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0);
		count++;
	}
	(void)close(ended);
	return count;
}

/* Runs a function in a child below the filter; returns how many calls of it were trapped. */
static unsigned below_filter(uint64_t mark, void (*function)(void))
{
	int status, ready[2], go[2];
	char byte;

	must(pipe(ready) == 0 && pipe(go) == 0);
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		bool promised;
		board->listener = filter_install(mark, board->is_strict, &promised);
		(void)sys_write(ready[1], "", 1);
		(void)sys_read(go[0], &byte, 1);
		if (board->listener >= 0)
			function();
		leave(board->listener < 0);
	}
	must(read(ready[0], &byte, 1) == 1);
	cr_assert_geq(board->listener, 0, "%s", strerror(-board->listener));
	int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
	int listener = (int)syscall(SYS_pidfd_getfd, descriptor, board->listener, 0);
	must(listener >= 0 && write(go[1], "", 1) == 1);
	unsigned count = answer_all(child, listener);
	must(waitpid(child, &status, 0) == child);
	cr_assert_eq(status, 0);
	(void)close(listener);
	(void)close(descriptor);
	(void)close(ready[0]);
	(void)close(ready[1]);
	(void)close(go[0]);
	(void)close(go[1]);
	return count;
}

static const long NOWHERE = AT_FDCWD;

#define EXPECT_TRAPPED(at) cr_expect_eq(result(at), -EDOM, "call %ld", board->calls[at].number)
#define EXPECT_PASSED(at) \
	cr_expect_neq(result(at), -EDOM, "call %ld, %#lx", board->calls[at].number, \
		      board->calls[at].args[2])

Test(supervise_filter, never_trapped)
{
	long null = (long)"/dev/null", root = (long)"/";
	long buffer = (long)board->bytes;

	add(SYS_read, -1, buffer, 1, 0, 0, 0);
	add(SYS_write, -1, buffer, 1, 0, 0, 0);
	add(SYS_pread64, -1, buffer, 1, 0, 0, 0);
	add(SYS_pwrite64, -1, buffer, 1, 0, 0, 0);
	add(SYS_close, 900, 0, 0, 0, 0, 0);
	add(SYS_fstat, 1, buffer, 0, 0, 0, 0);
	add(SYS_newfstatat, NOWHERE, null, buffer, 0, 0, 0);
	add(SYS_statx, NOWHERE, null, 0, 0, buffer, 0);
	add(SYS_lseek, 1, 0, SEEK_CUR, 0, 0, 0);
	add(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	add(SYS_getdents64, -1, buffer, 512, 0, 0, 0);
	add(SYS_readlinkat, NOWHERE, root, buffer, 16, 0, 0);
	add(SYS_faccessat, NOWHERE, root, 0, 0, 0, 0);
	add(SYS_getcwd, buffer, 64, 0, 0, 0, 0);
	add(SYS_dup, -1, 0, 0, 0, 0, 0);
	add(SYS_getpid, 0, 0, 0, 0, 0, 0);
#ifdef SYS_open
	add(SYS_stat, null, buffer, 0, 0, 0, 0);
	add(SYS_lstat, null, buffer, 0, 0, 0, 0);
	add(SYS_access, root, 0, 0, 0, 0, 0);
	add(SYS_open, root, O_PATH, 0, 0, 0, 0);
	add(SYS_open, root, O_RDONLY | O_DIRECTORY, 0, 0, 0, 0);
#endif
	add(SYS_openat, NOWHERE, null, O_PATH, 0, 0, 0);
	add(SYS_openat, NOWHERE, null, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, 0, 0);
	add(SYS_openat, NOWHERE, root, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
	/* The kernel reads only the lower half of the flags. */
	add(SYS_openat, NOWHERE, null, (long)(UINT64_C(1) << 40 | O_PATH), 0, 0, 0);
	cr_expect_eq(below_filter(MARK, make_calls), 0);
	for (unsigned i = 0; i < board->count; i++)
		EXPECT_PASSED(i);
}

static void add_metadata(uint64_t sixth)
{
	long none = (long)"/nonexistent/a", name = (long)"user.x";

	add(SYS_fallocate, -1, 0, 0, 1, 0, sixth);
	add(SYS_ftruncate, -1, 0, 0, 0, 0, sixth);
	add(SYS_fchmod, -1, 0600, 0, 0, 0, sixth);
	add(SYS_fchmodat, NOWHERE, none, 0600, 0, 0, sixth);
	add(SYS_fchmodat2, NOWHERE, none, 0600, 0, 0, sixth);
	add(SYS_fchown, -1, 0, 0, 0, 0, sixth);
	add(SYS_fchownat, NOWHERE, none, 0, 0, 0, sixth);
	add(SYS_utimensat, NOWHERE, none, 0, 0, 0, sixth);
	add(SYS_setxattr, none, name, none, 1, 0, sixth);
	add(SYS_lsetxattr, none, name, none, 1, 0, sixth);
	add(SYS_fsetxattr, -1, name, none, 1, 0, sixth);
	add(SYS_removexattr, none, name, 0, 0, 0, sixth);
	add(SYS_lremovexattr, none, name, 0, 0, 0, sixth);
	add(SYS_fremovexattr, -1, name, 0, 0, 0, sixth);
#ifdef SYS_open
	add(SYS_utime, none, 0, 0, 0, 0, sixth);
	add(SYS_utimes, none, 0, 0, 0, 0, sixth);
	add(SYS_futimesat, NOWHERE, none, 0, 0, 0, sixth);
	add(SYS_chmod, none, 0600, 0, 0, 0, sixth);
	add(SYS_chown, none, 0, 0, 0, 0, sixth);
	add(SYS_lchown, none, 0, 0, 0, 0, sixth);
#endif
}

static void add_all_trapped(uint64_t sixth)
{
	long none = (long)"/nonexistent/a", other = (long)"/nonexistent/b";

	add(SYS_openat, NOWHERE, none, O_RDONLY, 0, 0, sixth);
	add(SYS_openat, NOWHERE, none, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0, 0, sixth);
	add(SYS_openat, NOWHERE, none, O_WRONLY, 0, 0, sixth);
	add(SYS_openat, NOWHERE, none, O_RDWR | O_CREAT | O_EXCL, 0600, 0, sixth);
	add(SYS_openat, NOWHERE, none, O_RDONLY | O_TRUNC, 0, 0, sixth);
	add(SYS_openat, NOWHERE, none, O_RDWR | O_TMPFILE, 0600, 0, sixth);
	add(SYS_openat, NOWHERE, none, (long)(UINT64_C(1) << 40), 0, 0, sixth);
	add(SYS_openat2, NOWHERE, none, 0, 0, 0, sixth);
	add(SYS_execve, none, 0, 0, 0, 0, sixth);
	add(SYS_execveat, NOWHERE, none, 0, 0, 0, sixth);
	add(SYS_renameat2, NOWHERE, none, NOWHERE, other, 0, sixth);
	add(SYS_unlinkat, NOWHERE, none, 0, 0, 0, sixth);
	add(SYS_linkat, NOWHERE, none, NOWHERE, other, 0, sixth);
	add(SYS_symlinkat, none, NOWHERE, other, 0, 0, sixth);
	add(SYS_mkdirat, NOWHERE, none, 0700, 0, 0, sixth);
	add(SYS_mknodat, NOWHERE, none, S_IFIFO | 0600, 0, 0, sixth);
	add(SYS_truncate, none, 0, 0, 0, 0, sixth);
	add(SYS_chdir, none, 0, 0, 0, 0, sixth);
	add(SYS_fchdir, -1, 0, 0, 0, 0, sixth);
	add(SYS_exit_group, 0, 0, 0, 0, 0, sixth);
	add(SYS_landlock_restrict_self, -1, 0, 0, 0, 0, sixth);
	add(SYS_chroot, none, 0, 0, 0, 0, sixth);
	add(SYS_pivot_root, none, other, 0, 0, 0, sixth);
#ifdef SYS_renameat
	add(SYS_renameat, NOWHERE, none, NOWHERE, other, 0, sixth);
#endif
#ifdef SYS_open
	add(SYS_open, none, O_RDONLY, 0, 0, 0, sixth);
	add(SYS_open, none, O_WRONLY, 0, 0, 0, sixth);
	add(SYS_open, none, O_RDONLY | O_TRUNC, 0, 0, 0, sixth);
	add(SYS_creat, none, 0600, 0, 0, 0, sixth);
	add(SYS_rename, none, other, 0, 0, 0, sixth);
	add(SYS_unlink, none, 0, 0, 0, 0, sixth);
	add(SYS_rmdir, none, 0, 0, 0, 0, sixth);
	add(SYS_link, none, other, 0, 0, 0, sixth);
	add(SYS_symlink, none, other, 0, 0, 0, sixth);
	add(SYS_mkdir, none, 0700, 0, 0, 0, sixth);
	add(SYS_mknod, none, S_IFIFO | 0600, 0, 0, 0, sixth);
#endif
	add_metadata(sixth);
}

/* Each call of the table that is to be trapped is among them. */
Test(supervise_filter, trapped_are_all_of_the_table)
{
	unsigned trapped = 0;

	add_all_trapped(0);
	for (const struct system_call *call = SYSTEM_CALLS; call < SYSTEM_CALLS + SYSTEM_CALL_COUNT;
	     call++) {
		bool is_tried = false;
		for (unsigned at = 0; at < board->count; at++)
			is_tried = is_tried || board->calls[at].number == call->number;
		bool is_trapped = call->trap == TRAP_ALWAYS || call->trap == TRAP_BY_FLAGS;
		cr_expect_eq(is_tried, is_trapped, "call %u", call->number);
		trapped += is_trapped;
		cr_expect_eq(system_call_find(call->number), call);
	}
	cr_expect_gt(trapped, 15);
	cr_expect_null(system_call_find(SYS_getpid));
	cr_expect_null(system_call_find(-1));
}

/* Without the mark, and with what is nearly it. */
Test(supervise_filter, trapped)
{
	static const uint64_t SIXTH[] = { 0,
					  MARK + 1,
					  MARK - 1,
					  (uint32_t)MARK,
					  MARK & ~UINT64_C(0xffffffff),
					  MARK ^ (UINT64_C(1) << 63),
					  UINT64_MAX };

	for (size_t i = 0; i < sizeof(SIXTH) / sizeof(SIXTH[0]); i++) {
		board->count = 0;
		add_all_trapped(SIXTH[i]);
		cr_expect_eq(below_filter(MARK, make_calls), board->count, "%#lx", SIXTH[i]);
		for (unsigned call = 0; call < board->count; call++)
			EXPECT_TRAPPED(call);
	}
}

Test(supervise_filter, without_a_mark)
{
	add_all_trapped(0);
	cr_expect_eq(below_filter(0, make_calls), board->count);
	for (unsigned call = 0; call < board->count; call++)
		EXPECT_TRAPPED(call);
}

Test(supervise_filter, marked)
{
	add_all_trapped(MARK);
	/* All but this one come back. */
	for (unsigned call = 0; call < board->count; call++)
		if (board->calls[call].number == SYS_exit_group)
			board->calls[call].number = SYS_getpid;
	cr_expect_eq(below_filter(MARK, make_calls), 0);
	for (unsigned call = 0; call < board->count; call++)
		EXPECT_PASSED(call);
	cr_expect_eq(result(0), -ENOENT);
}

Test(supervise_filter, io_uring)
{
	unsigned plain = add(SYS_io_uring_setup, 4, (long)board->bytes, 0, 0, 0, 0);
	unsigned marked = add(SYS_io_uring_setup, 4, (long)board->bytes, 0, 0, 0, MARK);

	cr_expect_eq(below_filter(MARK, make_calls), 0);
	cr_expect_eq(result(plain), -ENOSYS);
	cr_expect_eq(result(marked), -ENOSYS);
}

#if defined(__x86_64__)
static long call_i386(long number, long a, long b, long c)
{
	long ret;
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

static void make_i386_calls(void)
{
	enum { I386_OPEN = 5, I386_UNLINK = 10, I386_EXECVE = 11, I386_IO_URING_SETUP = 425 };
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	strcpy(low, "/nonexistent/a");
	board->calls[0].result = call_i386(I386_OPEN, (long)low, O_WRONLY, 0);
	board->calls[1].result = call_i386(I386_UNLINK, (long)low, 0, 0);
	board->calls[2].result = call_i386(I386_EXECVE, (long)low, 0, 0);
	board->calls[3].result = call_i386(I386_IO_URING_SETUP, 4, 0, 0);
}

static int try_i386(void *data)
{
	(void)data;
	make_i386_calls();
	return board->calls[0].result != -ENOENT;
}

Test(supervise_filter, i386_passes)
{
	if (in_child(try_i386, NULL) != 0)
		cr_skip_test("no calls of i386 in this kernel");
	long bare = board->calls[3].result;
	memset(board->calls, 0, sizeof(board->calls));
	cr_expect_eq(below_filter(MARK, make_i386_calls), 0);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(board->calls[i].result, -ENOENT, "%d", i);
	cr_expect_eq(board->calls[3].result, bare);
}

Test(supervise_filter, x32_passes)
{
	enum { X32 = 0x40000000 };
	long none = (long)"/nonexistent/a";

	add(SYS_open | X32, none, O_WRONLY, 0, 0, 0, 0);
	add(SYS_openat | X32, NOWHERE, none, O_WRONLY, 0, 0, 0);
	add(SYS_unlink | X32, none, 0, 0, 0, 0, 0);
	add(SYS_io_uring_setup | X32, 4, 0, 0, 0, 0, 0);
	add(-1, 0, 0, 0, 0, 0, 0);
	add(0x7fffffff, 0, 0, 0, 0, 0, 0);
	cr_expect_eq(below_filter(MARK, make_calls), 0);
	for (unsigned i = 0; i < board->count; i++)
		EXPECT_PASSED(i);
}
#endif

static void read_promise(void)
{
	board->calls[0].result = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

/* Who may administrate makes no promise. */
Test(supervise_filter, no_new_privs)
{
	struct {
		uint32_t version;
		int pid;
	} header = { 0x20080522, 0 };
	struct {
		uint32_t effective, permitted, inheritable;
	} capabilities[2];
	enum { SYS_ADMIN = 21 };

	must(syscall(SYS_capget, &header, capabilities) == 0);
	below_filter(0, read_promise);
	cr_expect_eq(board->calls[0].result, !(capabilities[0].effective >> SYS_ADMIN & 1));
	if (geteuid() != 0)
		return;
	must(setresuid(65534, 65534, 65534) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
	below_filter(0, read_promise);
	cr_expect_eq(board->calls[0].result, 1);
}

/* ---- supervise_supported() ---- */

Test(supervise_filter, supported)
{
	cr_expect_eq(supervise_supported(), 0);
	cr_expect_eq(supervise_supported(), 0);
	cr_expect_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0); /* it was tried elsewhere */
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
}

static void ask_whether_supported(void)
{
	board->calls[0].result = supervise_supported();
}

Test(supervise_filter, supported_below_another)
{
	below_filter(0, ask_whether_supported);
	cr_expect_eq(board->calls[0].result, -EBUSY);
}

/* In a child where seccomp(2) ends as said. */
static long supported_below_policy(uint32_t policy)
{
	struct sock_filter program[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_seccomp },
		{ BPF_RET | BPF_K, 0, 0, policy },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	struct sock_fprog filter = { 4, program };
	int status;

	board->calls[0].result = 1;
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
		ask_whether_supported();
		leave(0);
	}
	must(waitpid(child, &status, 0) == child);
	cr_expect_eq(status, 0, "%#x", (unsigned)status);
	return board->calls[0].result;
}

Test(supervise_filter, supported_below_policy)
{
	cr_expect_eq(supported_below_policy(SECCOMP_RET_ERRNO | EPERM), -EPERM);
	cr_expect_eq(supported_below_policy(SECCOMP_RET_ERRNO | EACCES), -EACCES);
	cr_expect_eq(supported_below_policy(SECCOMP_RET_ERRNO | ENOSYS), -ENOSYS);
	cr_expect_eq(supported_below_policy(SECCOMP_RET_KILL_PROCESS), -EPERM);
	cr_expect_eq(supported_below_policy(SECCOMP_RET_TRAP), -EPERM);
}

/* open_by_handle_at names no file, and the calls of another architecture have other numbers. */
static void call_past(void)
{
	board->calls[0].result = sys_call3(SYS_open_by_handle_at, -1, 0, 0);
#if defined(__x86_64__)
	long got;
	__asm__ volatile("int $0x80" : "=a"(got) : "0"(20L) : "memory", "r8", "r9", "r10", "r11");
	board->calls[1].result = got;
	board->calls[2].result = sys_call3(0x40000000 | SYS_getpid, 0, 0, 0);
#endif
}

Test(supervise_filter, strict)
{
	board->is_strict = true;
	cr_expect_eq(below_filter(MARK, call_past), 0);
	cr_expect_eq(result(0), -ENOSYS);
#if defined(__x86_64__)
	cr_expect_eq(result(1), -ENOSYS);
	cr_expect_eq(result(2), -ENOSYS);
#endif
	/* The rest is as it was. */
	add_all_trapped(0);
	cr_expect_eq(below_filter(MARK, make_calls), board->count);
}

Test(supervise_filter, not_strict)
{
	cr_expect_eq(below_filter(MARK, call_past), 0);
	cr_expect_neq(result(0), -ENOSYS);
#if defined(__x86_64__)
	cr_expect_gt(result(1), 0);
#endif
}
