/* Finding what another process names: see resolve.h. */
#include "shim/supervise/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/supervise/memory.h"
#include "shim/supervise/open_below.h"
#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

/* A relative path whose symbolic links begin at another root than ours: from that root on, where its directory's
 * path below it is known. */
static int resolve_from_root(const struct target *target, const struct named *named, bool follows)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW),
				.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT };
	char path[2 * SEGMENT_PATH_BYTES];
	size_t length = strlen(target->root);

	if (!named->base || strncmp(named->base, target->root, length) != 0 ||
	    (named->base[length] && named->base[length] != '/'))
		return -ELOOP;
	(void)snprintf(path, sizeof(path), "%s/%s", named->base + length, named->path);
	int root = proc_open_path(named->tid, "root");
	if (root < 0)
		return root;
	int fd = open_below(root, path, &how);
	(void)close(root);
	return fd;
}

int resolve_name(const struct target *target, const struct named *named, bool follows)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW),
				.resolve = RESOLVE_NO_MAGICLINKS };
	bool absolute = named->path[0] == '/';
	char name[32] = "cwd";
	int base = AT_FDCWD;

	if (absolute && target->root) {
		base = proc_open_path(named->tid, "root");
		how.resolve = RESOLVE_IN_ROOT;
	} else if (!absolute) {
		if (named->directory != AT_FDCWD)
			(void)snprintf(name, sizeof(name), "fd/%d", named->directory);
		base = proc_open_path(named->tid, name);
		if (target->root) /* links would begin at our root */
			how.resolve |= RESOLVE_NO_SYMLINKS;
	}
	if (base < 0 && base != AT_FDCWD)
		return base;
	int fd = open_below(base, named->path, &how);
	if (base >= 0)
		(void)close(base);
	return fd == -ELOOP && !absolute && target->root ? resolve_from_root(target, named, follows)
							 : fd;
}

int resolve_parent(const struct target *target, const struct named *named, char *ret_base)
{
	size_t length = strlen(named->path), at;
	char above[SEGMENT_PATH_BYTES];
	struct named parent = *named;

	while (length > 1 && named->path[length - 1] == '/')
		length--;
	for (at = length; at > 0 && named->path[at - 1] != '/';)
		at--;
	size_t bytes = length - at;
	if (!bytes || bytes > NAME_MAX || at >= sizeof(above))
		return -EINVAL;
	memcpy(ret_base, named->path + at, bytes);
	ret_base[bytes] = '\0';
	if (strcmp(ret_base, ".") == 0 || strcmp(ret_base, "..") == 0)
		return -EINVAL;
	(void)snprintf(above, sizeof(above), "%.*s", at ? (int)at : 1, at ? named->path : ".");
	parent.path = above;
	return resolve_name(target, &parent, true);
}

bool resolve_is_visible(const struct target *target, int found)
{
	char path[SEGMENT_PATH_BYTES];
	struct stat here, there;

	return !target->root ||
	       (subject_link(SUBJECT_SELF, found, path, sizeof(path)) > 0 && path[0] == '/' &&
		sys_stat(path, &here) == 0 && sys_fstat(found, &there) == 0 &&
		here.st_dev == there.st_dev && here.st_ino == there.st_ino);
}

/* The path of what was found, as the kernel knows it. */
static bool link_of(int found, char *ret_path, size_t capacity)
{
	bool has_link = found >= 0 && subject_link(SUBJECT_SELF, found, ret_path, capacity) > 0 &&
			ret_path[0] == '/';
	if (found >= 0)
		(void)close(found);
	return has_link;
}

bool resolve_identify(const struct target *target, const struct named *named, bool follows,
		      char *ret_path, size_t capacity)
{
	const char *base = path_base(named->path);
	size_t before = (size_t)(base - named->path);
	struct named parent = *named;
	char parent_path[SEGMENT_PATH_BYTES];

	int found = resolve_name(target, named, follows);
	if (link_of(found, ret_path, capacity))
		return true;
	if (found != -ENOENT || !*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ||
	    before >= sizeof(parent_path))
		return false;
	(void)snprintf(parent_path, sizeof(parent_path), "%.*s", before ? (int)before : 1,
		       before ? named->path : ".");
	parent.path = parent_path;
	if (!link_of(resolve_name(target, &parent, true), ret_path, capacity))
		return false;
	size_t length = strlen(ret_path);
	length -= length == 1; /* the root */
	if (length + 1 + strlen(base) >= capacity)
		return false;
	(void)snprintf(ret_path + length, capacity - length, "/%s", base);
	return true;
}

int resolve_open(int found)
{
	char path[PROC_PATH_BYTES];
	struct stat stat;

	if (found < 0)
		return found;
	int fd = sys_fstat(found, &stat) < 0 || !S_ISREG(stat.st_mode) ? -EINVAL : 0;
	subject_path(SUBJECT_SELF, found, path);
	if (fd == 0)
		fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOATIME, 0);
	if (fd == -EPERM)
		fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	(void)close(found);
	return fd;
}
