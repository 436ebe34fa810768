/*
 * The kernel's calls, without libc: inside a stranger's process libc's names may be interposed (by
 * us too), set errno, or be cancellation points.  Every function here returns what the kernel
 * returns: a value, or a negative errno.  All are async-signal-safe and leave errno alone.
 */
#ifndef SEEN_TRACKER_SYS_H
#define SEEN_TRACKER_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#include "tracker/sys/numbers.h"

#if defined(__clang_analyzer__)
/* It does not see that the kernel writes through pointers. */
long sys_call6(long number, long a, long b, long c, long d, long e, long f);
#elif defined(__x86_64__)
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "seen runs on x86_64 and aarch64"
#endif

static inline long sys_call3(long number, long a, long b, long c)
{
	return sys_call6(number, a, b, c, 0, 0, 0);
}

/* openat(2) relative to the current directory.  Returns a descriptor. */
static inline int sys_open(const char *path, int flags, mode_t mode)
{
	return (int)sys_call6(SYS_openat, AT_FDCWD, (long)path, flags, (long)mode, 0, 0);
}

static inline int sys_close(int fd)
{
	return (int)sys_call3(SYS_close, fd, 0, 0);
}

static inline ssize_t sys_read(int fd, void *buffer, size_t size_bytes)
{
	return sys_call3(SYS_read, fd, (long)buffer, (long)size_bytes);
}

static inline ssize_t sys_write(int fd, const void *data, size_t size_bytes)
{
	return sys_call3(SYS_write, fd, (long)data, (long)size_bytes);
}

/* Again where a signal came between. */
static inline ssize_t sys_pread(int fd, void *buffer, size_t size_bytes, off_t offset)
{
	ssize_t got;

	do
		got = sys_call6(SYS_pread64, fd, (long)buffer, (long)size_bytes, offset, 0, 0);
	while (got == -EINTR);
	return got;
}

/* sys_pread_all(): until `size_bytes` were read, or the end.  Returns how many, or a negative errno. */
ssize_t sys_pread_all(int fd, void *buffer, size_t size_bytes, off_t offset);

static inline int sys_fstat(int fd, struct stat *ret_stat)
{
	return (int)sys_call3(SYS_fstat, fd, (long)ret_stat, 0);
}

static inline int sys_stat(const char *path, struct stat *ret_stat)
{
	return (int)sys_call6(SYS_newfstatat, AT_FDCWD, (long)path, (long)ret_stat, 0, 0, 0);
}

/* As sys_open(), relative to a directory's descriptor. */
static inline int sys_openat(int directory, const char *path, int flags, mode_t mode)
{
	return (int)sys_call6(SYS_openat, directory, (long)path, flags, (long)mode, 0, 0);
}

/* flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH. */
static inline int sys_fstatat(int directory, const char *path, struct stat *ret_stat, int flags)
{
	return (int)sys_call6(SYS_newfstatat, directory, (long)path, (long)ret_stat, flags, 0, 0);
}

static inline ssize_t sys_pwrite(int fd, const void *data, size_t size_bytes, off_t offset)
{
	return sys_call6(SYS_pwrite64, fd, (long)data, (long)size_bytes, offset, 0, 0);
}

static inline int sys_ftruncate(int fd, off_t size_bytes)
{
	return (int)sys_call3(SYS_ftruncate, fd, size_bytes, 0);
}

/* Without libc's fallback, which writes to every block. */
static inline int sys_fallocate(int fd, int mode, off_t offset, off_t size_bytes)
{
	return (int)sys_call6(SYS_fallocate, fd, mode, offset, size_bytes, 0, 0);
}

static inline int sys_fchmod(int fd, mode_t mode)
{
	return (int)sys_call3(SYS_fchmod, fd, (long)mode, 0);
}

static inline int sys_unlinkat(int directory, const char *path, int flags)
{
	return (int)sys_call3(SYS_unlinkat, directory, (long)path, flags);
}

/* Both names in one directory.  flags: RENAME_NOREPLACE, or 0. */
static inline int sys_rename_in(int directory, const char *from, const char *to, unsigned flags)
{
	return (int)sys_call6(SYS_renameat2, directory, (long)from, directory, (long)to,
			      (long)flags, 0);
}

/* A hard link, in a directory; flags: AT_SYMLINK_FOLLOW, or 0. */
static inline int sys_linkat(int from_directory, const char *from, int directory, const char *path,
			     int flags)
{
	return (int)sys_call6(SYS_linkat, from_directory, (long)from, directory, (long)path, flags,
			      0);
}

static inline int sys_mkdirat(int directory, const char *path, mode_t mode)
{
	return (int)sys_call3(SYS_mkdirat, directory, (long)path, (long)mode);
}

