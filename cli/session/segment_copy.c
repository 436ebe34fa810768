/* Copies of segments: see segment_copy.h. */
#include "cli/session/segment_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "tracker/sys/sys.h"

enum { BLOCK_BYTES = 512 /* stat(2), st_blocks */ };

static bool is_full(int fd, uint64_t missing_bytes)
{
	struct statvfs file_system;

	return fstatvfs(fd, &file_system) == 0 &&
	       (uint64_t)file_system.f_bavail * file_system.f_frsize < missing_bytes;
}

/* Reads what is no hole. */
static int read_data(int fd, unsigned char *memory, off_t size)
{
	for (off_t at = 0, end = 0; at < size;) {
		if (at >= end) {
			at = lseek(fd, at, SEEK_DATA);
			if (at < 0)
				return errno == ENXIO ? 0 : -errno;
			end = lseek(fd, at, SEEK_HOLE);
			if (end < 0)
				return -errno;
		}
		ssize_t length = pread(fd, memory + at, (size_t)(end - at), at);
		if (length <= 0)
			return length < 0 ? -errno : -EBADMSG;
		at += length;
	}
	return 0;
}

static int copy(int fd, size_t size_bytes, struct segment *ret_segment)
{
	unsigned char *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	int error = read_data(fd, memory, (off_t)size_bytes);
	if (error == 0)
		error = segment_view(memory, size_bytes, ret_segment);
	if (error < 0)
		(void)munmap(memory, size_bytes);
	return error;
}

int segment_copy_cut(const char *path, bool if_full, struct segment *ret_segment)
{
	struct stat stat = { .st_size = 0 };
	/* past the library of an outer run, as segment_map() opens it: no access of the program */
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	int error = fd < 0 ? fd : sys_fstat(fd, &stat);

	/* what is no segment of this user's is refused by segment_map() */
	if (error == 0 &&
	    (!S_ISREG(stat.st_mode) || stat.st_uid != geteuid() || (stat.st_mode & 022) ||
	     stat.st_size < (off_t)sizeof(struct segment_header)))
		error = -ENODATA;
	/* one that grows has the blocks of all that is used: a mapping is as good */
	uint64_t grows = 0;
	if (error == 0 &&
	    sys_pread(fd, &grows, sizeof(grows), offsetof(struct segment_header, grows)) ==
		    sizeof(grows) &&
	    grows == SEGMENT_GROWS)
		error = -ENODATA;
	uint64_t blocks_bytes = error == 0 ? (uint64_t)stat.st_blocks * BLOCK_BYTES : 0;
	if (error == 0 && (blocks_bytes >= (uint64_t)stat.st_size ||
			   (if_full && !is_full(fd, (uint64_t)stat.st_size - blocks_bytes))))
		error = -ENODATA;
	if (error == 0)
		error = copy(fd, (size_t)stat.st_size, ret_segment);
	if (fd >= 0)
		(void)sys_close(fd);
	if (error == 0 && if_full)
		message("no space is left for %s: what a command changes in it is not kept", path);
	return error;
}
