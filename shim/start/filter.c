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
	COUNT_NEVER = 0,
	COUNT_ALWAYS = 1,
	COUNT_BY_FLAGS = 1,
	COUNT_DENIED = 1,
	COUNT_STRICTLY = 1
};

enum {
	CALLS_MAX = 0 /* as many as are trapped */
#define SYSTEM_CALL(name, operation, trap, ...) +COUNT_##trap
#define SYSTEM_CALL_BY SYSTEM_CALL
#include "shim/call/system_calls.def"
#undef SYSTEM_CALL
#undef SYSTEM_CALL_BY
	,
	LEAF_MAX = 3, /* calls that are compared one after the other */
	/* of each part of the program, in instructions */
	HEAD = 4,
	FLAGS = 5,
	TAIL = 8,
	PROGRAM_MAX = HEAD + 3 * CALLS_MAX + 2 * FLAGS + TAIL,
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

/* Finds the trapped calls, by their numbers.  Returns how many there are. */
static unsigned sort_trapped(bool is_strict, const struct system_call **ret_calls)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SYSTEM_CALL_COUNT; i++) {
		unsigned at = count;
		if (SYSTEM_CALLS[i].trap == TRAP_NEVER ||
		    (SYSTEM_CALLS[i].trap == TRAP_STRICTLY && !is_strict))
			continue;
		for (; at > 0 && ret_calls[at - 1]->number > SYSTEM_CALLS[i].number; at--)
			ret_calls[at] = ret_calls[at - 1];
		ret_calls[at] = &SYSTEM_CALLS[i];
		count++;
	}
	return count;
}

/* How long emit_search() is for so many calls. */
static unsigned search_length(unsigned count)
{
	return count <= LEAF_MAX ? count + 1
				 : 1 + search_length(count / 2) + search_length(count - count / 2);
}

/* Where a call goes on. */
struct sections {
	unsigned second, third, trap, deny, pass;
};

static unsigned section_of(const struct system_call *call, const struct sections *sections)
{
	switch (call->trap) {
	case TRAP_ALWAYS:
		return sections->trap;
	case TRAP_BY_FLAGS:
		return call->flags == 1 ? sections->second : sections->third;
	default:
		return sections->deny;
	}
}

/* Finds the number of the call among those that are trapped, in halves.  The kernel runs the program
 * for every number that there is when a filter is installed: one comparison after the other would
 * take longer than all else that it does for that. */
static void emit_search(struct sock_filter *program, unsigned *at,
			const struct system_call *const *calls, unsigned count,
			const struct sections *sections)
{
	unsigned half = count / 2;

	if (count > LEAF_MAX) {
		emit(program, at, BPF_JMP | BPF_JGE | BPF_K, calls[half]->number,
		     search_length(half), 0);
		emit_search(program, at, calls, half, sections);
		emit_search(program, at, calls + half, count - half, sections);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		emit(program, at, BPF_JMP | BPF_JEQ | BPF_K, calls[i]->number,
		     section_of(calls[i], sections) - (*at + 1), 0);
	emit(program, at, BPF_JMP | BPF_JA, sections->pass - (*at + 1), 0, 0);
}

/* The program, whose sections lie at known places:
 *
 *	head     another architecture, x32: pass; where it is strict: deny
 *	calls    searched by number, to one of the sections below; else pass
 *	second   flags of open(2) in the second argument
 *	third    ... in the third
 *	trap     the mark: pass, else notify
 *	deny, pass
 */
static unsigned build(struct sock_filter *program, uint64_t mark, bool is_strict)
{
	const struct system_call *calls[CALLS_MAX];
	const unsigned count = sort_trapped(is_strict, calls), second = HEAD + search_length(count),
		       third = second + FLAGS, trap = third + FLAGS, deny = trap + TAIL - 2,
		       pass = trap + TAIL - 1, foreign = is_strict ? deny : pass;
	const struct sections sections = { second, third, trap, deny, pass };
	unsigned at = 0;

	emit(program, &at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(program, &at, BPF_JMP | BPF_JEQ | BPF_K, COMPAT_AUDIT_ARCH, 0, foreign - (at + 1));
	emit(program, &at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit(program, &at, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, foreign - (at + 1), 0);
	emit_search(program, &at, calls, count, &sections);
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

int filter_install(uint64_t mark, bool is_strict, bool *ret_no_new_privs)
{
	struct sock_filter program[PROGRAM_MAX];
	struct sock_fprog filter = { .len = (unsigned short)build(program, mark, is_strict),
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