/* path NULL: of the descriptor itself. */
static inline int sys_utimensat(int directory, const char *path, const struct timespec times[2])
{
	return (int)sys_call6(SYS_utimensat, directory, (long)path, (long)times, 0, 0, 0);
}

/* A directory's entry as the kernel writes it (getdents(2), struct linux_dirent64). */
struct sys_entry {
	uint64_t ino;
	int64_t offset;
	uint16_t size_bytes;
	uint8_t type;
	char name[];
};

/* Returns how many bytes of struct sys_entry were written, 0 at the end. */
static inline ssize_t sys_getdents64(int directory, void *buffer, size_t size_bytes)
{
	return sys_call3(SYS_getdents64, directory, (long)buffer, (long)size_bytes);
}

static inline off_t sys_lseek(int fd, off_t offset, int whence)
{
	return (off_t)sys_call3(SYS_lseek, fd, offset, whence);
}

static inline uid_t sys_geteuid(void)
{
	return (uid_t)sys_call3(SYS_geteuid, 0, 0, 0);
}

static inline int sys_fcntl(int fd, int command, long argument)
{
	return (int)sys_call3(SYS_fcntl, fd, command, argument);
}

/* Returns the length; the text is not ended by NUL (readlinkat(2)). */
static inline ssize_t sys_readlink(const char *path, char *buffer, size_t size_bytes)
{
	return sys_call6(SYS_readlinkat, AT_FDCWD, (long)path, (long)buffer, (long)size_bytes, 0,
			 0);
}

/* Returns the length, NUL included (getcwd(2), the kernel's convention). */
static inline ssize_t sys_getcwd(char *buffer, size_t size_bytes)
{
	return sys_call3(SYS_getcwd, (long)buffer, (long)size_bytes, 0);
}

/* Returns the address, or a negative errno as a value in [-4095, -1]. */
static inline long sys_mmap(size_t size_bytes, int protection, int flags, int fd)
{
	return sys_call6(SYS_mmap, 0, (long)size_bytes, protection, flags, fd, 0);
}

static inline int sys_munmap(void *address, size_t size_bytes)
{
	return (int)sys_call3(SYS_munmap, (long)address, (long)size_bytes, 0);
}

static inline pid_t sys_getpid(void)
{
	return (pid_t)sys_call3(SYS_getpid, 0, 0, 0);
}

static inline pid_t sys_getppid(void)
{
	return (pid_t)sys_call3(SYS_getppid, 0, 0, 0);
}

/* What reads clocks through the vDSO, without a system call; NULL: libc's clock_gettime.  A program that the shim lives in may
 * export a function of that name. */
extern int (*sys_clock_gettime)(clockid_t clock, struct timespec *ret_time);

/* sys_clock_ns(): never fails for the clocks below. */
uint64_t sys_clock_ns(clockid_t clock);

/* Nanoseconds since boot, suspension counted: what process start times are measured in
 * (proc(5)). */
static inline uint64_t sys_boottime_ns(void)
{
	return sys_clock_ns(CLOCK_BOOTTIME);
}

static inline uint64_t sys_realtime_ns(void)
{
	return sys_clock_ns(CLOCK_REALTIME);
}

/* Bytes that the library wrote in this process to files of its own (copies, notices): the kernel
 * counts them with what the program wrote (proc(5), io). */
extern uint64_t sys_aside_bytes;

/* sys_wrote_aside(): counts them. */
static inline void sys_wrote_aside(ssize_t size_bytes)
{
	if (size_bytes > 0)
		(void)__atomic_fetch_add(&sys_aside_bytes, (uint64_t)size_bytes, __ATOMIC_RELAXED);
}

/* sys_write_aside(): writes all of such bytes at an offset, and counts them.  Returns 0, or a
 * negative errno: then a part may have been written. */
int sys_write_aside(int fd, const char *bytes, size_t size_bytes, off_t offset);

/* Reads at most size_bytes - 1 bytes of a small file (procfs) and ends them by NUL.
 * Returns the number of bytes read, or a negative errno. */
ssize_t sys_read_file(const char *path, char *buffer, size_t size_bytes);

/* sys_close_between(): closes all descriptors from `first` to `last`, in a process without other threads; also where close_range(2)
 * is missing (Linux before 5.9) or refused (an older container's filter).  Async-signal-safe. */
void sys_close_between(unsigned first, unsigned last);

/* May this process make a file so large?  If not, trying would cost it a signal (setrlimit(2),
 * RLIMIT_FSIZE). */
bool sys_may_be_this_large(uint64_t size_bytes);

#endif
