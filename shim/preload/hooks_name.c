/*
 * The exported functions that name files: rename, link, remove, make, and change the directory.
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <utmp.h>
#include <utmpx.h>

#include "shim/preload/memory.h"
#include "shim/preload/real.h"
#include "shim/preload/stations.h"

static inline struct call about(enum operation operation, int directory, const char *path,
				uint32_t flags)
{
	return (struct call){ .operation = operation,
			      .flags = flags,
			      .name = { .path = path, .directory = directory } };
}

static inline struct call guarded(enum operation operation, int directory, const char *path,
				  struct write_check *check)
{
	struct call call = about(operation, directory, path, 0);
	check->path = NULL;
	call.own = check;
	return call;
}

static inline struct call about_two(enum operation operation, int directory, const char *path,
				    int other_directory, const char *other, unsigned flags,
				    struct write_check *check)
{
	struct call call = guarded(operation, directory, path, check);
	call.flags = flags;
	call.other = (struct call_name){ .path = other, .directory = other_directory };
	return call;
}

EXPORT int rename(const char *from, const char *to)
{
	struct write_check check;
	struct call call = about_two(OPERATION_RENAME, AT_FDCWD, from, AT_FDCWD, to, 0, &check);
	PASS(RENAME, REAL(rename)(from, to));
}

EXPORT int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
	struct write_check check;
	struct call call = about_two(OPERATION_RENAME, from_directory, from, to_directory, to, 0,
				     &check);
	PASS(RENAME, REAL(renameat)(from_directory, from, to_directory, to));
}

EXPORT int renameat2(int from_directory, const char *from, int to_directory, const char *to,
		     unsigned flags)
{
	struct write_check check;
	struct call call = about_two(OPERATION_RENAME, from_directory, from, to_directory, to,
				     flags, &check);
	PASS(RENAME, REAL(renameat2)(from_directory, from, to_directory, to, flags));
}

EXPORT int unlink(const char *path)
{
	struct write_check check;
	struct call call = guarded(OPERATION_DELETE, AT_FDCWD, path, &check);
	PASS(DELETE, REAL(unlink)(path));
}

EXPORT int unlinkat(int directory, const char *path, int flags)
{
	struct write_check check;
	struct call call = guarded(OPERATION_DELETE, directory, path, &check);
	if (flags & AT_REMOVEDIR) {
		call = about(OPERATION_REMOVE_DIRECTORY, directory, path, AT_REMOVEDIR);
		PASS(REMOVE_DIRECTORY, REAL(unlinkat)(directory, path, flags));
	}
	PASS(DELETE, REAL(unlinkat)(directory, path, flags));
}

EXPORT int remove(const char *path)
{
	struct write_check check;
	struct call call = guarded(OPERATION_DELETE, AT_FDCWD, path, &check);
	PASS(DELETE, REAL(remove)(path));
}

EXPORT int rmdir(const char *path)
{
	struct call call = about(OPERATION_REMOVE_DIRECTORY, AT_FDCWD, path, AT_REMOVEDIR);
	PASS(REMOVE_DIRECTORY, REAL(rmdir)(path));
}

EXPORT int mkdir(const char *path, mode_t mode)
{
	struct call call = about(OPERATION_MAKE, AT_FDCWD, path, S_IFDIR | mode);
	PASS(MAKE, REAL(mkdir)(path, mode));
}

EXPORT int mkdirat(int directory, const char *path, mode_t mode)
{
	struct call call = about(OPERATION_MAKE, directory, path, S_IFDIR | mode);
	PASS(MAKE, REAL(mkdirat)(directory, path, mode));
}

EXPORT char *mkdtemp(char *path)
{
	struct call call = about(OPERATION_MAKE, AT_FDCWD, path, S_IFDIR | 0700);
	char *ret = NULL;
	call.rules = RULE_WRITE | RULE_CREATE; /* the template's name, which is never taken */
	call.is_template = true;
	PASS_STATIONS(&call, OPERATION_MAKE, (ret = REAL(mkdtemp)(path)) ? 0 : -1);
	return ret;
}

EXPORT int link(const char *from, const char *to)
{
	struct write_check check;
	struct call call = about_two(OPERATION_LINK, AT_FDCWD, from, AT_FDCWD, to, 0, &check);
	PASS(LINK, REAL(link)(from, to));
}

EXPORT int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
	struct write_check check;
	struct call call = about_two(OPERATION_LINK, from_directory, from, to_directory, to,
				     (unsigned)flags, &check);
	call.name.follows = flags & AT_SYMLINK_FOLLOW;
	PASS(LINK, REAL(linkat)(from_directory, from, to_directory, to, flags));
}

EXPORT int symlink(const char *target, const char *path)
{
	struct call call = about(OPERATION_SYMLINK, AT_FDCWD, path, 0);
	call.other = (struct call_name){ .path = target, .directory = AT_FDCWD };
	PASS(SYMLINK, REAL(symlink)(target, path));
}

EXPORT int symlinkat(const char *target, int directory, const char *path)
{
	struct call call = about(OPERATION_SYMLINK, directory, path, 0);
	call.other = (struct call_name){ .path = target, .directory = AT_FDCWD };
	PASS(SYMLINK, REAL(symlinkat)(target, directory, path));
}

