/*
 * The exported functions that move bytes.  In a tool they cost one test; a viewer's reads and
 * writes are followed (viewer.c), an agent's reads counted (in_process.c).
 */
#include <errno.h>
#include <limits.h>
#include <sys/mman.h>

#include "shim/preload/call.h"
#include "shim/preload/real.h"
#include "tracker/sys/sys.h"

/* Bytes were read in the order of the file, from the descriptor's own offset.  Returns what the
 * call is to return. */
static inline ssize_t was_read(int fd, void *buffer, size_t size_bytes, ssize_t count)
{
	if (__builtin_expect(shim.plain, 1))
		;
	else if (shim.views)
		viewer_read(fd, buffer, count);
	else if (shim.reads_own)
		count = in_process_was_read(fd, &(struct iovec){ buffer, size_bytes }, 1,
					    OWN_OFFSET, count);
	call_read(fd, count);
	return count;
}

/* Bytes were read at a place of the caller's choice, or into several buffers. */
static inline ssize_t was_read_elsewhere(int fd, const struct iovec *parts, int part_count,
					 off_t offset, ssize_t count)
{
	if (__builtin_expect(shim.plain, 1))
		;
	else if (shim.views)
		viewer_untrackable();
	else if (shim.reads_own)
		count = in_process_was_read(fd, parts, part_count, offset, count);
	call_read(fd, count);
	return count;
}

static inline ssize_t was_read_at(int fd, void *buffer, size_t size_bytes, off_t offset,
				  ssize_t count)
{
	return was_read_elsewhere(fd, &(struct iovec){ buffer, size_bytes }, 1, offset, count);
}

static inline ssize_t was_written(int fd, ssize_t count)
{
	if (__builtin_expect(shim.views, 0))
		viewer_wrote(fd, count);
	call_written(fd, count);
	return count;
}

EXPORT ssize_t read(int fd, void *buffer, size_t size_bytes)
{
	return was_read(fd, buffer, size_bytes, REAL(read)(fd, buffer, size_bytes));
}

EXPORT ssize_t __read(int fd, void *buffer, size_t size_bytes)
{
	return was_read(fd, buffer, size_bytes, REAL(__read)(fd, buffer, size_bytes));
}

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size_bytes, size_t buffer_bytes)
{
	return was_read(fd, buffer, size_bytes,
			REAL(__read_chk)(fd, buffer, size_bytes, buffer_bytes));
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	return was_read_elsewhere(fd, parts, count, OWN_OFFSET, REAL(readv)(fd, parts, count));
}

EXPORT ssize_t pread(int fd, void *buffer, size_t size_bytes, off_t offset)
{
	return was_read_at(fd, buffer, size_bytes, offset,
			   REAL(pread)(fd, buffer, size_bytes, offset));
}

EXPORT ssize_t pread64(int fd, void *buffer, size_t size_bytes, off64_t offset)
{
	return was_read_at(fd, buffer, size_bytes, offset,
			   REAL(pread64)(fd, buffer, size_bytes, offset));
}

EXPORT ssize_t __pread64(int fd, void *buffer, size_t size_bytes, off64_t offset)
{
	return was_read_at(fd, buffer, size_bytes, offset,
			   REAL(__pread64)(fd, buffer, size_bytes, offset));
}

EXPORT ssize_t __pread_chk(int fd, void *buffer, size_t size_bytes, off_t offset,
			   size_t buffer_bytes)
{
	return was_read_at(fd, buffer, size_bytes, offset,
			   REAL(__pread_chk)(fd, buffer, size_bytes, offset, buffer_bytes));
}

EXPORT ssize_t __pread64_chk(int fd, void *buffer, size_t size_bytes, off64_t offset,
			     size_t buffer_bytes)
{
	return was_read_at(fd, buffer, size_bytes, offset,
			   REAL(__pread64_chk)(fd, buffer, size_bytes, offset, buffer_bytes));
}

EXPORT ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	return was_read_elsewhere(fd, parts, count, offset, REAL(preadv)(fd, parts, count, offset));
}

EXPORT ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	return was_read_elsewhere(fd, parts, count, offset,
				  REAL(preadv64)(fd, parts, count, offset));
}

