/* openat2(2), also where there is none: see open_below.h. */
#include "shim/supervise/open_below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "tracker/sys/sys.h"

enum { NAME_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC, LINKS_MAX = 40, TRIES_MAX = 32 };

/* A path that is followed name by name. */
struct walk {
	int root; /* "/" begins there; AT_FDCWD: at this process's */
	int fd;   /* what was found up to here */
	uint64_t resolve;
	bool follows; /* the last name, too */
	int links;
	char rest[PATH_MAX];
};

static int go_to(struct walk *walk, int fd)
{
	if (walk->fd >= 0)
		(void)sys_close(walk->fd);
	walk->fd = fd;
	return fd < 0 ? fd : 0;
}

static int go_to_root(struct walk *walk)
{
	return go_to(walk, walk->root == AT_FDCWD ? sys_open("/", NAME_FLAGS, 0)
						  : sys_openat(walk->root, ".", NAME_FLAGS, 0));
}

static bool is_root(const struct walk *walk)
{
	struct stat here, root;

	return walk->root != AT_FDCWD && sys_fstat(walk->fd, &here) == 0 &&
	       sys_fstat(walk->root, &root) == 0 && here.st_dev == root.st_dev &&
	       here.st_ino == root.st_ino;
}

/* Goes on with a link's text, and with what stands behind the link.  Closes it. */
static int follow(struct walk *walk, int link)
{
	char text[PATH_MAX];
	struct statfs system;
	bool is_refused = ++walk->links > LINKS_MAX || walk->resolve & RESOLVE_NO_SYMLINKS ||
			  sys_call3(SYS_fstatfs, link, (long)&system, 0) < 0 ||
			  system.f_type == PROC_SUPER_MAGIC;
	ssize_t length = is_refused ? -ELOOP
				    : sys_call6(SYS_readlinkat, link, (long)"", (long)text,
						sizeof(text), 0, 0);
	size_t left = strlen(walk->rest);

	(void)sys_close(link);
	if (length < 0)
		return (int)length;
	if ((size_t)length + 1 + left >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memmove(walk->rest + length + 1, walk->rest, left + 1);
	memcpy(walk->rest, text, (size_t)length);
	walk->rest[length] = '/';
	if (!left) /* a slash there would ask for a directory */
		walk->rest[length] = '\0';
	return walk->rest[0] == '/' ? go_to_root(walk) : 0;
}

/* Takes the first name of the rest.  Returns 1; 0 at the end; a negative errno. */
static int step(struct walk *walk)
{
	char *begin = walk->rest + strspn(walk->rest, "/"), name[NAME_MAX + 1];
	size_t length = strcspn(begin, "/");
	const char *behind = begin + length;
	bool is_last = behind[strspn(behind, "/")] == '\0';
	struct stat stat;

	if (!length)
		return 0;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, begin, length);
	name[length] = '\0';
	memmove(walk->rest, behind, strlen(behind) + 1);
	if (strcmp(name, "..") == 0 && is_root(walk))
		return 1;
	int next = sys_openat(walk->fd, name, NAME_FLAGS, 0);
	if (next < 0)
		return next;
	bool follows = !is_last || *walk->rest || walk->follows;
	if (follows && sys_fstat(next, &stat) == 0 && S_ISLNK(stat.st_mode)) {
		int error = follow(walk, next);
		return error < 0 ? error : 1;
	}
	int error = go_to(walk, next);
	if (error == 0 && *walk->rest && sys_fstat(walk->fd, &stat) == 0 && !S_ISDIR(stat.st_mode))
		error = -ENOTDIR;
	return error < 0 ? error : 1;
}

static int open_by_names(int directory, const char *path, const struct open_how *how)
{
	struct walk walk = { .root = how->resolve & RESOLVE_IN_ROOT ? directory : AT_FDCWD,
			     .fd = -1,
			     .resolve = how->resolve,
			     .follows = !(how->flags & O_NOFOLLOW) };
	size_t length = strlen(path);
	struct stat stat;

	if (length >= sizeof(walk.rest))
		return -ENAMETOOLONG;
	memcpy(walk.rest, path, length + 1);
	int error = *path == '/' ? go_to_root(&walk)
		    : *path      ? go_to(&walk, sys_openat(directory, ".", NAME_FLAGS, 0))
				 : -ENOENT;
	for (int more = 1; error == 0 && more > 0;) {
		more = step(&walk);
		error = more < 0 ? more : 0;
	}
	if (error == 0 && how->flags & O_DIRECTORY &&
	    (sys_fstat(walk.fd, &stat) < 0 || !S_ISDIR(stat.st_mode)))
		error = -ENOTDIR;
	if (error < 0 && walk.fd >= 0)
		(void)sys_close(walk.fd);
	return error < 0 ? error : walk.fd;
}

int open_below(int directory, const char *path, const struct open_how *how)
{
	int fd = -EAGAIN;

	/* Below a root the kernel gives up at a `..` where anything on the machine was renamed meanwhile. */
	for (int tries = 0; fd == -EAGAIN && tries < TRIES_MAX; tries++)
		fd = (int)sys_call6(SYS_openat2, directory, (long)path, (long)how, sizeof(*how), 0,
				    0);
	return fd == -ENOSYS || fd == -EPERM || fd == -EAGAIN ? open_by_names(directory, path, how)
							      : fd;
}