/* mknod(2) refuses a type that it does not make before it inspects the path. */
static inline int made(int error, mode_t mode, struct call *call)
{
	mode_t type = mode & S_IFMT;
	bool makes = type == 0 || type == S_IFREG || type == S_IFCHR || type == S_IFBLK ||
		     type == S_IFIFO || type == S_IFSOCK;
	if (error && !makes)
		call->name.path = NULL;
	return error;
}

EXPORT int mknod(const char *path, mode_t mode, dev_t device)
{
	struct call call = about(OPERATION_MAKE, AT_FDCWD, path, mode);
	PASS(MAKE, made(REAL(mknod)(path, mode, device), mode, &call));
}

EXPORT int mknodat(int directory, const char *path, mode_t mode, dev_t device)
{
	struct call call = about(OPERATION_MAKE, directory, path, mode);
	PASS(MAKE, made(REAL(mknodat)(directory, path, mode, device), mode, &call));
}

/* mknod for programs built before glibc 2.33. */
EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *device)
{
	struct call call = about(OPERATION_MAKE, AT_FDCWD, path, mode);
	PASS(MAKE, made(REAL(__xmknod)(version, path, mode, device), mode, &call));
}

EXPORT int __xmknodat(int version, int directory, const char *path, mode_t mode, dev_t *device)
{
	struct call call = about(OPERATION_MAKE, directory, path, mode);
	PASS(MAKE, made(REAL(__xmknodat)(version, directory, path, mode, device), mode, &call));
}

EXPORT int mkfifo(const char *path, mode_t mode)
{
	struct call call = about(OPERATION_MAKE, AT_FDCWD, path, S_IFIFO | mode);
	PASS(MAKE, REAL(mkfifo)(path, mode));
}

EXPORT int mkfifoat(int directory, const char *path, mode_t mode)
{
	struct call call = about(OPERATION_MAKE, directory, path, S_IFIFO | mode);
	PASS(MAKE, REAL(mkfifoat)(directory, path, mode));
}

enum { SOCKET_PATH_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path) };

/* The path of a socket that is about to be made; false: it has none in the file system.  The kernel has not read the address yet. */
static bool read_socket_path(const struct sockaddr *address, size_t size_bytes, char *ret_path)
{
	const size_t path_at = offsetof(struct sockaddr_un, sun_path);
	const struct sockaddr_un *name = (const struct sockaddr_un *)(const void *)address;

	if (size_bytes <= path_at || size_bytes > sizeof(*name) || shim.sandboxed ||
	    !launch_is_byte((const char *)address) ||
	    !launch_is_byte((const char *)address + size_bytes - 1) ||
	    address->sa_family != AF_UNIX || !name->sun_path[0])
		return false;
	memcpy(ret_path, name->sun_path, size_bytes - path_at);
	ret_path[size_bytes - path_at] = '\0';
	return true;
}

EXPORT int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t size_bytes)
{
	char path[SOCKET_PATH_BYTES + 1];
	if (!shim.on || !read_socket_path(address.__sockaddr__, size_bytes, path))
		return REAL(bind)(fd, address, size_bytes);
	struct call call = about(OPERATION_MAKE, AT_FDCWD, path, S_IFSOCK | 0777);
	PASS(MAKE, REAL(bind)(fd, address, size_bytes));
}

/* These append to a file that the caller names, and do not say whether they could. */
EXPORT void updwtmp(const char *path, const struct utmp *entry)
{
	struct call call = about(OPERATION_APPEND_ENTRY, AT_FDCWD, path, 0);
	call.name.follows = true;
	if (!order_may(&call, OPERATION_APPEND_ENTRY))
		return;
	REAL(updwtmp)(path, entry);
	order_came_back(&call, OPERATION_APPEND_ENTRY);
}

EXPORT void updwtmpx(const char *path, const struct utmpx *entry)
{
	struct call call = about(OPERATION_APPEND_ENTRY, AT_FDCWD, path, 0);
	call.name.follows = true;
	if (!order_may(&call, OPERATION_APPEND_ENTRY))
		return;
	REAL(updwtmpx)(path, entry);
	order_came_back(&call, OPERATION_APPEND_ENTRY);
}

/* A negative size is wrong: the guard is not asked. */
static inline bool may_truncate(struct call *call, off64_t size_bytes)
{
	call->name.follows = true;
	call->amount = (uint64_t)size_bytes;
	return size_bytes < 0 || order_may(call, OPERATION_TRUNCATE);
}

static inline int truncated(struct call *call, int error)
{
	call->error = error;
	order_came_back(call, OPERATION_TRUNCATE);
	stations_guarded(call);
	return error;
}

EXPORT int truncate(const char *path, off_t size_bytes)
{
	struct write_check check;
	struct call call = guarded(OPERATION_TRUNCATE, AT_FDCWD, path, &check);
	return truncated(&call,
			 may_truncate(&call, size_bytes) ? REAL(truncate)(path, size_bytes) : -1);
}

EXPORT int truncate64(const char *path, off64_t size_bytes)
{
	struct write_check check;
	struct call call = guarded(OPERATION_TRUNCATE, AT_FDCWD, path, &check);
	return truncated(&call,
			 may_truncate(&call, size_bytes) ? REAL(truncate64)(path, size_bytes) : -1);
}

EXPORT int chdir(const char *path)
{
	int error = REAL(chdir)(path);
	call_moved(error, -1, path);
	return error;
}

EXPORT int fchdir(int directory)
{
	int error = REAL(fchdir)(directory);
	call_moved(error, directory, NULL);
	return error;
}
