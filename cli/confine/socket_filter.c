/* Sockets that are refused: see socket_filter.h. */
#include "cli/confine/socket_filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/start/compat.h"

enum { PROGRAM_MAX = 40 };

/* Calls of the machine's other architecture, by their numbers there, and bits that mark a number. */
#if defined(__x86_64__)
static const uint32_t FOREIGN[] = { 102 /* socketcall */, 359 /* socket */, 425 };
enum { MARKS = 0x40000000 }; /* x32 */
#else
static const uint32_t FOREIGN[] = { 281 /* socket */, 425 };
enum { MARKS = 0 };
#endif

struct program {
	struct sock_filter words[PROGRAM_MAX];
	unsigned short count;
};

static void emit(struct program *program, uint16_t code, uint32_t k, unsigned yes, unsigned no)
{
	program->words[program->count++] = (struct sock_filter){
		.code = code, .jt = (uint8_t)yes, .jf = (uint8_t)no, .k = k
	};
}

static void emit_return(struct program *program, uint32_t what)
{
	emit(program, BPF_RET | BPF_K, what, 0, 0);
}

/* What a number stands for is refused. */
static void emit_refusal(struct program *program, uint32_t number, uint32_t error)
{
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
	emit_return(program, SECCOMP_RET_ERRNO | error);
}

/* socket(2), by its first argument. */
static void emit_socket(struct program *program, bool network, bool local)
{
	emit(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args), 0, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1);
	emit_return(program, local ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EACCES);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1);
	emit_return(program, SECCOMP_RET_ALLOW); /* it only asks the kernel */
	emit_return(program, network ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EACCES);
}

static void build(struct program *program, bool network, bool local)
{
	const unsigned foreign = sizeof(FOREIGN) / sizeof(FOREIGN[0]);

	emit(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, COMPAT_AUDIT_ARCH, 2 + 2 * foreign, 0);
	emit(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	for (unsigned i = 0; i < foreign; i++)
		emit_refusal(program, FOREIGN[i], FOREIGN[i] == 425 ? ENOSYS : EACCES);
	emit_return(program, SECCOMP_RET_ALLOW);
	emit(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit(program, BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)MARKS, 0, 0);
	emit_refusal(program, SYS_io_uring_setup, ENOSYS);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0);
	emit_return(program, SECCOMP_RET_ALLOW);
	emit_socket(program, network, local);
}

int socket_filter_install(bool network, bool local)
{
	struct program program = { .count = 0 };

	if (network && local)
		return 0;
	build(&program, network, local);
	struct sock_fprog filter = { .len = program.count, .filter = program.words };
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0 ? -errno : 0;
}
