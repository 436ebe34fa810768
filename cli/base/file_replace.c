/* Replacing a file: see file_replace.h. */
#include "cli/base/file_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes the directories above a file. */
static int make_directories(const char *path)
{
	char directory[PATH_MAX];

	(void)snprintf(directory, sizeof(directory), "%s", path);
	for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(directory, 0777) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

static int write_whole(int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t written = write(fd, bytes, count);
		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			bytes += written;
			count -= (size_t)written;
		}
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static bool is_as_read(const char *path, const struct stat *before)
{
	struct stat now;

	if (!before)
		return lstat(path, &now) < 0 && errno == ENOENT;
	return stat(path, &now) == 0 && now.st_dev == before->st_dev &&
	       now.st_ino == before->st_ino && now.st_size == before->st_size &&
	       now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Replaces a file, whole or not at all; a symbolic link goes on to name it.  before: as it was
 * read, NULL: there is none.  Says what went wrong. */
int file_replace(const char *place, const char *bytes, size_t count, const struct stat *before,
		 char *ret_fault, size_t capacity)
{
	char path[PATH_MAX], fresh[PATH_MAX + 16];
	int error = 0;

	if (before && before->st_nlink > 1) {
		(void)snprintf(
			ret_fault, capacity,
			"%s: has other names (hard links), of which this would make another file; "
			"change it by hand",
			place);
		return -EEXIST;
	}
	if (!before)
		error = make_directories(place);
	if (error == 0 && before && !realpath(place, path))
		error = -errno;
	if (error == 0 && !before)
		(void)snprintf(path, sizeof(path), "%s", place);
	(void)snprintf(fresh, sizeof(fresh), "%s.seen-XXXXXX", path);
	int fd = error == 0 ? mkostemp(fresh, O_CLOEXEC) : -1;
	if (error == 0 && fd < 0)
		error = -errno;
	if (error < 0) {
		(void)snprintf(ret_fault, capacity, "%s: cannot be written: %s", place,
			       strerror(-error));
		return error;
	}
	mode_t mask = umask(0);
	(void)umask(mask);
	error = write_whole(fd, bytes, count);
	/* Owner first: that takes set-ID bits. */
	if (error == 0 && before && (before->st_uid != geteuid() || before->st_gid != getegid()) &&
	    fchown(fd, before->st_uid, before->st_gid) < 0)
		error = -errno;
	if (error == 0 && fchmod(fd, before ? before->st_mode & 07777 : 0666 & ~mask) < 0)
		error = -errno;
	if (error == 0 && !is_as_read(place, before))
		error = -EBUSY;
	if (error == 0 && rename(fresh, path) < 0)
		error = -errno;
	(void)close(fd);
	if (error < 0) {
		(void)unlink(fresh);
		(void)snprintf(ret_fault, capacity, "%s: cannot be written: %s", place,
			       error == -EBUSY ? "another program changed it just now; try again"
					       : strerror(-error));
	}
	return error;
}
