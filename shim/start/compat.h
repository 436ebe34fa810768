/*
 * What the kernel knows and the installed headers may not (Debian 12 has those of Linux 6.1).
 * Values: linux/seccomp.h, linux/pidfd.h, linux/openat2.h, linux/audit.h of Linux 6.15.
 */
#ifndef SEEN_START_COMPAT_H
#define SEEN_START_COMPAT_H

#include <linux/audit.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* 5.19: once received, only a fatal signal interrupts a call */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND /* 5.14: the descriptor is added and the call answered in one step */
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP /* 6.6: the one that waits is woken on the same processor */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)
#endif

/* How a process ended, for those who are not its parent (6.15). */
struct compat_pidfd_info {
	uint64_t mask;
	uint64_t cgroupid;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
	uint32_t coredump_mask;
	uint32_t unused;
};
#define COMPAT_PIDFD_INFO_EXIT (UINT64_C(1) << 3)
#define COMPAT_PIDFD_GET_INFO _IOWR(0xFF, 11, struct compat_pidfd_info)

/* O_LARGEFILE as the kernel gets it; libc calls it 0 on machines of 64 bits (asm/fcntl.h). */
#if defined(__x86_64__)
#define COMPAT_AUDIT_ARCH AUDIT_ARCH_X86_64
#define COMPAT_O_LARGEFILE 0100000
#elif defined(__aarch64__)
#define COMPAT_AUDIT_ARCH AUDIT_ARCH_AARCH64
#define COMPAT_O_LARGEFILE 0400000
#endif

#endif
