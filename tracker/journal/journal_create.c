/*
 * Making a journal.  Apart from the rest of journal.h because only the program does it, as
 * segment_create.c.
 */
#include "tracker/journal/journal_create.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracker/journal/journal.h"
#include "tracker/journal/journal_map.h"
#include "tracker/sys/sys.h"

enum { CHUNKS_FIXED = 16 }; /* of a journal that cannot grow */

/* Gives the file its blocks, in advance: a full file system is an error then.  Where that is not possible it is larger, and does not
 * grow. */
static int allocate(int fd, struct journal_header *header)
{
	int error;

	do
		error = (int)sys_call6(SYS_fallocate, fd, 0, 0,
				       (long)(header->allocated * JOURNAL_UNIT_BYTES), 0, 0);
	while (error == -EINTR);
	if (error != -EOPNOTSUPP)
		return error;
	/* libc's version writes to every block: not while others write to the file too */
	header->can_grow = 0;
	header->allocated *= CHUNKS_FIXED;
	if (header->allocated > header->units_max)
		header->allocated = header->units_max;
	return sys_may_be_this_large(header->allocated * JOURNAL_UNIT_BYTES)
		       ? -posix_fallocate(fd, 0, (off_t)(header->allocated * JOURNAL_UNIT_BYTES))
		       : -EFBIG;
}

int journal_create(const char *path, const char *name, const char *nonce, const char *workspace,
		   uint64_t max_bytes)
{
	char temporary[4096];
	struct journal_header header = {
		.magic = JOURNAL_MAGIC,
		.version = JOURNAL_VERSION,
		.unit_bytes = JOURNAL_UNIT_BYTES,
		.created_realtime_ns = sys_realtime_ns(),
		.can_grow = 1,
		.next = JOURNAL_UNITS_FIRST,
		.allocated = JOURNAL_CHUNK_UNITS,
	};

	header.units_max = max_bytes / JOURNAL_UNIT_BYTES;
	if (header.units_max < JOURNAL_CHUNK_UNITS)
		header.units_max = JOURNAL_CHUNK_UNITS;
	if (header.units_max > UINT32_MAX)
		header.units_max = UINT32_MAX;
	if (strlen(name) >= sizeof(header.name) || strlen(nonce) >= sizeof(header.nonce) ||
	    snprintf(temporary, sizeof(temporary), "%s.%d.%llx", path, (int)sys_getpid(),
		     (unsigned long long)sys_boottime_ns()) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	memcpy(header.name, name, strlen(name) + 1);
	memcpy(header.nonce, nonce, strlen(nonce) + 1);

	if (!sys_may_be_this_large(header.allocated * JOURNAL_UNIT_BYTES))
		return -EFBIG;
	int fd = sys_open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	int error = allocate(fd, &header);
	if (error == 0) {
		ssize_t wrote = sys_call6(SYS_pwrite64, fd, (long)&header, sizeof(header), 0, 0, 0);
		error = wrote == (ssize_t)sizeof(header) ? 0 : wrote < 0 ? (int)wrote : -EIO;
	}
	(void)sys_close(fd);

	struct journal journal = { .path = NULL };
	if (error == 0)
		error = journal_map(temporary, &journal);
	if (error == 0) {
		/* The first touch of a page would have all of the file read, which holds zeroes. */
		(void)sys_call3(SYS_madvise, (long)journal.header,
				(long)(header.allocated * JOURNAL_UNIT_BYTES), MADV_RANDOM);
		journal.header->workspace = journal_text(&journal, workspace, strlen(workspace),
							 false);
		journal_unmap(&journal);
		if (link(temporary, path) < 0)
			error = -errno;
	}
	(void)unlink(temporary);
	return error;
}

uint64_t journal_touch(const struct journal *journal, uint64_t first, uint64_t behind)
{
	const uint64_t page_units = 4096 / JOURNAL_UNIT_BYTES;
	uint64_t allocated = __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE);
	uint64_t from = first / page_units * page_units;

	if (behind > allocated)
		behind = allocated;
	if (behind > journal->mapped_units)
		behind = journal->mapped_units;
	behind = behind / page_units * page_units;
	if (behind <= first || journal->window_units)
		return first;
	/* Not by a store: where the file system has no block after all, that is a signal. */
	return sys_call3(SYS_madvise, (long)(journal->units + from * JOURNAL_UNIT_BYTES),
			 (long)((behind - from) * JOURNAL_UNIT_BYTES), MADV_POPULATE_WRITE) < 0
		       ? first
		       : behind;
}
