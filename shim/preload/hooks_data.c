/*
 * The exported functions that move bytes.  In a tool they cost one test; a viewer's reads and
 * writes are followed (viewer.c), an agent's reads counted (in_process.c).
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "shim/preload/keep_queue.h"
#include "shim/preload/real.h"
#include "shim/preload/stations.h"
#include "tracker/sys/sys.h"

/* Ends the wrapper of a function that returns how many bytes it moved, or -1 with errno. */
#define MOVE(OPERATION, call_by_libc) \
	do { \
		if (!order_may(&call, OPERATION_##OPERATION)) \
			return -1; \
		call.bytes.moved = (call_by_libc); \
		order_came_back(&call, OPERATION_##OPERATION); \
		return call.bytes.moved; \
	} while (0)

static inline struct call reads(int fd, void *memory, size_t size_bytes, int64_t offset)
{
	return (struct call){
		.operation = OPERATION_READ,
		.name = { .directory = fd },
		.bytes = { .memory = memory, .size_bytes = size_bytes, .offset = offset },
	};
}

static inline struct call writes(int fd, const void *memory, size_t size_bytes, int64_t offset)
{
	return (struct call){
		.operation = OPERATION_WRITE,
		.name = { .directory = fd },
		.bytes = { .memory = (void *)(uintptr_t)memory,
			   .size_bytes = size_bytes,
			   .offset = offset },
	};
}

static inline struct call moves_parts(enum operation operation, int fd, const struct iovec *parts,
				      int count, int64_t offset)
{
	return (struct call){
		.operation = operation,
		.name = { .directory = fd },
		.bytes = { .parts = parts, .part_count = count, .in_parts = true, .offset = offset },
	};
}

EXPORT ssize_t read(int fd, void *buffer, size_t size_bytes)
{
	struct call call = reads(fd, buffer, size_bytes, CALL_OWN_OFFSET);
	MOVE(READ, REAL(read)(fd, buffer, size_bytes));
}

EXPORT ssize_t __read(int fd, void *buffer, size_t size_bytes)
{
	struct call call = reads(fd, buffer, size_bytes, CALL_OWN_OFFSET);
	MOVE(READ, REAL(__read)(fd, buffer, size_bytes));
}

EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size_bytes, size_t buffer_bytes)
{
	struct call call = reads(fd, buffer, size_bytes, CALL_OWN_OFFSET);
	MOVE(READ, REAL(__read_chk)(fd, buffer, size_bytes, buffer_bytes));
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	struct call call = moves_parts(OPERATION_READ, fd, parts, count, CALL_OWN_OFFSET);
	MOVE(READ, REAL(readv)(fd, parts, count));
}

EXPORT ssize_t pread(int fd, void *buffer, size_t size_bytes, off_t offset)
{
	struct call call = reads(fd, buffer, size_bytes, offset);
	MOVE(READ, REAL(pread)(fd, buffer, size_bytes, offset));
}

EXPORT ssize_t pread64(int fd, void *buffer, size_t size_bytes, off64_t offset)
{
	struct call call = reads(fd, buffer, size_bytes, offset);
	MOVE(READ, REAL(pread64)(fd, buffer, size_bytes, offset));
}

EXPORT ssize_t __pread64(int fd, void *buffer, size_t size_bytes, off64_t offset)
{
	struct call call = reads(fd, buffer, size_bytes, offset);
	MOVE(READ, REAL(__pread64)(fd, buffer, size_bytes, offset));
}

EXPORT ssize_t __pread_chk(int fd, void *buffer, size_t size_bytes, off_t offset,
			   size_t buffer_bytes)
{
	struct call call = reads(fd, buffer, size_bytes, offset);
	MOVE(READ, REAL(__pread_chk)(fd, buffer, size_bytes, offset, buffer_bytes));
}

EXPORT ssize_t __pread64_chk(int fd, void *buffer, size_t size_bytes, off64_t offset,
			     size_t buffer_bytes)
{
	struct call call = reads(fd, buffer, size_bytes, offset);
	MOVE(READ, REAL(__pread64_chk)(fd, buffer, size_bytes, offset, buffer_bytes));
}

EXPORT ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	struct call call = moves_parts(OPERATION_READ, fd, parts, count, offset);
	MOVE(READ, REAL(preadv)(fd, parts, count, offset));
}

EXPORT ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	struct call call = moves_parts(OPERATION_READ, fd, parts, count, offset);
	MOVE(READ, REAL(preadv64)(fd, parts, count, offset));
}

