/*
 * below_kernel ERRNO FEATURE... -- PROGRAM ...: becomes PROGRAM below a filter that fails the calls of each feature with that error: ENOSYS, as
 * a kernel that is older does, EPERM, as an old Docker does for calls that it does not know, or ENOMEM, as one that has no memory for it.
 *
 * A feature that is a flag or a command of an older call fails with EINVAL, as in a kernel that does not know it: ERRNO is not asked.  --list:
 * prints their names.
 */
#include "below_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
	/* numbers of the generic table: every architecture has them so */
	PIDFD_SEND_SIGNAL = 424,
	IO_URING_SETUP = 425,
	IO_URING_ENTER = 426,
	IO_URING_REGISTER = 427,
	PIDFD_OPEN = 434,
	CLONE3 = 435,
	CLOSE_RANGE = 436,
	OPENAT2 = 437,
	PIDFD_GETFD = 438,
	FACCESSAT2 = 439,
	LANDLOCK_CREATE = 444,
	LANDLOCK_ADD = 445,
	LANDLOCK_RESTRICT = 446,
	FCHMODAT2 = 452,
	CALLS_MAX = 3,
	/* not in the headers of Debian 11 */
	KILLABLE = 1 << 5,
	WITH_LISTENER = 1 << 3,
	SEALS_ADD = 1033,
	SEALS_GET = 1034,
};

/* A feature: the calls that it is, or one call and what its argument is. */
static const struct feature {
	const char *name;
	int calls[CALLS_MAX];
	int argument;   /* -1: whatever they are */
	uint32_t value; /* of the argument */
	bool is_flag;   /* a bit of it, not the whole */
} FEATURES[] = {
	{ "unotify", { SYS_seccomp }, 1, WITH_LISTENER, true },
	{ "killable", { SYS_seccomp }, 1, KILLABLE, true },
	{ "addfd", { SYS_ioctl }, 1, 0x40182103, false },     /* SECCOMP_IOCTL_NOTIF_ADDFD */
	{ "sync_wake", { SYS_ioctl }, 1, 0x40082104, false }, /* SECCOMP_IOCTL_NOTIF_SET_FLAGS */
	{ "seals", { SYS_fcntl }, 1, SEALS_ADD, false },
	{ "seals_read", { SYS_fcntl }, 1, SEALS_GET, false },
	{ "memfd", { SYS_memfd_create }, -1, 0, false },
	{ "statx", { SYS_statx }, -1, 0, false },
	{ "openat2", { OPENAT2 }, -1, 0, false },
	{ "close_range", { CLOSE_RANGE }, -1, 0, false },
	{ "landlock", { LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT }, -1, 0, false },
	{ "io_uring", { IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER }, -1, 0, false },
	{ "pidfd_open", { PIDFD_OPEN, PIDFD_SEND_SIGNAL }, -1, 0, false },
	{ "pidfd_getfd", { PIDFD_GETFD }, -1, 0, false },
	{ "faccessat2", { FACCESSAT2 }, -1, 0, false },
	{ "fchmodat2", { FCHMODAT2 }, -1, 0, false },
	{ "clone3", { CLONE3 }, -1, 0, false },
	{ "renameat2", { SYS_renameat2 }, -1, 0, false },
	{ "copy_file_range", { SYS_copy_file_range }, -1, 0, false },
	{ "memory", { SYS_process_vm_readv, SYS_process_vm_writev }, -1, 0, false },
	{ "inotify", { SYS_inotify_init1, SYS_inotify_add_watch }, -1, 0, false },
	{ "kcmp", { SYS_kcmp }, -1, 0, false },
};

static void fail_call(int call, int error)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error));
}

static void fail_argument(const struct feature *feature)
{
	uint16_t compares = feature->is_flag ? BPF_JSET : BPF_JEQ;

	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)feature->calls[0], 0,
					 4));
	load(offsetof(struct seccomp_data, args) + (size_t)feature->argument * sizeof(uint64_t));
	add((struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | compares | BPF_K), feature->value, 0,
					 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL));
	load(offsetof(struct seccomp_data, nr));
}

/* Returns whether there is one of that name. */
static bool fail_feature(const char *name, int error)
{
	bool is_there = false;

	for (size_t i = 0; i < sizeof(FEATURES) / sizeof(FEATURES[0]); i++) {
		const struct feature *feature = &FEATURES[i];
		if (strcmp(name, feature->name) != 0)
			continue;
		is_there = true;
		if (feature->argument >= 0)
			fail_argument(feature);
		for (int j = 0; feature->argument < 0 && j < CALLS_MAX && feature->calls[j]; j++)
			fail_call(feature->calls[j], error);
	}
	return is_there;
}

int main(int argc, char **argv)
{
	int at = 2;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (size_t i = 0; i < sizeof(FEATURES) / sizeof(FEATURES[0]); i++)
			puts(FEATURES[i].name);
		return 0;
	}
	CHECK(argc > 3);
	int error = strcmp(argv[1], "EPERM") == 0    ? EPERM
		    : strcmp(argv[1], "ENOMEM") == 0 ? ENOMEM
						     : ENOSYS;
	load(offsetof(struct seccomp_data, nr));
	for (; at < argc && strcmp(argv[at], "--") != 0; at++)
		CHECK(fail_feature(argv[at], error));
	CHECK(at + 1 < argc);
	install();
	(void)execvp(argv[at + 1], argv + at + 1);
	perror(argv[at + 1]);
	return 126;
}
