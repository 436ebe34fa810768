/*
 * The exported functions that move bytes.  In a tool they cost one test; a viewer's reads and writes are followed
 * (view.c), an agent's reads counted (own.c).
 */
#include "shim/preload/real.h"
#include "shim/preload/shim.h"

/* Bytes were read in the order of the file, from the descriptor's own offset. */
static inline ssize_t was_read(int fd, const void *buffer, ssize_t count)
{
	if (__builtin_expect(shim.views, 0))
		view_read(fd, buffer, count);
	else if (__builtin_expect(shim.reads_own, 0))
		own_read(fd, count);
	return count;
}

/* Bytes were read at a place of the caller's choice, or into several buffers. */
static inline ssize_t was_read_elsewhere(int fd, ssize_t count)
{
	if (__builtin_expect(shim.views, 0))
		view_odd();
	else if (__builtin_expect(shim.reads_own, 0))
		own_read(fd, count);
	return count;
}

static inline ssize_t was_written(int fd, ssize_t count)
{
	if (__builtin_expect(shim.views, 0))
		view_wrote(fd, count);
	return count;
}

/* Bytes went from one descriptor to another without passing through the process. */
static inline ssize_t was_copied(ssize_t count)
{
	if (__builtin_expect(shim.views, 0) && count > 0)
		view_odd();
	return count;
}

EXPORT ssize_t read(int fd, void *buffer, size_t size_bytes)
{
	return was_read(fd, buffer, REAL(read)(fd, buffer, size_bytes));
}

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size_bytes, size_t buffer_bytes)
{
	return was_read(fd, buffer, REAL(__read_chk)(fd, buffer, size_bytes, buffer_bytes));
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	return was_read_elsewhere(fd, REAL(readv)(fd, parts, count));
}

EXPORT ssize_t pread(int fd, void *buffer, size_t size_bytes, off_t offset)
{
	return was_read_elsewhere(fd, REAL(pread)(fd, buffer, size_bytes, offset));
}

EXPORT ssize_t pread64(int fd, void *buffer, size_t size_bytes, off64_t offset)
{
	return was_read_elsewhere(fd, REAL(pread64)(fd, buffer, size_bytes, offset));
}

EXPORT ssize_t __pread_chk(int fd, void *buffer, size_t size_bytes, off_t offset, size_t buffer_bytes)
{
	return was_read_elsewhere(fd, REAL(__pread_chk)(fd, buffer, size_bytes, offset, buffer_bytes));
}

EXPORT ssize_t __pread64_chk(int fd, void *buffer, size_t size_bytes, off64_t offset, size_t buffer_bytes)
{
	return was_read_elsewhere(fd, REAL(__pread64_chk)(fd, buffer, size_bytes, offset, buffer_bytes));
}

EXPORT ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	return was_read_elsewhere(fd, REAL(preadv)(fd, parts, count, offset));
}

EXPORT ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	return was_read_elsewhere(fd, REAL(preadv64)(fd, parts, count, offset));
}

EXPORT ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	return was_read_elsewhere(fd, REAL(preadv2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
	return was_read_elsewhere(fd, REAL(preadv64v2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t write(int fd, const void *data, size_t size_bytes)
{
	return was_written(fd, REAL(write)(fd, data, size_bytes));
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return was_written(fd, REAL(writev)(fd, parts, count));
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size_bytes, off_t offset)
{
	return was_written(fd, REAL(pwrite)(fd, data, size_bytes, offset));
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t size_bytes, off64_t offset)
{
	return was_written(fd, REAL(pwrite64)(fd, data, size_bytes, offset));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	return was_written(fd, REAL(pwritev)(fd, parts, count, offset));
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	return was_written(fd, REAL(pwritev64)(fd, parts, count, offset));
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	return was_written(fd, REAL(pwritev2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
	return was_written(fd, REAL(pwritev64v2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size_bytes,
			       unsigned flags)
{
	return was_copied(REAL(copy_file_range)(from, from_offset, to, to_offset, size_bytes, flags));
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t size_bytes)
{
	return was_copied(REAL(sendfile)(to, from, offset, size_bytes));
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *offset, size_t size_bytes)
{
	return was_copied(REAL(sendfile64)(to, from, offset, size_bytes));
}

EXPORT ssize_t splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size_bytes, unsigned flags)
{
	return was_copied(REAL(splice)(from, from_offset, to, to_offset, size_bytes, flags));
}
