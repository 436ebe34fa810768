/* The content store's directory: see contents_directory.h. */
#include "tracker/content/contents_directory.h"

#include <errno.h>
#include <fcntl.h>

#include "tracker/sys/sys.h"

int contents_directory_open_path(const char *path)
{
	struct stat stat;

	if (!path)
		return -ENOENT;
	int directory = sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (directory < 0)
		return directory;
	int error = sys_fstat(directory, &stat);
	if (error == 0 && stat.st_uid != sys_geteuid())
		error = -EPERM;
	if (error == 0)
		return directory;
	(void)sys_close(directory);
	return error;
}

int contents_directory_open(const struct segment *segment)
{
	return contents_directory_open_path(segment_contents(segment));
}

bool contents_is_whole(const struct stat *stat, const struct version *version)
{
	return S_ISREG(stat->st_mode) && (uint64_t)stat->st_size == version->size_bytes;
}

int contents_allocate(int fd, uint64_t size_bytes, bool *ret_is_sure)
{
	int error = 0;

	if (size_bytes > 0)
		do
			error = sys_fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size_bytes);
		while (error == -EINTR);
	*ret_is_sure = error == 0;
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG || error == -EIO ? error : 0;
}

int contents_write(int fd, const char *bytes, size_t size_bytes)
{
	while (size_bytes > 0) {
		ssize_t wrote = sys_write(fd, bytes, size_bytes);
		sys_wrote_aside(wrote);
		if (wrote == -EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? (int)wrote : -EIO;
		bytes += wrote;
		size_bytes -= (size_t)wrote;
	}
	return 0;
}