EXPORT ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	struct call call = moves_parts(OPERATION_READ, fd, parts, count, offset);
	MOVE(READ, REAL(preadv2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
	struct call call = moves_parts(OPERATION_READ, fd, parts, count, offset);
	MOVE(READ, REAL(preadv64v2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t write(int fd, const void *data, size_t size_bytes)
{
	struct call call = writes(fd, data, size_bytes, CALL_OWN_OFFSET);
	MOVE(WRITE, REAL(write)(fd, data, size_bytes));
}

EXPORT ssize_t __write(int fd, const void *data, size_t size_bytes)
{
	struct call call = writes(fd, data, size_bytes, CALL_OWN_OFFSET);
	MOVE(WRITE, REAL(__write)(fd, data, size_bytes));
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	struct call call = moves_parts(OPERATION_WRITE, fd, parts, count, CALL_OWN_OFFSET);
	MOVE(WRITE, REAL(writev)(fd, parts, count));
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size_bytes, off_t offset)
{
	struct call call = writes(fd, data, size_bytes, offset);
	MOVE(WRITE, REAL(pwrite)(fd, data, size_bytes, offset));
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t size_bytes, off64_t offset)
{
	struct call call = writes(fd, data, size_bytes, offset);
	MOVE(WRITE, REAL(pwrite64)(fd, data, size_bytes, offset));
}

EXPORT ssize_t __pwrite64(int fd, const void *data, size_t size_bytes, off64_t offset)
{
	struct call call = writes(fd, data, size_bytes, offset);
	MOVE(WRITE, REAL(__pwrite64)(fd, data, size_bytes, offset));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	struct call call = moves_parts(OPERATION_WRITE, fd, parts, count, offset);
	MOVE(WRITE, REAL(pwritev)(fd, parts, count, offset));
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	struct call call = moves_parts(OPERATION_WRITE, fd, parts, count, offset);
	MOVE(WRITE, REAL(pwritev64)(fd, parts, count, offset));
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	struct call call = moves_parts(OPERATION_WRITE, fd, parts, count, offset);
	MOVE(WRITE, REAL(pwritev2)(fd, parts, count, offset, flags));
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
	struct call call = moves_parts(OPERATION_WRITE, fd, parts, count, offset);
	MOVE(WRITE, REAL(pwritev64v2)(fd, parts, count, offset, flags));
}

/* They do not pass through the process.  from: -1: they are its own. */
static inline struct call copies(int from, int to)
{
	return (struct call){ .operation = OPERATION_COPY,
			      .name = { .directory = from },
			      .other = { .directory = to } };
}

EXPORT ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset,
			       size_t size_bytes, unsigned flags)
{
	struct call call = copies(from, to);
	MOVE(COPY, REAL(copy_file_range)(from, from_offset, to, to_offset, size_bytes, flags));
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t size_bytes)
{
	struct call call = copies(from, to);
	MOVE(COPY, REAL(sendfile)(to, from, offset, size_bytes));
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *offset, size_t size_bytes)
{
	struct call call = copies(from, to);
	MOVE(COPY, REAL(sendfile64)(to, from, offset, size_bytes));
}

EXPORT ssize_t splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size_bytes,
		      unsigned flags)
{
	struct call call = copies(from, to);
	MOVE(COPY, REAL(splice)(from, from_offset, to, to_offset, size_bytes, flags));
}

EXPORT ssize_t tee(int from, int to, size_t size_bytes, unsigned flags)
{
	struct call call = copies(from, to);
	MOVE(COPY, REAL(tee)(from, to, size_bytes, flags));
}

EXPORT ssize_t vmsplice(int to, const struct iovec *parts, size_t count, unsigned flags)
{
	struct call call = copies(-1, to);
	MOVE(COPY, REAL(vmsplice)(to, parts, count, flags));
}

/* Before the library is attached an allocator may call these to get its first memory: looking up
 * libc's function would ask the allocator for memory.  Then the kernel is asked. */
static long came_early(long ret)
{
	if (ret < 0 && ret >= -4095) {
		errno = (int)-ret;
		return -1; /* also MAP_FAILED */
	}
	return ret;
}

static void *map_early(void *address, size_t size_bytes, int protection, int flags, int fd,
		       off64_t offset)
{
	return (void *)came_early(sys_call6(SYS_mmap, (long)address, (long)size_bytes, protection,
					    flags, fd, offset));
}

static inline struct call maps(size_t size_bytes, int protection, int flags, int fd, off64_t offset)
{
	return (struct call){
		.operation = OPERATION_MAP,
		.flags = (uint32_t)flags,
		.name = { .directory = fd },
		.bytes = { .size_bytes = size_bytes, .protection = protection, .offset = offset },
	};
}

/* Ends the wrapper of mmap(2). */
#define MAP(call_by_libc) \
	do { \
		if (!order_may(&call, OPERATION_MAP)) \
			return MAP_FAILED; \
		call.bytes.memory = (call_by_libc); \
		call.error = call.bytes.memory == MAP_FAILED ? -1 : 0; \
		order_came_back(&call, OPERATION_MAP); \
		return call.bytes.memory; \
	} while (0)

EXPORT void *mmap(void *address, size_t size_bytes, int protection, int flags, int fd, off_t offset)
{
	if (!shim.on)
		return map_early(address, size_bytes, protection, flags, fd, offset);
	struct call call = maps(size_bytes, protection, flags, fd, offset);
	MAP(REAL(mmap)(address, size_bytes, protection, flags, fd, offset));
}

EXPORT void *mmap64(void *address, size_t size_bytes, int protection, int flags, int fd,
		    off64_t offset)
{
	if (!shim.on)
		return map_early(address, size_bytes, protection, flags, fd, offset);
	struct call call = maps(size_bytes, protection, flags, fd, offset);
	MAP(REAL(mmap64)(address, size_bytes, protection, flags, fd, offset));
}

static inline struct call protects(void *address, size_t size_bytes, int protection)
{
	return (struct call){
		.operation = OPERATION_PROTECT,
		.bytes = { .memory = address, .size_bytes = size_bytes, .protection = protection },
	};
}

EXPORT int mprotect(void *address, size_t size_bytes, int protection)
{
	if (!shim.on)
		return (int)came_early(
			sys_call3(SYS_mprotect, (long)address, (long)size_bytes, protection));
	struct call call = protects(address, size_bytes, protection);
	PASS(PROTECT, REAL(mprotect)(address, size_bytes, protection));
}

EXPORT int pkey_mprotect(void *address, size_t size_bytes, int protection, int key)
{
	struct call call = protects(address, size_bytes, protection);
	PASS(PROTECT, REAL(pkey_mprotect)(address, size_bytes, protection, key));
}

EXPORT void *mremap(void *address, size_t size_bytes, size_t new_bytes, int flags, ...)
{
	va_list list;

	va_start(list, flags);
	void *wanted = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
	va_end(list);
	if (!shim.on)
		return (void *)came_early(sys_call6(SYS_mremap, (long)address, (long)size_bytes,
						    (long)new_bytes, flags, (long)wanted, 0));
	void *moved = REAL(mremap)(address, size_bytes, new_bytes, flags, wanted);
	if (__builtin_expect(keep_any(), 0))
		keep_remapped(address, moved, new_bytes);
	return moved;
}

static inline struct call resizes(enum operation operation, int fd, uint32_t flags, uint64_t amount)
{
	return (struct call){ .operation = operation,
			      .flags = flags,
			      .amount = amount,
			      .name = { .directory = fd } };
}

EXPORT int ftruncate(int fd, off_t size_bytes)
{
	struct call call = resizes(OPERATION_RESIZE, fd, 0, (uint64_t)size_bytes);
	PASS(RESIZE, REAL(ftruncate)(fd, size_bytes));
}

EXPORT int ftruncate64(int fd, off64_t size_bytes)
{
	struct call call = resizes(OPERATION_RESIZE, fd, 0, (uint64_t)size_bytes);
	PASS(RESIZE, REAL(ftruncate64)(fd, size_bytes));
}

/* Bytes are written to the file, or taken out of it (FALLOC_FL_PUNCH_HOLE ...). */
static inline struct call allocates(int fd, off64_t offset, off64_t size_bytes)
{
	return resizes(OPERATION_ALLOCATE, fd, JOURNAL_TRUNCATE_ALLOCATES,
		       (uint64_t)offset + (uint64_t)size_bytes);
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t size_bytes)
{
	struct call call = allocates(fd, offset, size_bytes);
	PASS(ALLOCATE, REAL(fallocate)(fd, mode, offset, size_bytes));
}

EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t size_bytes)
{
	struct call call = allocates(fd, offset, size_bytes);
	PASS(ALLOCATE, REAL(fallocate64)(fd, mode, offset, size_bytes));
}

EXPORT int posix_fallocate(int fd, off_t offset, off_t size_bytes)
{
	struct call call = allocates(fd, offset, size_bytes);
	PASS(ALLOCATE, REAL(posix_fallocate)(fd, offset, size_bytes));
}

EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t size_bytes)
{
	struct call call = allocates(fd, offset, size_bytes);
	PASS(ALLOCATE, REAL(posix_fallocate64)(fd, offset, size_bytes));
}

