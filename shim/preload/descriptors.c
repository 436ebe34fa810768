/* Descriptors that this program opened by name: see descriptors.h. */
#include "shim/preload/descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/preload/append.h"
#include "tracker/sys/sys.h"

enum {
	STREAM_NO_READS = 0x0004, /* glibc, libio.h: opened for writing alone */
	STREAM_PUTTING = 0x0800,  /* the buffer holds what was written */
};

struct descriptor descriptor_table[DESCRIPTORS_MAX];
unsigned descriptor_table_end;

uint32_t descriptor_opening(int fd)
{
	const struct descriptor *descriptor = descriptor_at(fd);
	return descriptor ? descriptor->opened : 0;
}

void descriptor_note_standard(int fd, int parent_fd)
{
	unsigned char *notes = shim_vforked.standard;
	bool known = (unsigned)parent_fd < VFORK_TOUCHED &&
		     !(shim_vforked.touched & (uint64_t)1 << (unsigned)parent_fd);

	if ((unsigned)fd < VFORK_TOUCHED)
		shim_vforked.touched |= (uint64_t)1 << fd;
	if ((unsigned)fd >= JOURNAL_STANDARD)
		return;
	if ((unsigned)parent_fd < JOURNAL_STANDARD && notes[parent_fd])
		notes[fd] = notes[parent_fd];
	else
		notes[fd] = known ? (unsigned char)(parent_fd + 1) : STANDARD_UNKNOWN;
}

const struct descriptor *descriptor_standard(int fd)
{
	unsigned char note = shim_vforked.called ? shim_vforked.standard[fd] : 0;
	if (note == STANDARD_UNKNOWN)
		return NULL;
	return descriptor_at(note ? note - 1 : fd);
}

void descriptor_fork(void)
{
	unsigned end = __atomic_load_n(&descriptor_table_end, __ATOMIC_RELAXED);

	for (unsigned fd = 0; fd < end; fd++) {
		descriptor_table[fd].read = descriptor_table[fd].written = (struct traffic){ 0 };
		descriptor_table[fd].start_bytes = DESCRIPTOR_NOT_WEIGHED;
	}
}

/* The first bytes that passed through a descriptor one way.  first: JOURNAL_READ or
 * JOURNAL_WRITE. */
static __attribute__((noinline)) void passed_first(enum journal_op first, int fd,
						   const struct descriptor *descriptor,
						   ssize_t count)
{
	struct journal_record record = descriptor_record(first, fd, descriptor);
	record.amount = (uint64_t)count;
	(void)append_record(&record, NULL, 0);
}

static inline void passed(enum journal_op first, int fd, ssize_t count)
{
	struct descriptor *descriptor = descriptor_at(fd);

	if (!descriptor || count <= 0 || in_vfork_child())
		return;
	struct traffic *traffic = first == JOURNAL_READ ? &descriptor->read : &descriptor->written;
	(void)__atomic_fetch_add(&traffic->bytes, (uint64_t)count, __ATOMIC_RELAXED);
	if (__atomic_fetch_add(&traffic->calls, 1, __ATOMIC_RELAXED) == 0)
		passed_first(first, fd, descriptor, count);
}

void descriptor_read(int fd, ssize_t count)
{
	passed(JOURNAL_READ, fd, count);
}

void descriptor_written(int fd, ssize_t count)
{
	passed(JOURNAL_WRITE, fd, count);
}

void descriptor_mapped(int fd, int protection, int flags, size_t size_bytes)
{
	struct descriptor *descriptor = descriptor_at(fd);
	bool stores = (protection & PROT_WRITE) && (flags & MAP_SHARED);
	uint32_t state = stores ? DESCRIPTOR_MAPPED_SHARED : DESCRIPTOR_MAPPED;

	if (!descriptor || in_vfork_child() ||
	    (__atomic_fetch_or(&descriptor->state, state, __ATOMIC_RELAXED) & state))
		return;
	struct journal_record record = descriptor_record(JOURNAL_MAP, fd, descriptor);
	record.flags = (uint32_t)protection | (flags & MAP_SHARED ? JOURNAL_MAP_SHARED : 0);
	record.amount = size_bytes;
	(void)append_record(&record, NULL, 0);
}

/* What is not told yet of a descriptor that is closed.  total: JOURNAL_READ_TOTAL or
 * JOURNAL_WRITE_TOTAL. */
static void write_total(enum journal_op total, int fd, const struct descriptor *descriptor,
			const struct traffic *traffic)
{
	if (traffic->calls < 2)
		return;
	struct journal_record record = descriptor_record(total, fd, descriptor);
	record.amount = traffic->bytes;
	record.count = traffic->calls;
	(void)append_record(&record, NULL, 0);
}

/* What a shell wrote by itself: libc's streams do that unseen.  Known by the file's size; where
 * programs were started meanwhile it is theirs, too, and they report it. */