EXPORT ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	return was_read_elsewhere(fd, parts, count, offset,
				  REAL(preadv2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
	return was_read_elsewhere(fd, parts, count, offset,
				  REAL(preadv64v2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t write(int fd, const void *data, size_t size_bytes)
{
	if (!call_may_write(fd, data, size_bytes))
		return -1;
	return was_written(fd, REAL(write)(fd, data, size_bytes));
}

EXPORT ssize_t __write(int fd, const void *data, size_t size_bytes)
{
	if (!call_may_write(fd, data, size_bytes))
		return -1;
	return was_written(fd, REAL(__write)(fd, data, size_bytes));
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	if (!call_may_write_parts(fd, parts, count))
		return -1;
	return was_written(fd, REAL(writev)(fd, parts, count));
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size_bytes, off_t offset)
{
	if (!call_may_write(fd, data, size_bytes))
		return -1;
	return was_written(fd, REAL(pwrite)(fd, data, size_bytes, offset));
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t size_bytes, off64_t offset)
{
	if (!call_may_write(fd, data, size_bytes))
		return -1;
	return was_written(fd, REAL(pwrite64)(fd, data, size_bytes, offset));
}

EXPORT ssize_t __pwrite64(int fd, const void *data, size_t size_bytes, off64_t offset)
{
	if (!call_may_write(fd, data, size_bytes))
		return -1;
	return was_written(fd, REAL(__pwrite64)(fd, data, size_bytes, offset));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	if (!call_may_write_parts(fd, parts, count))
		return -1;
	return was_written(fd, REAL(pwritev)(fd, parts, count, offset));
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	if (!call_may_write_parts(fd, parts, count))
		return -1;
	return was_written(fd, REAL(pwritev64)(fd, parts, count, offset));
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	if (!call_may_write_parts(fd, parts, count))
		return -1;
	return was_written(fd, REAL(pwritev2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
	if (!call_may_write_parts(fd, parts, count))
		return -1;
	return was_written(fd, REAL(pwritev64v2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset,
			       size_t size_bytes, unsigned flags)
{
	return call_copied(
		from, to,
		REAL(copy_file_range)(from, from_offset, to, to_offset, size_bytes, flags));
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t size_bytes)
{
	return call_copied(from, to, REAL(sendfile)(to, from, offset, size_bytes));
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *offset, size_t size_bytes)
{
	return call_copied(from, to, REAL(sendfile64)(to, from, offset, size_bytes));
}

EXPORT ssize_t splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size_bytes,
		      unsigned flags)
{
	return call_copied(from, to,
			   REAL(splice)(from, from_offset, to, to_offset, size_bytes, flags));
}

EXPORT ssize_t tee(int from, int to, size_t size_bytes, unsigned flags)
{
	return call_copied(from, to, REAL(tee)(from, to, size_bytes, flags));
}

EXPORT ssize_t vmsplice(int to, const struct iovec *parts, size_t count, unsigned flags)
{
	return call_copied(-1, to, REAL(vmsplice)(to, parts, count, flags));
}

/* Before the library is attached an allocator may call this to get its first memory: looking up
 * libc's function would ask the allocator for memory.  Then the kernel is asked. */
static void *map_early(void *address, size_t size_bytes, int protection, int flags, int fd,
		       off64_t offset)
{
	long ret = sys_call6(SYS_mmap, (long)address, (long)size_bytes, protection, flags, fd,
			     offset);
	if (ret < 0 && ret >= -4095) {
		errno = (int)-ret;
		return MAP_FAILED;
	}
	return (void *)ret;
}

EXPORT void *mmap(void *address, size_t size_bytes, int protection, int flags, int fd, off_t offset)
{
	if (!shim.on)
		return map_early(address, size_bytes, protection, flags, fd, offset);
	return call_mapped(REAL(mmap)(address, size_bytes, protection, flags, fd, offset),
			   size_bytes, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *address, size_t size_bytes, int protection, int flags, int fd,
		    off64_t offset)
{
	if (!shim.on)
		return map_early(address, size_bytes, protection, flags, fd, offset);
	return call_mapped(REAL(mmap64)(address, size_bytes, protection, flags, fd, offset),
			   size_bytes, protection, flags, fd, offset);
}

EXPORT int ftruncate(int fd, off_t size_bytes)
{
	return call_resized(REAL(ftruncate)(fd, size_bytes), fd, size_bytes);
}

EXPORT int ftruncate64(int fd, off64_t size_bytes)
{
	return call_resized(REAL(ftruncate64)(fd, size_bytes), fd, size_bytes);
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t size_bytes)
{
	return call_allocated(REAL(fallocate)(fd, mode, offset, size_bytes), fd, offset,
			      size_bytes);
}

EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t size_bytes)
{
	return call_allocated(REAL(fallocate64)(fd, mode, offset, size_bytes), fd, offset,
			      size_bytes);
}

EXPORT int posix_fallocate(int fd, off_t offset, off_t size_bytes)
{
	return call_allocated(REAL(posix_fallocate)(fd, offset, size_bytes), fd, offset,
			      size_bytes);
}

EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t size_bytes)
{
	return call_allocated(REAL(posix_fallocate64)(fd, offset, size_bytes), fd, offset,
			      size_bytes);
}

/* Requests that libc's own threads carry out: neither what they read nor what they write passes by
 * here. */
static inline int was_queued(int error)
{
	if (error == 0)
		partial_note();
	return error;
}

EXPORT int aio_read(struct aiocb *request)
{
	return was_queued(REAL(aio_read)(request));
}

EXPORT int aio_read64(struct aiocb64 *request)
{
	return was_queued(REAL(aio_read64)(request));
}

EXPORT int aio_write(struct aiocb *request)
{
	return was_queued(REAL(aio_write)(request));
}

EXPORT int aio_write64(struct aiocb64 *request)
{
	return was_queued(REAL(aio_write64)(request));
}

EXPORT int lio_listio(int mode, struct aiocb *const requests[], int count, struct sigevent *event)
{
	return was_queued(REAL(lio_listio)(mode, requests, count, event));
}

EXPORT int lio_listio64(int mode, struct aiocb64 *const requests[], int count,
			struct sigevent *event)
{
	return was_queued(REAL(lio_listio64)(mode, requests, count, event));
}
