/*
 * Descriptors that this program opened by name: what passes through them, for the journal.
 *
 * Reads and writes are summed by descriptor: one record at the first of each, one with the sums
 * when the descriptor is closed and there was more than one.  Async-signal-safe; any thread.
 */
#ifndef SEEN_SHIM_DESCRIPTORS_H
#define SEEN_SHIM_DESCRIPTORS_H

#include <stdio.h>

#include "shim/preload/thread.h"
#include "tracker/journal/journal.h"

enum {
	DESCRIPTORS_MAX = 1024,
	DESCRIPTOR_NOT_WEIGHED = UINT32_MAX >> 1, /* larger files are not, either */
};

enum descriptor_state {
	DESCRIPTOR_FOLLOWED = 1, /* opened by name: 0 means that the entry says nothing */
	DESCRIPTOR_MAPPED = 2,
	DESCRIPTOR_MAPPED_SHARED = 4, /* and may be written to */
};

/* What passed through a descriptor one way. */
struct traffic {
	uint64_t bytes;
	uint32_t calls;
};

/* Calls on one descriptor may come from several threads: words are atomic.  An entry that outlived
 * its descriptor is replaced at the next open of that number.  Each is one line of the cache. */
struct descriptor {
	uint32_t state;  /* enum descriptor_state */
	uint32_t opened; /* number of the OPEN or LIST record */
	uint32_t path;   /* as in that record */
	uint32_t directory;
	int32_t directory_fd;
	struct traffic read, written;
	/* of a shell's file that was opened for writing: its size then; NOT_WEIGHED */
	uint32_t start_bytes;
	uint32_t starts; /* programs that the process had started by then */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct descriptor) == 64, "one line of the cache");

extern struct descriptor descriptor_table[DESCRIPTORS_MAX] HIDDEN;
extern unsigned descriptor_table_end HIDDEN; /* entries from here on were never used */

/* descriptor_at(): what was opened as that number; NULL: it is not followed. */
static inline struct descriptor *descriptor_at(int fd)
{
	if ((unsigned)fd >= DESCRIPTORS_MAX)
		return NULL;
	struct descriptor *descriptor = &descriptor_table[fd];
	return __atomic_load_n(&descriptor->state, __ATOMIC_ACQUIRE) ? descriptor : NULL;
}

/* descriptor_note_standard(): in a child between vfork and exec: `fd` is now what the parent knows
 * as `parent_fd`; -1: something else. */
void descriptor_note_standard(int fd, int parent_fd);

/* descriptor_standard(): what a program that is about to replace this image will have as a standard
 * descriptor; NULL: not known. */
const struct descriptor *descriptor_standard(int fd);

/* descriptor_follow(): a descriptor was opened; as: what for, its counts are those of another.
 * descriptor_follow_opened(): by name, as its record tells; number: the record's. */
static inline void descriptor_follow(int fd, const struct descriptor *as)
{
	if ((unsigned)fd >= DESCRIPTORS_MAX)
		return;
	if (in_vfork_child()) {
		descriptor_note_standard(fd, -1);
		return;
	}
	struct descriptor *descriptor = &descriptor_table[fd];
	__atomic_store_n(&descriptor->state, 0, __ATOMIC_RELAXED);
	descriptor->opened = as->opened;
	descriptor->path = as->path;
	descriptor->directory = as->directory;
	descriptor->directory_fd = as->directory_fd;
	descriptor->read = descriptor->written = (struct traffic){ 0 };
	descriptor->start_bytes = as->start_bytes;
	descriptor->starts = as->starts;
	__atomic_store_n(&descriptor->state, DESCRIPTOR_FOLLOWED, __ATOMIC_RELEASE);
	unsigned end = __atomic_load_n(&descriptor_table_end, __ATOMIC_RELAXED);
	while (__builtin_expect(end <= (unsigned)fd, 0) &&
	       !__atomic_compare_exchange_n(&descriptor_table_end, &end, (unsigned)fd + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static inline void descriptor_follow_opened(int fd, uint32_t number,
					    const struct journal_record *record)
{
	struct descriptor as = { .opened = number,
				 .start_bytes = DESCRIPTOR_NOT_WEIGHED,
				 .path = record->path,
				 .directory = record->directory,
				 .directory_fd = record->directory_fd };
	descriptor_follow(fd, &as);
}

/* descriptor_fork(): in a copy that fork made: what the parent's descriptors did is the parent's to
 * tell. */
void descriptor_fork(void);

/* descriptor_opening(): number of the record by which a descriptor was opened; 0: not known.  No
 * other has it, whatever its number. */
uint32_t descriptor_opening(int fd);

/* descriptor_record(): a record about what a descriptor was opened for; NULL: it is not known. */
static inline struct journal_record descriptor_record(enum journal_op op, int fd,
						      const struct descriptor *descriptor)
{
	struct journal_record record = journal_blank(op);
	record.fd = fd;
	if (descriptor) {
		record.path = descriptor->path;
		record.directory = descriptor->directory;
		record.directory_fd = descriptor->directory_fd;
	}
	return record;
}

/* descriptor_read(), descriptor_written(): bytes went through a descriptor; what the call
 * returned. */
void descriptor_read(int fd, ssize_t count);
void descriptor_written(int fd, ssize_t count);

/* descriptor_mapped(): protection, flags: of mmap(2). */
void descriptor_mapped(int fd, int protection, int flags, size_t size_bytes);

/* descriptor_replacing(): a descriptor is about to be closed by dup2(2): what its file shows
 * is reported now. */
void descriptor_replacing(int fd);

/* descriptor_duplicated(): `copy` is now another descriptor for what `fd` is; `copy` < 0: the call
 * failed. */
void descriptor_duplicated(int fd, int copy);

/* descriptor_closing(): descriptors are about to be closed, both ends included.
 * descriptor_closing_one(): the same for one. */
void descriptor_closing(unsigned first, unsigned last);
void descriptor_closing_one(int fd);

/* descriptor_stream_flush(): writes what a stream still holds.  Returns 0; EOF; -EBUSY: another thread has
 * the stream, maybe for ever. */
int descriptor_stream_flush(FILE *stream);

/* descriptor_stream_closing(): a stream is about to be closed; fd: its descriptor. */
void descriptor_stream_closing(FILE *stream, int fd);

#endif
