/*
 * An agent's own reads: counted as full reads of a file once all its bytes were read, whatever the
 * thread and the calls.  Never answered, and no delivery: a read is not "the model saw it".
 */
#include <unistd.h>

#include "shim/preload/record.h"
#include "shim/preload/shim.h"
#include "tracker/file.h"
#include "tracker/path.h"
#include "tracker/sys.h"

enum { DESCRIPTORS = 1024 };

static const uint64_t BURST_NS =
	250000000u; /* reads this close together are one request (docs/DESIGN.md) */

/* By descriptor.  Words are atomic: open, read and close may happen on different threads.  An entry that
 * outlived its descriptor is harmless: it is replaced at the next open. */
static struct {
	uint64_t key; /* of the file; 0: not followed */
	uint64_t size_bytes;
	uint64_t read_bytes;
} descriptors[DESCRIPTORS];

void own_opened(int fd, int directory, const char *path, struct look *ret_look)
{
	struct stat stat;

	if (fd < 0 || fd >= DESCRIPTORS)
		return;
	__atomic_store_n(&descriptors[fd].key, 0, __ATOMIC_RELAXED);
	char *normal = scratch_take();
	if (normal && change_path(directory, path, normal, SEGMENT_PATH_BYTES) >= 0 &&
	    path_is_tracked(&shim.segment, normal) && sys_fstat(fd, &stat) == 0 &&
	    S_ISREG(stat.st_mode) && stat.st_size > 0) {
		struct stamp stamp = stamp_of(&stat);
		ret_look->is_known = true;
		ret_look->details = (struct journal_details){
			.dev = stamp.dev,
			.ino = stamp.ino,
			.size_bytes = stamp.size_bytes,
		};
		__atomic_store_n(&descriptors[fd].size_bytes, (uint64_t)stat.st_size,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&descriptors[fd].read_bytes, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&descriptors[fd].key,
				 file_update(&shim.segment, normal, &stamp, NULL, NULL),
				 __ATOMIC_RELEASE);
	}
	scratch_give(normal);
}

static void count_own_read(struct file_slot *file, const void *data)
{
	const uint32_t *pid = data;
	if (file->last_read_pid != *pid || sys_boottime_ns() - file->last_read_ns > BURST_NS)
		file->full_reads++;
	file->last_read_pid = *pid;
	file_note_read(file);
}

void own_read(int fd, ssize_t count)
{
	if (fd < 0 || fd >= DESCRIPTORS || count <= 0)
		return;
	uint64_t key = __atomic_load_n(&descriptors[fd].key, __ATOMIC_ACQUIRE);
	if (!key)
		return;
	uint64_t bytes = __atomic_add_fetch(&descriptors[fd].read_bytes, (uint64_t)count,
					    __ATOMIC_RELAXED);
	if (bytes < __atomic_load_n(&descriptors[fd].size_bytes, __ATOMIC_RELAXED))
		return;
	uint32_t pid = (uint32_t)sys_getpid();
	__atomic_store_n(&descriptors[fd].key, 0, __ATOMIC_RELAXED);
	(void)file_change_known(&shim.segment, key, count_own_read, &pid);
}

void own_closing(int fd)
{
	if (fd >= 0 && fd < DESCRIPTORS)
		__atomic_store_n(&descriptors[fd].key, 0, __ATOMIC_RELAXED);
}

void own_closing_many(unsigned first, unsigned last)
{
	for (unsigned fd = first; fd <= last && fd < DESCRIPTORS; fd++)
		own_closing((int)fd);
}

void own_end(void)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		own_stream_closing(fd);
}

void own_stream_closing(int fd)
{
	if (fd < 0 || fd >= DESCRIPTORS || !__atomic_load_n(&descriptors[fd].key, __ATOMIC_ACQUIRE))
		return;
	long offset = sys_call3(SYS_lseek, fd, 0, SEEK_CUR);
	if (offset > 0)
		own_read(fd, offset);
	own_closing(fd);
}
