/*
 * Numbers of system calls, and of what they are asked, that the kernel knows and the installed libc may
 * not: glibc 2.31 has those of Linux 5.4, musl 1.2.3 those of 5.10.  They are the same on each processor
 * (include/uapi/asm-generic/unistd.h and mman-common.h of Linux 6.15).
 */
#ifndef SEEN_TRACKER_NUMBERS_H
#define SEEN_TRACKER_NUMBERS_H

#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#endif
