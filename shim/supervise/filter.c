/* The filter: see filter.h. */
#include "shim/supervise/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "shim/supervise/compat.h"
#include "tracker/sys/sys.h"

enum { X32_BIT = 0x40000000 }; /* x32 calls have the architecture of x86-64 (linux/unistd.h) */

/* How a call is told to be worth a trap. */
enum trap {
	TRAP_ALWAYS,
	TRAP_FLAGS_SECOND, /* by the flags of open(2), in the second argument */
	TRAP_FLAGS_THIRD,
	TRAP_DENY, /* answered ENOSYS */
};

static const struct {
	uint32_t number;
	enum trap trap;
} CALLS[] = {
	{ SYS_openat, TRAP_FLAGS_THIRD },
	{ SYS_openat2, TRAP_ALWAYS },
	{ SYS_execve, TRAP_ALWAYS },
	{ SYS_execveat, TRAP_ALWAYS },
	{ SYS_exit_group, TRAP_ALWAYS },
	{ SYS_renameat2, TRAP_ALWAYS },
	{ SYS_renameat, TRAP_ALWAYS },
	{ SYS_unlinkat, TRAP_ALWAYS },
	{ SYS_linkat, TRAP_ALWAYS },
	{ SYS_symlinkat, TRAP_ALWAYS },
	{ SYS_mkdirat, TRAP_ALWAYS },
	{ SYS_mknodat, TRAP_ALWAYS },
	{ SYS_truncate, TRAP_ALWAYS },
	{ SYS_chdir, TRAP_ALWAYS },
	{ SYS_fchdir, TRAP_ALWAYS },
	{ SYS_io_uring_setup, TRAP_DENY },
#ifdef SYS_open
	{ SYS_open, TRAP_FLAGS_SECOND },
	{ SYS_creat, TRAP_ALWAYS },
	{ SYS_rename, TRAP_ALWAYS },
	{ SYS_unlink, TRAP_ALWAYS },
	{ SYS_rmdir, TRAP_ALWAYS },
	{ SYS_link, TRAP_ALWAYS },
	{ SYS_symlink, TRAP_ALWAYS },
	{ SYS_mkdir, TRAP_ALWAYS },
	{ SYS_mknod, TRAP_ALWAYS },
#endif
	{ SYS_landlock_restrict_self, TRAP_ALWAYS },
	{ SYS_chroot, TRAP_ALWAYS },
	{ SYS_pivot_root, TRAP_ALWAYS },
};

enum {
	CALLS_COUNT = sizeof(CALLS) / sizeof(CALLS[0]),
	/* of each part of the program, in instructions */
	HEAD = 4,
	FLAGS = 5,
	TAIL = 8,
	PROGRAM_MAX = HEAD + CALLS_COUNT + 1 + 2 * FLAGS + TAIL,
};
_Static_assert(PROGRAM_MAX < 255, "a jump reaches 255 instructions");

#define LOW(argument) \
	(offsetof(struct seccomp_data, args) + 8 * (argument)) /* both machines are little-endian */
#define HIGH(argument) (LOW(argument) + 4)

/* yes, no: how many instructions a condition jumps over.  k of BPF_JA says the same. */
static void put(struct sock_filter *program, unsigned *at, uint16_t code, uint32_t k, unsigned yes,
		unsigned no)
{
	program[(*at)++] = (struct sock_filter){
		.code = code, .jt = (uint8_t)yes, .jf = (uint8_t)no, .k = k
	};
}

/* Loads the flags of an open; goes on to `trap` unless it only looks: O_PATH, or a folder to be listed. */
static void put_flags(struct sock_filter *program, unsigned *at, unsigned argument, unsigned trap,
		      unsigned pass)
{
	put(program, at, BPF_LD | BPF_W | BPF_ABS, LOW(argument), 0, 0);
	put(program, at, BPF_JMP | BPF_JSET | BPF_K, O_PATH, pass - (*at + 1), 0);
	put(program, at, BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 1, 0);
	put(program, at, BPF_JMP | BPF_JSET | BPF_K, O_DIRECTORY, pass - (*at + 1), 0);
	put(program, at, BPF_JMP | BPF_JA, trap - (*at + 1), 0, 0);
}

/* The program, whose parts lie at known places:
 *
 *	head     another architecture, x32: pass
 *	calls    by number, to one of the parts below; else pass
 *	second   flags of open(2) in the second argument
 *	third    ... in the third
 *	trap     the mark: pass, else notify
 *	deny, pass
 */
static unsigned build(struct sock_filter *program, uint64_t mark)
{
	const unsigned calls = HEAD, second = calls + CALLS_COUNT + 1, third = second + FLAGS,
		       trap = third + FLAGS, deny = trap + TAIL - 2, pass = trap + TAIL - 1;
	unsigned at = 0;

	put(program, &at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	put(program, &at, BPF_JMP | BPF_JEQ | BPF_K, COMPAT_AUDIT_ARCH, 0, pass - (at + 1));
	put(program, &at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	put(program, &at, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, pass - (at + 1), 0);
	for (unsigned i = 0; i < CALLS_COUNT; i++) {
		const unsigned to = CALLS[i].trap == TRAP_ALWAYS         ? trap
				    : CALLS[i].trap == TRAP_FLAGS_SECOND ? second
				    : CALLS[i].trap == TRAP_FLAGS_THIRD  ? third
									 : deny;
		put(program, &at, BPF_JMP | BPF_JEQ | BPF_K, CALLS[i].number, to - (at + 1), 0);
	}
	put(program, &at, BPF_JMP | BPF_JA, pass - (at + 1), 0, 0);
	put_flags(program, &at, 1, trap, pass);
	put_flags(program, &at, 2, trap, pass);
	/* The mark in the sixth argument, both halves.  With 1 added it is another number: notified. */
	put(program, &at, BPF_LD | BPF_W | BPF_ABS, HIGH(5), 0, 0);
	put(program, &at, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(mark >> 32), 0, 3);
	put(program, &at, BPF_LD | BPF_W | BPF_ABS, LOW(5), 0, 0);
	put(program, &at, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)mark, 0, 1);
	put(program, &at, BPF_RET | BPF_K, mark ? SECCOMP_RET_ALLOW : SECCOMP_RET_USER_NOTIF, 0, 0);
	put(program, &at, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
	put(program, &at, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
	put(program, &at, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	return at;
}

int filter_install(uint64_t mark, bool *ret_no_new_privs)
{
	struct sock_filter program[PROGRAM_MAX];
	struct sock_fprog filter = { .len = (unsigned short)build(program, mark),
				     .filter = program };
	const unsigned long FLAGS_BY_AGE[] = {
		SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		SECCOMP_FILTER_FLAG_NEW_LISTENER,
	};
	long listener = -EINVAL;

	/* Who may administrate needs no promise, and setuid programs go on to work. */
	for (int promised = 0; promised < 2; promised++) {
		if (promised && sys_call6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) < 0)
			return -EINVAL;
		for (int i = 0; i < 2; i++) {
			listener = sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					     (long)FLAGS_BY_AGE[i], (long)&filter);
			if (listener != -EINVAL)
				break;
		}
		if (listener != -EACCES)
			break;
	}
	*ret_no_new_privs = sys_call6(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1;
	return (int)listener;
}
