/*
 * below_docker PROGRAM ...: becomes PROGRAM with the rights and below the filter of system calls that Docker gives a container.
 *
 * The rights: Docker's default capabilities, no others.  The filter: its default profile of Linux 5.18 (docs.docker.com,
 * "Seccomp security profiles for Docker"), told by what it does not allow: EPERM; ENOSYS for clone3, and, as runc has it, for
 * all calls that are newer than the profile.
 */
#include "below_filter.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static const int REFUSED[] = {
	SYS_syslog,
	SYS_vhangup,
	SYS_pivot_root,
	SYS_acct,
	SYS_settimeofday,
	SYS_mount,
	SYS_umount2,
	SYS_swapon,
	SYS_swapoff,
	SYS_reboot,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_init_module,
	SYS_delete_module,
	SYS_quotactl,
	SYS_lookup_dcookie,
	SYS_clock_settime,
	SYS_mbind,
	SYS_set_mempolicy,
	SYS_get_mempolicy,
	SYS_kexec_load,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_migrate_pages,
	SYS_unshare,
	SYS_move_pages,
	SYS_perf_event_open,
	SYS_fanotify_init,
	SYS_setns,
	SYS_open_by_handle_at,
	SYS_kcmp,
	SYS_finit_module,
	SYS_kexec_file_load,
	SYS_bpf,
	SYS_userfaultfd,
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_pidfd_getfd,
	SYS_process_madvise,
	SYS_mount_setattr,
#ifdef __x86_64__
	SYS_uselib,
	SYS_ustat,
	SYS_sysfs,
	SYS__sysctl,
	SYS_iopl,
	SYS_ioperm,
	SYS_create_module,
	SYS_get_kernel_syms,
	SYS_query_module,
	SYS_nfsservctl,
	SYS_getpmsg,
	SYS_putpmsg,
	SYS_afs_syscall,
	SYS_tuxcall,
	SYS_security,
	SYS_vserver,
#endif
};

enum {
	NEWER = 450, /* set_mempolicy_home_node; the profile's newest is futex_waitv */
	QUOTACTL_FD = 443,
	NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
		     CLONE_NEWNET | CLONE_NEWCGROUP,
};

/* Answers where the word that was loaded compares with `value`. */
static void answer_if(int comparison, uint32_t value, uint32_t answer)
{
	add((struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | comparison | BPF_K), value, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/* Starts what is about one call alone, by its first argument; returns what finish_call() takes. */
static unsigned short start_call(int call)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0));
	load(offsetof(struct seccomp_data, args));
	return length;
}

static void finish_call(unsigned short began, uint32_t answer)
{
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
	code[began - 2].jf = (uint8_t)(length - began + 1); /* what it jumps over */
}

static void install_profile(void)
{
	const uint32_t refused = SECCOMP_RET_ERRNO | EPERM, unknown = SECCOMP_RET_ERRNO | ENOSYS;
	static const uint32_t PERSONALITIES[] = { 0, 8, 0x20000, 0x20008, UINT32_MAX };
	const size_t personalities = sizeof(PERSONALITIES) / sizeof(PERSONALITIES[0]);

	load(offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++)
		answer_if(BPF_JEQ, (uint32_t)REFUSED[i], refused);
	answer_if(BPF_JEQ, QUOTACTL_FD, refused);
	answer_if(BPF_JEQ, SYS_clone3, unknown);
	answer_if(BPF_JGE, NEWER, unknown);
	unsigned short at = start_call(SYS_clone);
	answer_if(BPF_JSET, NAMESPACES, refused);
	finish_call(at, SECCOMP_RET_ALLOW);
	at = start_call(SYS_socket);
	answer_if(BPF_JEQ, AF_VSOCK, refused);
	finish_call(at, SECCOMP_RET_ALLOW);
	at = start_call(SYS_personality);
	for (size_t i = 0; i < personalities; i++)
		answer_if(BPF_JEQ, PERSONALITIES[i], SECCOMP_RET_ALLOW);
	finish_call(at, refused);
	install();
}

/* Those of a container, as far as this process has them. */
static void drop_rights(void)
{
	const uint64_t kept = 1 << CAP_CHOWN | 1 << CAP_DAC_OVERRIDE | 1 << CAP_FOWNER |
			      1 << CAP_FSETID | 1 << CAP_KILL | 1 << CAP_SETGID | 1 << CAP_SETUID |
			      1 << CAP_SETPCAP | 1 << CAP_NET_BIND_SERVICE | 1 << CAP_NET_RAW |
			      1 << CAP_SYS_CHROOT | 1 << CAP_MKNOD | 1 << CAP_AUDIT_WRITE |
			      UINT64_C(1) << CAP_SETFCAP;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
		if (!(kept >> capability & 1))
			(void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	CHECK(syscall(SYS_capget, &header, data) == 0);
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t mask = (uint32_t)(kept >> 32 * i);
		data[i].effective &= mask;
		data[i].permitted &= mask;
		data[i].inheritable = 0;
	}
	CHECK(syscall(SYS_capset, &header, data) == 0);
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	install_profile();
	drop_rights();
	(void)execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 126;
}
