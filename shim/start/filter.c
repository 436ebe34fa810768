/* The filter: see filter.h. */
#include "shim/start/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "shim/call/operation.h"
#include "shim/start/compat.h"
#include "tracker/sys/sys.h"

enum { X32_BIT = 0x40000000 }; /* x32 calls have the architecture of x86-64 (linux/unistd.h) */

enum {
	CALLS_MAX = SYSTEM_CALL_COUNT, /* more than are trapped */
	/* of each part of the program, in instructions */
	HEAD = 4,
	FLAGS = 5,
	TAIL = 8,
	PROGRAM_MAX = HEAD + CALLS_MAX + 1 + 2 * FLAGS + TAIL,
};
_Static_assert(PROGRAM_MAX < 255, "a jump reaches 255 instructions");

#define LOW(argument) \
	(offsetof(struct seccomp_data, args) + 8 * (argument)) /* both machines are little-endian */
#define HIGH(argument) (LOW(argument) + 4)

/* yes, no: how many instructions a condition jumps over.  k of BPF_JA says the same. */
static void emit(struct sock_filter *program, unsigned *at, uint16_t code, uint32_t k, unsigned yes,
		 unsigned no)
{
	program[(*at)++] = (struct sock_filter){
		.code = code, .jt = (uint8_t)yes, .jf = (uint8_t)no, .k = k
	};
}

/* Loads the flags of an open; goes on to `trap` unless it only inspects: O_PATH, or a directory to
 * be listed. */
static void emit_flags(struct sock_filter *program, unsigned *at, unsigned argument, unsigned trap,
		       unsigned pass)
{
	emit(program, at, BPF_LD | BPF_W | BPF_ABS, LOW(argument), 0, 0);
	emit(program, at, BPF_JMP | BPF_JSET | BPF_K, O_PATH, pass - (*at + 1), 0);
	emit(program, at, BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 1, 0);
	emit(program, at, BPF_JMP | BPF_JSET | BPF_K, O_DIRECTORY, pass - (*at + 1), 0);
	emit(program, at, BPF_JMP | BPF_JA, trap - (*at + 1), 0, 0);
}

static unsigned count_trapped(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SYSTEM_CALL_COUNT; i++)
		count += SYSTEM_CALLS[i].trap != TRAP_NEVER;
	return count;
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
	const unsigned calls = HEAD, second = calls + count_trapped() + 1, third = second + FLAGS,
		       trap = third + FLAGS, deny = trap + TAIL - 2, pass = trap + TAIL - 1;
	unsigned at = 0;

	emit(program, &at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(program, &at, BPF_JMP | BPF_JEQ | BPF_K, COMPAT_AUDIT_ARCH, 0, pass - (at + 1));
	emit(program, &at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit(program, &at, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, pass - (at + 1), 0);
	for (const struct system_call *call = SYSTEM_CALLS; call < SYSTEM_CALLS + SYSTEM_CALL_COUNT;
	     call++) {
		const unsigned to = call->trap == TRAP_ALWAYS ? trap
				    : call->trap == TRAP_BY_FLAGS
					    ? call->flags == 1 ? second : third
					    : deny;
		if (call->trap != TRAP_NEVER)
			emit(program, &at, BPF_JMP | BPF_JEQ | BPF_K, call->number, to - (at + 1),
			     0);
	}
	emit(program, &at, BPF_JMP | BPF_JA, pass - (at + 1), 0, 0);
	emit_flags(program, &at, 1, trap, pass);
	emit_flags(program, &at, 2, trap, pass);
	/* The mark in the sixth argument, both halves.  With 1 added it is another number:
	 * notified. */
	emit(program, &at, BPF_LD | BPF_W | BPF_ABS, HIGH(5), 0, 0);
	emit(program, &at, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(mark >> 32), 0, 3);
	emit(program, &at, BPF_LD | BPF_W | BPF_ABS, LOW(5), 0, 0);
	emit(program, &at, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)mark, 0, 1);
	emit(program, &at, BPF_RET | BPF_K, mark ? SECCOMP_RET_ALLOW : SECCOMP_RET_USER_NOTIF, 0,
	     0);
	emit(program, &at, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
	emit(program, &at, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
	emit(program, &at, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
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