static inline struct call queues(enum operation operation, int fd)
{
	return (struct call){ .operation = operation, .name = { .directory = fd } };
}

/* fd: that is written to. */
static inline struct call queues_write(int fd)
{
	return queues(OPERATION_QUEUE, fd);
}

EXPORT int aio_read(struct aiocb *request)
{
	struct call call = queues(OPERATION_QUEUE_READ, -1);
	PASS(QUEUE_READ, REAL(aio_read)(request));
}

EXPORT int aio_read64(struct aiocb64 *request)
{
	struct call call = queues(OPERATION_QUEUE_READ, -1);
	PASS(QUEUE_READ, REAL(aio_read64)(request));
}

EXPORT int aio_write(struct aiocb *request)
{
	struct call call = queues_write(request->aio_fildes);
	PASS(QUEUE, REAL(aio_write)(request));
}

EXPORT int aio_write64(struct aiocb64 *request)
{
	struct call call = queues_write(request->aio_fildes);
	PASS(QUEUE, REAL(aio_write64)(request));
}

/* Several at once: libc reads the list, too. */
#define KEEP_WRITTEN(requests, count) \
	for (int i = 0; __builtin_expect(keep_any(), 0) && i < (count); i++) \
		if ((requests)[i] && (requests)[i]->aio_lio_opcode == LIO_WRITE) \
	keep_changing_by((requests)[i]->aio_fildes, false)