static void write_weight(int fd, const struct descriptor *descriptor)
{
	struct journal_record record = descriptor_record(JOURNAL_WRITE, fd, descriptor);
	struct stat stat;

	if (descriptor->start_bytes == DESCRIPTOR_NOT_WEIGHED || descriptor->written.calls ||
	    shim.sandboxed || sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
	    (uint64_t)stat.st_size <= descriptor->start_bytes)
		return;
	if (descriptor->starts == shim_starts())
		record.amount = (uint64_t)stat.st_size - descriptor->start_bytes;
	else
		record.marks |= JOURNAL_AT_LEAST;
	(void)append_record(&record, NULL, 0);
	/* This copy of the descriptor reports it, and no other does again. */
	unsigned end = __atomic_load_n(&descriptor_table_end, __ATOMIC_RELAXED);
	uint32_t now = (uint64_t)stat.st_size < DESCRIPTOR_NOT_WEIGHED ? (uint32_t)stat.st_size
								       : DESCRIPTOR_NOT_WEIGHED;
	for (unsigned other = 0; other < end; other++)
		if (descriptor_table[other].opened == descriptor->opened &&
		    descriptor_table[other].start_bytes != DESCRIPTOR_NOT_WEIGHED)
			descriptor_table[other].start_bytes = now;
}

void descriptor_replacing(int fd)
{
	struct descriptor *descriptor = descriptor_at(fd);

	if (!descriptor || descriptor->start_bytes == DESCRIPTOR_NOT_WEIGHED || in_vfork_child())
		return;
	write_weight(fd, descriptor);
	descriptor->start_bytes = DESCRIPTOR_NOT_WEIGHED;
}

void descriptor_closing(unsigned first, unsigned last)
{
	unsigned end = __atomic_load_n(&descriptor_table_end, __ATOMIC_RELAXED);

	if (in_vfork_child()) { /* its descriptors are its own, this table is its parent's */
		for (unsigned fd = first; fd <= last && fd < VFORK_TOUCHED; fd++)
			descriptor_note_standard((int)fd, -1);
		return;
	}
	for (unsigned fd = first; fd <= last && fd < end; fd++) {
		struct descriptor *descriptor = &descriptor_table[fd];
		if (!__atomic_load_n(&descriptor->state, __ATOMIC_ACQUIRE))
			continue;
		write_weight((int)fd, descriptor);
		if (!__atomic_exchange_n(&descriptor->state, 0, __ATOMIC_ACQ_REL))
			continue;
		write_total(JOURNAL_READ_TOTAL, (int)fd, descriptor, &descriptor->read);
		write_total(JOURNAL_WRITE_TOTAL, (int)fd, descriptor, &descriptor->written);
	}
}

void descriptor_closing_one(int fd)
{
	struct descriptor *descriptor = descriptor_at(fd);

	if (in_vfork_child() ||
	    (descriptor && (descriptor->read.calls > 1 || descriptor->written.calls > 1 ||
			    descriptor->start_bytes != DESCRIPTOR_NOT_WEIGHED)))
		descriptor_closing((unsigned)fd, (unsigned)fd);
	else if (descriptor) /* another closer of it has nothing to report either */
		__atomic_store_n(&descriptor->state, 0, __ATOMIC_RELEASE);
}

void descriptor_duplicated(int fd, int copy)
{
	if (copy < 0 || fd == copy)
		return;
	if (in_vfork_child()) {
		descriptor_note_standard(copy, fd);
		return;
	}
	const struct descriptor *descriptor = descriptor_at(fd);
	descriptor_closing((unsigned)copy, (unsigned)copy);
	if (descriptor)
		descriptor_follow(copy, descriptor);
}

/* libc's in-process reads and writes are not seen.  What a stream's buffers tell is that there were
 * some, and how much passed at least (bits/types/struct_FILE.h; the layout is part of glibc's
 * ABI). */
int descriptor_stream_flush(FILE *stream)
{
	if (ftrylockfile(stream) != 0)
		return -EBUSY;
	int result = fflush_unlocked(stream);
	funlockfile(stream);
	return result;
}

void descriptor_stream_closing(FILE *stream, int fd)
{
	struct descriptor *descriptor = descriptor_at(fd);
	int flags = stream->_flags;
	struct journal_record record;

	if (!descriptor || in_vfork_child())
		return;
	/* A stream for one of both alone has a buffer once it did something; one for both tells
	 * which it did last. */
	bool writes = flags & STREAM_NO_READS ? stream->_IO_buf_base != NULL
					      : (flags & STREAM_PUTTING) != 0;
	bool reads = !(flags & STREAM_NO_READS) && !writes && stream->_IO_read_base;
	if (reads && !descriptor->read.calls) {
		record = descriptor_record(JOURNAL_READ, fd, descriptor);
		record.amount = (uint64_t)(stream->_IO_read_end - stream->_IO_read_base);
		record.marks |= JOURNAL_AT_LEAST;
		(void)append_record(&record, NULL, 0);
	}
	if (writes && !descriptor->written.calls) {
		record = descriptor_record(JOURNAL_WRITE, fd, descriptor);
		record.amount = (uint64_t)(stream->_IO_write_ptr - stream->_IO_write_base);
		record.marks |= JOURNAL_AT_LEAST;
		(void)append_record(&record, NULL, 0);
	}
}
