/* Files and directories that must be this user's: see owned.h. */
#include "cli/session/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracker/segment/segment.h"

int session_open_directory(int at, const char *path, int *ret_fd)
{
	struct stat stat;
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		int error = errno;
		if (error == ENOTDIR && fstatat(at, path, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(stat.st_mode))
			return -ELOOP;
		return -error;
	}
	int error = fstat(fd, &stat) < 0 ? -errno : stat.st_uid != geteuid() ? -EPERM : 0;
	if (error < 0)
		(void)close(fd);
	else
		*ret_fd = fd;
	return error;
}

int session_check_file(int at, const char *path)
{
	struct stat stat;

	if (fstatat(at, path, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* its open reports it */
	if (S_ISLNK(stat.st_mode))
		return -ELOOP;
	if (stat.st_uid != geteuid())
		return -EPERM;
	return stat.st_mode & 022 ? -EUCLEAN : 0;
}

int session_check_path(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char directory[SEGMENT_PATH_BYTES];
	int fd = -1;

	(void)snprintf(directory, sizeof(directory), "%.*s", (int)(name - 1 - path), path);
	int error = session_open_directory(AT_FDCWD, directory, &fd);
	if (error < 0) /* one that is not there: the open of the file reports it */
		return error == -ENOENT || error == -ENOTDIR ? 0 : error;
	error = session_check_file(fd, ".");
	if (error == 0)
		error = session_check_file(fd, name);
	(void)close(fd);
	return error;
}

const char *owned_explain(int error)
{
	switch (error) {
	case -EPERM:
		return "it belongs to another user";
	case -EUCLEAN:
		return "others may write to it; check what is in it, then `chmod go-w` it";
	case -ELOOP:
		return "it is a symbolic link, which is not followed";
	default:
		return strerror(-error);
	}
}