EXPORT int lio_listio(int mode, struct aiocb *const requests[], int count, struct sigevent *event)
{
	struct call call = queues_write(-1);
	KEEP_WRITTEN(requests, count);
	PASS(QUEUE, REAL(lio_listio)(mode, requests, count, event));
}

EXPORT int lio_listio64(int mode, struct aiocb64 *const requests[], int count,
			struct sigevent *event)
{
	struct call call = queues_write(-1);
	KEEP_WRITTEN(requests, count);
	PASS(QUEUE, REAL(lio_listio64)(mode, requests, count, event));
}

/* Of libaio, which calls the kernel by itself, past libc.  So does this: a libaio that was loaded later is behind no REAL().  An error is
 * a negative number; errno is left alone. */
EXPORT int io_submit(aio_context_t context, long count, struct iocb **requests)
{
	struct call call = queues_write(-1);
	if (__builtin_expect(keep_any(), 0))
		keep_submitted(requests, count);
	long submitted = sys_call3(SYS_io_submit, (long)context, count, (long)requests);
	call.error = submitted > 0 ? 0 : -1;
	order_came_back(&call, OPERATION_QUEUE);
	return (int)submitted;
}

/* Descriptors may come with a message. */

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t got = REAL(recvmsg)(fd, message, flags);
	if (__builtin_expect(shim.keeps, 0) && got >= 0 && message->msg_controllen)
		keep_received(message);
	return got;
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
		    struct timespec *timeout)
{
	int got = REAL(recvmmsg)(fd, messages, count, flags, timeout);
	for (int i = 0; __builtin_expect(shim.keeps, 0) && i < got; i++)
		if (messages[i].msg_hdr.msg_controllen)
			keep_received(&messages[i].msg_hdr);
	return got;
}
