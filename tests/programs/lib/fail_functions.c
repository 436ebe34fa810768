/*
 * A library to be preloaded into `seen`: one call of a function of libc fails, as for want of memory, of room or of rights (support/failing_functions.py).
 *
 *	FAIL_FUNCTIONS   names of functions, between spaces: these are counted
 *	FAIL_NUMBER      which of those calls fails; 0: none
 *	FAIL_ERROR       errno
 *	FAIL_ALWAYS      if set, all such calls behind it fail, too
 *	FAIL_SITES       a file that gets a line "NUMBER NAME ADDRESS..." for the first call from each place of the program: the callers, innermost first;
 *	                 with FAIL_NUMBER for each place of a call that fails
 *
 * Programs that it starts have neither this library nor the variables.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = 24, CALLERS = 5, SITES_MAX = 1 << 16 };

static const char *functions; /* NULL: nothing is counted yet */
static long number, count;
static int error, sites = -1;
static bool always;
static void (*meanwhile)(
	void); /* of a test that has this in it: called before that call, which does not fail then */
static uintptr_t base, end; /* the program's code */
static uint64_t known[SITES_MAX];
static __thread bool inside;

static int find_program(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			end = base + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1; /* the first is the program */
}

__attribute__((constructor)) static void start(void)
{
	const char *value = getenv("FAIL_NUMBER"), *file = getenv("FAIL_SITES");
	void *frames[FRAMES];

	(void)backtrace(frames, FRAMES); /* it allocates memory the first time */
	(void)dl_iterate_phdr(find_program, NULL);
	number = value ? atol(value) : 0;
	value = getenv("FAIL_ERROR");
	error = value ? atoi(value) : EIO;
	always = getenv("FAIL_ALWAYS") != NULL;
	sites = file ? (int)syscall(SYS_openat, AT_FDCWD, file,
				    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
		     : -1;
	value = getenv("FAIL_FUNCTIONS");
	functions = value ? strdup(value) : NULL;
	(void)unsetenv("LD_PRELOAD");
}

/* Is it the first call from there? */
static void note_site(const char *name, long at)
{
	void *frames[FRAMES];
	char line[256];
	int callers = 0, depth = backtrace(frames, FRAMES);
	uint64_t key = UINT64_C(14695981039346656037);
	int length = snprintf(line, sizeof(line), "%ld %s", at, name);

	for (int i = 0; i < depth && callers < CALLERS; i++) {
		uintptr_t address = (uintptr_t)frames[i];
		if (address < base || address >= end)
			continue;
		length += snprintf(line + length, sizeof(line) - (size_t)length, " %lx",
				   (unsigned long)(address - base));
		key = (key ^ (address - base)) * UINT64_C(1099511628211);
		callers++;
	}
	for (const char *byte = name; *byte; byte++)
		key = (key ^ (unsigned char)*byte) * UINT64_C(1099511628211);
	for (size_t i = key % SITES_MAX; callers; i = (i + 1) % SITES_MAX) {
		if (known[i] == key)
			return;
		if (!known[i]) {
			known[i] = key;
			break;
		}
	}
	line[length++] = '\n';
	(void)syscall(SYS_write, sites, line, (size_t)length);
}

static bool is_counted(const char *name)
{
	size_t length = strlen(name);
	const char *at = functions;

	while (at && (at = strstr(at, name)) &&
	       ((at != functions && at[-1] != ' ') || (at[length] && at[length] != ' ')))
		at++;
	return at != NULL;
}

/* Does this call fail?  errno is set, then. */
static bool fails(const char *name)
{
	if (!functions || inside || !is_counted(name))
		return false;
	long at = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	bool is_failing = number && (always ? at >= number : at == number);
	if (sites >= 0 && (is_failing || !number)) {
		int kept = errno;
		inside = true;
		note_site(name, at);
		inside = false;
		errno = kept;
	}
	if (!is_failing)
		return false;
	if (meanwhile) {
		int kept = errno;
		inside = true;
		meanwhile();
		inside = false;
		errno = kept;
		return false;
	}
	errno = error;
	return true;
}

#define FUNCTION(type, failed, name, parameters, arguments) \
	type name parameters \
	{ \
		static __typeof__(&name) next; \
		if (!next) \
			next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
		return fails(#name) ? failed : next arguments; \
	}

FUNCTION(void *, NULL, malloc, (size_t size), (size))
FUNCTION(void *, NULL, calloc, (size_t items, size_t size), (items, size))
FUNCTION(void *, NULL, realloc, (void *old, size_t size), (old, size))
FUNCTION(void *, NULL, reallocarray, (void *old, size_t items, size_t size), (old, items, size))
FUNCTION(char *, NULL, strdup, (const char *text), (text))
FUNCTION(char *, NULL, strndup, (const char *text, size_t size), (text, size))

FUNCTION(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
FUNCTION(FILE *, NULL, fopen64, (const char *path, const char *mode), (path, mode))
FUNCTION(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode))
FUNCTION(FILE *, NULL, fopencookie, (void *cookie, const char *mode, cookie_io_functions_t how),
	 (cookie, mode, how))
FUNCTION(FILE *, NULL, tmpfile, (void), ())
FUNCTION(DIR *, NULL, opendir, (const char *path), (path))
FUNCTION(DIR *, NULL, fdopendir, (int fd), (fd))
FUNCTION(struct dirent *, NULL, readdir, (DIR * stream), (stream))
FUNCTION(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
FUNCTION(int, -1, pipe2, (int fds[2], int flags), (fds, flags))
FUNCTION(int, -1, dup, (int fd), (fd))
FUNCTION(int, -1, dup2, (int fd, int to), (fd, to))
FUNCTION(pid_t, -1, fork, (void), ())
FUNCTION(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))

FUNCTION(ssize_t, -1, read, (int fd, void *bytes, size_t size), (fd, bytes, size))
FUNCTION(ssize_t, -1, pread, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at))
FUNCTION(ssize_t, -1, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
FUNCTION(ssize_t, -1, pwrite, (int fd, const void *bytes, size_t size, off_t at),
	 (fd, bytes, size, at))
FUNCTION(ssize_t, -1, pwritev, (int fd, const struct iovec *vectors, int parts, off_t at),
	 (fd, vectors, parts, at))
FUNCTION(void *, MAP_FAILED, mmap,
	 (void *address, size_t size, int protection, int flags, int fd, off_t at),
	 (address, size, protection, flags, fd, at))
FUNCTION(off_t, -1, lseek, (int fd, off_t at, int whence), (fd, at, whence))
FUNCTION(int, -1, ftruncate, (int fd, off_t size), (fd, size))
FUNCTION(int, -1, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
FUNCTION(int, error, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size))
FUNCTION(int, -1, fsync, (int fd), (fd))
FUNCTION(int, -1, fdatasync, (int fd), (fd))
FUNCTION(int, -1, flock, (int fd, int what), (fd, what))

FUNCTION(int, -1, stat, (const char *path, struct stat *found), (path, found))
FUNCTION(int, -1, lstat, (const char *path, struct stat *found), (path, found))
FUNCTION(int, -1, fstat, (int fd, struct stat *found), (fd, found))
FUNCTION(int, -1, fstatat, (int directory, const char *path, struct stat *found, int flags),
	 (directory, path, found, flags))
FUNCTION(int, -1, statx,
	 (int directory, const char *path, int flags, unsigned mask, struct statx *found),
	 (directory, path, flags, mask, found))
FUNCTION(int, -1, fstatfs, (int fd, struct statfs *system), (fd, system))
FUNCTION(int, -1, access, (const char *path, int mode), (path, mode))
FUNCTION(int, -1, faccessat, (int directory, const char *path, int mode, int flags),
	 (directory, path, mode, flags))
FUNCTION(ssize_t, -1, readlink, (const char *path, char *target, size_t size), (path, target, size))
FUNCTION(ssize_t, -1, readlinkat, (int directory, const char *path, char *target, size_t size),
	 (directory, path, target, size))
FUNCTION(char *, NULL, getcwd, (char *path, size_t size), (path, size))
FUNCTION(char *, NULL, realpath, (const char *path, char *real), (path, real))

FUNCTION(int, -1, chmod, (const char *path, mode_t mode), (path, mode))
FUNCTION(int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
FUNCTION(int, -1, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
FUNCTION(int, -1, fchownat, (int directory, const char *path, uid_t user, gid_t group, int flags),
	 (directory, path, user, group, flags))
FUNCTION(int, -1, futimens, (int fd, const struct timespec times[2]), (fd, times))
FUNCTION(int, -1, utimensat,
	 (int directory, const char *path, const struct timespec times[2], int flags),
	 (directory, path, times, flags))
FUNCTION(int, -1, rename, (const char *from, const char *to), (from, to))
FUNCTION(int, -1, renameat, (int from, const char *old, int to, const char *new),
	 (from, old, to, new))
FUNCTION(int, -1, renameat2, (int from, const char *old, int to, const char *new, unsigned flags),
	 (from, old, to, new, flags))
FUNCTION(int, -1, linkat, (int from, const char *old, int to, const char *new, int flags),
	 (from, old, to, new, flags))
FUNCTION(int, -1, symlinkat, (const char *target, int directory, const char *path),
	 (target, directory, path))
FUNCTION(int, -1, unlink, (const char *path), (path))
FUNCTION(int, -1, unlinkat, (int directory, const char *path, int flags), (directory, path, flags))
FUNCTION(int, -1, rmdir, (const char *path), (path))
FUNCTION(int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
FUNCTION(int, -1, mkdirat, (int directory, const char *path, mode_t mode), (directory, path, mode))
FUNCTION(int, -1, mknodat, (int directory, const char *path, mode_t mode, dev_t device),
	 (directory, path, mode, device))

FUNCTION(ssize_t, -1, flistxattr, (int fd, char *names, size_t size), (fd, names, size))
FUNCTION(ssize_t, -1, llistxattr, (const char *path, char *names, size_t size), (path, names, size))
FUNCTION(ssize_t, -1, fgetxattr, (int fd, const char *name, void *value, size_t size),
	 (fd, name, value, size))
FUNCTION(ssize_t, -1, lgetxattr, (const char *path, const char *name, void *value, size_t size),
	 (path, name, value, size))
FUNCTION(int, -1, fsetxattr, (int fd, const char *name, const void *value, size_t size, int flags),
	 (fd, name, value, size, flags))
FUNCTION(int, -1, lsetxattr,
	 (const char *path, const char *name, const void *value, size_t size, int flags),
	 (path, name, value, size, flags))
FUNCTION(int, -1, lremovexattr, (const char *path, const char *name), (path, name))

FUNCTION(int, -1, mkostemp, (char *name, int flags), (name, flags))
FUNCTION(char *, NULL, mkdtemp, (char *name), (name))
FUNCTION(int, -1, remove, (const char *path), (path))
FUNCTION(int, -1, symlink, (const char *target, const char *path), (target, path))
FUNCTION(int, -1, link, (const char *from, const char *to), (from, to))
FUNCTION(int, -1, chdir, (const char *path), (path))
FUNCTION(int, -1, fstatvfs, (int fd, struct statvfs *system), (fd, system))
FUNCTION(int, -1, statvfs, (const char *path, struct statvfs *system), (path, system))
FUNCTION(int, GLOB_NOSPACE, glob,
	 (const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found),
	 (pattern, flags, failed, found))
FUNCTION(int, -1, nftw, (const char *path, __nftw_func_t visit, int fds, int flags),
	 (path, visit, fds, flags))
FUNCTION(FTS *, NULL, fts_open,
	 (char *const *paths, int options, int (*compare)(const FTSENT **, const FTSENT **)),
	 (paths, options, compare))
FUNCTION(FTSENT *, NULL, fts_read, (FTS * walk), (walk))
FUNCTION(int, -1, setenv, (const char *name, const char *value, int replaces),
	 (name, value, replaces))

/* Processes, and how they speak with each other. */
FUNCTION(int, error, pthread_create,
	 (pthread_t * thread, const pthread_attr_t *how, void *(*call)(void *), void *argument),
	 (thread, how, call, argument))
FUNCTION(pid_t, -1, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
FUNCTION(int, -1, waitid, (idtype_t type, id_t id, siginfo_t *found, int flags),
	 (type, id, found, flags))
FUNCTION(int, -1, socketpair, (int domain, int type, int protocol, int fds[2]),
	 (domain, type, protocol, fds))
FUNCTION(int, -1, bind, (int fd, const struct sockaddr *address, socklen_t size),
	 (fd, address, size))
FUNCTION(int, -1, listen, (int fd, int waiting), (fd, waiting))
FUNCTION(int, -1, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags),
	 (fd, address, size, flags))
FUNCTION(ssize_t, -1, send, (int fd, const void *bytes, size_t size, int flags),
	 (fd, bytes, size, flags))
FUNCTION(ssize_t, -1, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
FUNCTION(ssize_t, -1, sendmsg, (int fd, const struct msghdr *message, int flags),
	 (fd, message, flags))
FUNCTION(ssize_t, -1, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
FUNCTION(int, -1, eventfd, (unsigned value, int flags), (value, flags))
FUNCTION(int, -1, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags))
FUNCTION(int, -1, timerfd_create, (clockid_t clock, int flags), (clock, flags))
FUNCTION(int, -1, epoll_create1, (int flags), (flags))
FUNCTION(int, -1, epoll_ctl, (int fd, int what, int other, struct epoll_event *event),
	 (fd, what, other, event))
FUNCTION(int, -1, inotify_init1, (int flags), (flags))
FUNCTION(int, -1, inotify_add_watch, (int fd, const char *path, uint32_t events),
	 (fd, path, events))

/* A stream of which a read fails says so (libio.h: _IO_ERR_SEEN). */
#define STREAM(type, failed, name, called, parameters, arguments) \
	type name parameters \
	{ \
		static __typeof__(&name) next; \
		if (!next) \
			next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
		if (!fails(called)) \
			return next arguments; \
		file->_flags |= 0x20; \
		return failed; \
	}

ssize_t __getdelim(char **line, size_t *size, int delimiter, FILE *file);
STREAM(ssize_t, -1, __getdelim, "getdelim", (char **line, size_t *size, int delimiter, FILE *file),
       (line, size, delimiter, file))
STREAM(char *, NULL, fgets, "fgets", (char *line, int size, FILE *file), (line, size, file))
STREAM(size_t, 0, fread, "fread", (void *bytes, size_t size, size_t items, FILE *file),
       (bytes, size, items, file))
STREAM(int, EOF, fflush, "fflush", (FILE * file), (file))

/* Those with arguments that may be left out: all are words. */
#define VARIADIC(type, failed, name, parameters, last, arguments) \
	type name parameters \
	{ \
		static __typeof__(&name) next; \
		va_list list; \
		if (!next) \
			next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
		va_start(list, last); \
		long more = va_arg(list, long); \
		va_end(list); \
		return fails(#name) ? failed : next arguments; \
	}

VARIADIC(int, -1, open, (const char *path, int flags, ...), flags, (path, flags, (mode_t)more))
VARIADIC(int, -1, openat, (int directory, const char *path, int flags, ...), flags,
	 (directory, path, flags, (mode_t)more))
VARIADIC(int, -1, fcntl, (int fd, int what, ...), what, (fd, what, more))
VARIADIC(int, -1, ioctl, (int fd, unsigned long what, ...), what, (fd, what, more))

/* What a failed close reports is closed all the same. */
int close(int fd)
{
	static __typeof__(&close) next;

	if (!next)
		next = (__typeof__(&close))dlsym(RTLD_NEXT, "close");
	if (!fails("close"))
		return next(fd);
	(void)next(fd);
	errno = error;
	return -1;
}

/* The one that has no function in every libc. */
long syscall(long call, ...)
{
	static __typeof__(&syscall) next;
	long words[6];
	va_list list;

	if (!next)
		next = (__typeof__(&syscall))dlsym(RTLD_NEXT, "syscall");
	va_start(list, call);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(list, long);
	va_end(list);
	if (call == SYS_openat2 && fails("openat2"))
		return -1;
	return next(call, words[0], words[1], words[2], words[3], words[4], words[5]);
}
