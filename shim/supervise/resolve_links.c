/* Links that only /proc has: see resolve_links.h. */
#include "shim/supervise/resolve_links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "shim/supervise/memory.h"
#include "tracker/sys/sys.h"

enum { LINKS_MAX = 40, ROOT_INO = 1 };

/* Where a path is, between two of its names. */
struct walk {
	const struct target *target;
	pid_t tid;
	int at; /* O_PATH */
	int links;
	char rest[2 * SEGMENT_PATH_BYTES]; /* of the path */
};

/* Goes on at a descriptor, or ends with a negative errno.  Returns 0 or that. */
static int go_on(struct walk *walk, int fd)
{
	if (fd < 0)
		return fd;
	(void)close(walk->at);
	walk->at = fd;
	return 0;
}

static bool is_same(int a, int b)
{
	struct stat one, other;

	return sys_fstat(a, &one) == 0 && sys_fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/* `..` leads out of no root. */
static int go_up(struct walk *walk)
{
	int root = proc_open_path(walk->tid, "root");

	if (root < 0)
		return root;
	bool is_root = is_same(root, walk->at);
	(void)close(root);
	return is_root ? 0 : go_on(walk, openat(walk->at, "..", O_PATH | O_CLOEXEC));
}

/* The number that a process has in a /proc: the innermost of its own where that is not ours. */
static pid_t number_in(const struct walk *walk, pid_t pid)
{
	struct stat there, here;
	char path[64], text[4096];

	if (sys_fstat(walk->at, &there) == 0 && sys_stat("/proc", &here) == 0 &&
	    there.st_dev == here.st_dev)
		return pid;
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return pid;
	char *line = strstr(text, "\nNSpid:");
	if (!line)
		return pid;
	line += 7;
	line[strcspn(line, "\n")] = '\0';
	const char *last = strrchr(line, '\t');
	return last ? (pid_t)strtol(last + 1, NULL, 10) : pid;
}

/* Puts the text of a link in front of what is left of the path. */
static int prepend(struct walk *walk, const char *text)
{
	char rest[sizeof(walk->rest)];

	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	int length = snprintf(rest, sizeof(rest), "%s/%s", text, walk->rest);
	if (length < 0 || (size_t)length >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, (size_t)length + 1);
	return text[0] == '/' ? go_on(walk, proc_open_path(walk->tid, "root")) : 0;
}

static bool is_proc(int fd)
{
	struct statfs file_system;

	return fstatfs(fd, &file_system) == 0 && file_system.f_type == PROC_SUPER_MAGIC;
}

/* A symbolic link named `name` in the directory where the walk is. */
static int follow(struct walk *walk, int link, const char *name)
{
	char text[SEGMENT_PATH_BYTES];
	struct stat stat;
	bool in_proc = is_proc(link);
	bool is_top = in_proc && sys_fstat(walk->at, &stat) == 0 && stat.st_ino == ROOT_INO;
	int pid = (int)number_in(walk, walk->target->pid);

	if (in_proc && !is_top) /* all of these are of what a process has */
		return ++walk->links > LINKS_MAX
			       ? -ELOOP
			       : go_on(walk, openat(walk->at, name, O_PATH | O_CLOEXEC));
	if (is_top && strcmp(name, "self") == 0) {
		(void)snprintf(text, sizeof(text), "%d", pid);
	} else if (is_top && strcmp(name, "thread-self") == 0) {
		(void)snprintf(text, sizeof(text), "%d/task/%d", pid,
			       (int)number_in(walk, walk->tid));
	} else {
		ssize_t length = readlinkat(link, "", text, sizeof(text) - 1);
		if (length <= 0)
			return -ENOENT;
		text[length] = '\0';
	}
	return prepend(walk, text);
}

/* One name of the path.  Returns 0, 1 where it was the last, or a negative errno. */
static int step(struct walk *walk, bool follows)
{
	char name[256];
	const char *from = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(from, "/");
	struct stat stat;

	if (!length)
		return 1;
	if (length >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, from, length);
	name[length] = '\0';
	bool is_last = !from[length];
	memmove(walk->rest, from + length, strlen(from + length) + 1);
	if (strcmp(name, "..") == 0)
		return go_up(walk);
	int next = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -errno;
	if (sys_fstat(next, &stat) == 0 && S_ISLNK(stat.st_mode) && (!is_last || follows)) {
		int error = follow(walk, next, name);
		(void)close(next);
		return error;
	}
	return go_on(walk, next);
}

static int walk_along(const struct target *target, const struct named *named, bool follows)
{
	struct walk walk = { .target = target, .tid = named->tid, .at = -1 };
	char name[32] = "cwd";
	int error = 0;

	if (strlen(named->path) >= sizeof(walk.rest))
		return -ENAMETOOLONG;
	memcpy(walk.rest, named->path, strlen(named->path) + 1);
	if (named->path[0] == '/')
		(void)snprintf(name, sizeof(name), "root");
	else if (named->directory != AT_FDCWD)
		(void)snprintf(name, sizeof(name), "fd/%d", named->directory);
	walk.at = proc_open_path(named->tid, name);
	if (walk.at < 0)
		return walk.at;
	while (error == 0)
		error = step(&walk, follows);
	if (error == 1)
		return walk.at;
	(void)close(walk.at);
	return error;
}

int resolve_file(const struct target *target, const struct named *named, bool follows)
{
	int fd = resolve_name(target, named, follows);

	/* `self` leads nowhere in the /proc of a namespace that we are not in. */
	bool is_other_self = fd == -ENOENT && target_is_elsewhere(target);
	return fd == -ELOOP || fd == -EXDEV || is_other_self ? walk_along(target, named, follows)
							     : fd;
}
