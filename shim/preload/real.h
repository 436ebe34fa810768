/*
 * libc's own functions behind the exported names: `REAL(open)(path, flags)`.
 *
 * Each is looked up when it is first called, behind this library: other preloaded libraries keep
 * their turn, as by dlsym(RTLD_NEXT), to which this has to be equal (tests/programs/real_names.c).
 * dlsym itself takes the loader's lock, which a thread may hold while it waits for the caller,
 * clears what dlerror() has to tell, and takes 200 ns a name: here the hash tables of the loaded
 * objects are read, where they lie.  Async-signal-safe; two threads that do so at once store the
 * same pointer.
 */
#ifndef SEEN_SHIM_REAL_H
#define SEEN_SHIM_REAL_H

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/close_range.h>
#include <mntent.h>
#include <pty.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utmp.h>

/* glibc has them since 2.34; a library that was built with an older one is loaded into programs that call them, too. */
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2) /* linux/close_range.h since 5.11 */
#endif
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
int execveat(int directory, const char *path, char *const *argv, char *const *envp, int flags);

/* Names that libc exports without declaring them (bits/fcntl2.h, bits/unistd.h, its internal
 * names). */
int __xmknod(int version, const char *path, mode_t mode, dev_t *device);
int __xstat(int version, const char *path, struct stat *ret_stat);
int __xstat64(int version, const char *path, struct stat64 *ret_stat);
int __lxstat(int version, const char *path, struct stat *ret_stat);
int __lxstat64(int version, const char *path, struct stat64 *ret_stat);
int __fxstatat(int version, int directory, const char *path, struct stat *ret_stat, int flags);
int __fxstatat64(int version, int directory, const char *path, struct stat64 *ret_stat, int flags);
int __xmknodat(int version, int directory, const char *path, mode_t mode, dev_t *device);
FILE *__setmntent(const char *path, const char *mode);
int __endmntent(FILE *stream);
FILE *_IO_fopen(const char *path, const char *mode);
FILE *_IO_fdopen(int fd, const char *mode);
int _IO_fclose(FILE *stream);
FILE *_IO_popen(const char *command, const char *mode);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);
int __open(const char *path, int flags, ...);
int __open64(const char *path, int flags, ...);
int __close(int fd);
int __dup2(int fd, int target);
int __fcntl(int fd, int command, ...);
ssize_t __read(int fd, void *buffer, size_t size_bytes);
ssize_t __write(int fd, const void *data, size_t size_bytes);
ssize_t __pread64(int fd, void *buffer, size_t size_bytes, off64_t offset);
ssize_t __pwrite64(int fd, const void *data, size_t size_bytes, off64_t offset);
ssize_t __read_chk(int fd, void *buffer, size_t size_bytes, size_t buffer_bytes);
ssize_t __pread_chk(int fd, void *buffer, size_t size_bytes, off_t offset, size_t buffer_bytes);
size_t _IO_fread(void *buffer, size_t item_bytes, size_t items, FILE *stream);
size_t __fread_chk(void *buffer, size_t buffer_bytes, size_t item_bytes, size_t items,
		   FILE *stream);
size_t __fread_unlocked_chk(void *buffer, size_t buffer_bytes, size_t item_bytes, size_t items,
			    FILE *stream);
ssize_t __pread64_chk(int fd, void *buffer, size_t size_bytes, off64_t offset, size_t buffer_bytes);

/* libaio's (io_submit(3)). */
int io_submit(aio_context_t context, long count, struct iocb **requests);

enum real_name {
#define HOOK(name, operation) REAL_##name,
#include "shim/preload/hooks.def"
#undef HOOK
	/* not ours, but a program may export functions of these names */
	REAL_fileno,
	REAL_dirfd,
	REAL_COUNT,
};

extern void *real_pointers[REAL_COUNT] __attribute__((visibility("hidden")));

/* libc's vfork, for vfork.S; NULL: not known yet. */
extern void *real_vfork;

/* real_resolve_vfork(): sets it, and returns it; never NULL. */
void *real_resolve_vfork(void);

/* real_start(): for the constructor: remembers which objects there are, and finds the clock
 * (sys.h). */
void real_start(void);

/* real_library(): the path of this library, as the loader knows it.  NULL: not known.  Stays for as
 * long as the process lives. */
const char *real_library(void);

/* real_object_below(): of the objects that were there when the process started, which stay, the one
 * that begins nearest below an address.  Without the loader's lock, as of dl_iterate_phdr(3): it may
 * be another thread's for ever, in a fork of several.  NULL: none. */
struct link_map;
const struct link_map *real_object_below(uint64_t address);

/* real_resolve(): the slow half of REAL().  Never NULL: for a name that this libc does not have,
 * a function that fails with ENOSYS. */
void *real_resolve(enum real_name name);

static inline void *real_pointer(enum real_name name)
{
	void *pointer = __atomic_load_n(&real_pointers[name], __ATOMIC_RELAXED);
	return __builtin_expect(pointer != NULL, 1) ? pointer : real_resolve(name);
}

#define REAL(name) ((__typeof__(&name))real_pointer(REAL_##name))

/* A name that the linker exports (hooks.def says which). */
#define EXPORT __attribute__((visibility("default")))

#endif
