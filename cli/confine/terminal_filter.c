/* Input for a terminal: see terminal_filter.h. */
#include "cli/confine/terminal_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/start/compat.h"

#if defined(__x86_64__)
enum { MARKS = 0x40000000, IOCTL_X32 = 514 };
#else
enum { MARKS = 0, IOCTL_X32 = SYS_ioctl };
#endif
enum { IOCTL_COMPAT = 54 }; /* of i386 and of arm */

#define LOAD(member, part) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member) + (part))
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

int terminal_filter_install(void)
{
	/* of a request only its low half counts: it is an unsigned int (ioctl(2)); little-endian */
	struct sock_filter words[] = {
		LOAD(arch, 0),
		EQUAL(COMPAT_AUDIT_ARCH, 3, 0), /* this one; else the machine's other one */
		LOAD(nr, 0),
		EQUAL(IOCTL_COMPAT, 5, 0),
		RETURN(SECCOMP_RET_ALLOW),
		LOAD(nr, 0),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)MARKS),
		EQUAL(SYS_ioctl, 1, 0),
		EQUAL(IOCTL_X32, 0, 3),
		LOAD(args, sizeof(uint64_t)),
		EQUAL(TIOCSTI, 2, 0),
		EQUAL(TIOCLINUX, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog filter = { .len = sizeof(words) / sizeof(words[0]), .filter = words };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0 ? -errno : 0;
}
