/* Copying the bytes of an open file: see file_copy.h. */
#include "cli/undo/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	BUFFER_BYTES = 1 << 18,
	PAGE_BYTES = 4096,
	CLONE_BYTES_MIN = 1 << 16, /* below, copying is as cheap */
	NAMES_BYTES = 1 << 12,
	VALUE_BYTES = 1 << 16,
};

static bool is_zero(const char *bytes, size_t size_bytes)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size_bytes - 1) == 0;
}

static int write_at(int fd, const char *bytes, size_t size_bytes, uint64_t offset)
{
	while (size_bytes) {
		ssize_t put = pwrite(fd, bytes, size_bytes, (off_t)offset);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -ENOSPC;
		bytes += put;
		offset += (uint64_t)put;
		size_bytes -= (size_t)put;
	}
	return 0;
}

/* Writes what is not a page of zeroes. */
static int write_pages(int fd, const char *bytes, size_t size_bytes, uint64_t offset)
{
	int error = 0;

	for (size_t at = 0, size; at < size_bytes && error == 0; at += size) {
		size = size_bytes - at < PAGE_BYTES ? size_bytes - at : PAGE_BYTES;
		if (size < PAGE_BYTES || !is_zero(bytes + at, size))
			error = write_at(fd, bytes + at, size, offset + at);
	}
	return error;
}

static int copy_bytes(int from, int to, uint64_t size_bytes, char *buffer, bool has_holes)
{
	int error = 0;

	for (uint64_t done = 0; done < size_bytes && error == 0;) {
		uint64_t left = size_bytes - done;
		ssize_t got = pread(from, buffer, left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES,
				    (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EAGAIN;
		error = size_bytes <= PAGE_BYTES || !has_holes
				? write_at(to, buffer, (size_t)got, done)
				: write_pages(to, buffer, (size_t)got, done);
		done += (uint64_t)got;
	}
	return error;
}

int file_copy(int from, int to, uint64_t size_bytes)
{
	struct stat source, target;

	if (fstat(from, &source) < 0 || fstat(to, &target) < 0)
		return -errno;
	if (source.st_dev == target.st_dev && source.st_ino == target.st_ino)
		return 0; /* the same file by two names */
	if (size_bytes >= CLONE_BYTES_MIN && ioctl(to, FICLONE, from) == 0)
		return ftruncate(to, (off_t)size_bytes) < 0 ? -errno : 0;
	/* What was there is no hole.  ext4 writes a file to its disk at once that was truncated before: not a new one. */
	if ((target.st_size || target.st_blocks) && ftruncate(to, 0) < 0)
		return -errno;
	if (size_bytes > PAGE_BYTES && ftruncate(to, (off_t)size_bytes) < 0)
		return -errno;
	char *buffer = malloc(BUFFER_BYTES);
	int error = buffer ? copy_bytes(from, to, size_bytes, buffer, true) : -ENOMEM;
	free(buffer);
	return error;
}

int file_copy_into(int from, int to, uint64_t size_bytes)
{
	/* what is there stays until there is room for all */
	if (size_bytes && fallocate(to, FALLOC_FL_KEEP_SIZE, 0, (off_t)size_bytes) < 0 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	char *buffer = malloc(BUFFER_BYTES);
	int error = buffer ? copy_bytes(from, to, size_bytes, buffer, false) : -ENOMEM;
	free(buffer);
	return error == 0 && ftruncate(to, (off_t)size_bytes) < 0 ? -errno : error;
}

void file_copy_attributes(int from, int to)
{
	char names[NAMES_BYTES];
	ssize_t length = flistxattr(from, names, sizeof(names));
	char *value = length > 0 ? malloc(VALUE_BYTES) : NULL;

	for (const char *name = names; value && name < names + length; name += strlen(name) + 1) {
		ssize_t size = strcmp(name, "security.capability") == 0
				       ? -1
				       : fgetxattr(from, name, value, VALUE_BYTES);
		if (size >= 0)
			(void)fsetxattr(to, name, value, (size_t)size, 0);
	}
	free(value);
}
