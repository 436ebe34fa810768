/* Looking into another process: see memory.h. */
#include "shim/supervise/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "tracker/sys/sys.h"

enum {
	PAGE = 4096,
	PARTS = 4,
	LINK_BYTES = 64,
	WORDS_AT_ONCE = 64,
	WORDS_MAX = 4096,
	PIECE_BYTES = 256,
	LOOKERS_MAX = 2, /* of the supervisor's threads */
	PAUSE_NS = 200000,
};
static const uint64_t STALLED_NS = 200000000, WAIT_NS = 1000000000,
		      STALLED_FOR_RULES_NS = 1000000000, WAIT_FOR_RULES_NS = 5000000000;

static unsigned lookers;
static uint64_t moved_ns; /* when one of them began, or was done, by CLOCK_MONOTONIC */

static void note_move(void)
{
	__atomic_store_n(&moved_ns, sys_clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
}

bool inspection_start(void)
{
	unsigned count = __atomic_load_n(&lookers, __ATOMIC_ACQUIRE);

	while (count < LOOKERS_MAX) {
		note_move(); /* before: who finds no room finds that, too */
		if (__atomic_compare_exchange_n(&lookers, &count, count + 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* They may wait for a process whose call waits here: not one after the other may wait as long. */
static bool has_stalled(uint64_t limit_ns)
{
	uint64_t since_ns = __atomic_load_n(&moved_ns, __ATOMIC_ACQUIRE);

	return sys_clock_ns(CLOCK_MONOTONIC) - since_ns > limit_ns;
}

static bool wait_for_place(uint64_t stalled_ns, uint64_t limit_ns)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t began_ns = sys_clock_ns(CLOCK_MONOTONIC);

	while (!inspection_start()) {
		if (has_stalled(stalled_ns) || sys_clock_ns(CLOCK_MONOTONIC) - began_ns > limit_ns)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

bool inspection_wait(void)
{
	return wait_for_place(STALLED_NS, WAIT_NS);
}

bool inspection_wait_for_rules(void)
{
	return wait_for_place(STALLED_FOR_RULES_NS, WAIT_FOR_RULES_NS);
}

void inspection_finish(void)
{
	note_move();
	(void)__atomic_fetch_sub(&lookers, 1, __ATOMIC_ACQ_REL);
}

static void proc_name(pid_t tid, const char *name, char *ret_path)
{
	(void)snprintf(ret_path, LINK_BYTES, "/proc/%d/%s", (int)tid, name);
}

/* Does the filter of a sandbox that the supervisor itself is below (firejail's) refuse the calls for
 * other processes' memory?  They fail by EPERM where the memory is out of reach, too. */
static bool is_refused(long result)
{
	return result == -EPERM || result == -ENOSYS;
}

/* Reads or writes (O_RDONLY, O_WRONLY) a process's memory as a file: proc(5), mem. */
static long move_by_file(pid_t tid, int flags, uint64_t address, void *bytes, size_t size_bytes)
{
	char path[LINK_BYTES];

	proc_name(tid, "mem", path);
	int fd = sys_open(path, flags | O_CLOEXEC, 0);
	if (fd < 0)
		return -EPERM;
	long moved = sys_call6(flags == O_RDONLY ? SYS_pread64 : SYS_pwrite64, fd, (long)bytes,
			       (long)size_bytes, (long)address, 0, 0);
	(void)sys_close(fd);
	return moved == -EIO ? -EFAULT : moved;
}

ssize_t memory_read(pid_t tid, uint64_t address, void *buffer, size_t size_bytes)
{
	struct iovec to = { buffer, size_bytes };
	struct iovec from[PARTS];
	const uint64_t start = address;
	size_t left = size_bytes;
	int parts = 0;

	/* One part a page: a transfer ends at a part that cannot be read. */
	for (; left && parts < PARTS; parts++) {
		size_t bytes = PAGE - address % PAGE;
		if (bytes > left)
			bytes = left;
		from[parts].iov_base = (void *)(uintptr_t)address;
		from[parts].iov_len = bytes;
		address += bytes;
		left -= bytes;
	}
	to.iov_len = size_bytes - left;
	long got = sys_call6(SYS_process_vm_readv, tid, (long)&to, 1, (long)from, parts, 0);
	return is_refused(got) ? move_by_file(tid, O_RDONLY, start, buffer, to.iov_len) : got;
}

ssize_t memory_text(pid_t tid, uint64_t address, char *ret_text, size_t capacity)
{
	size_t length = 0;

	while (length < capacity) {
		size_t wanted = capacity - length < PIECE_BYTES ? capacity - length : PIECE_BYTES;
		ssize_t got = memory_read(tid, address + length, ret_text + length, wanted);
		if (got <= 0)
			return got < 0 ? got : -EFAULT;
		const char *end = memchr(ret_text + length, '\0', (size_t)got);
		if (end)
			return end - ret_text;
		length += (size_t)got;
	}
	return -ENAMETOOLONG;
}

int memory_write(pid_t tid, uint64_t address, const void *bytes, size_t size_bytes)
{
	struct iovec from = { (void *)(uintptr_t)bytes, size_bytes };
	struct iovec to = { (void *)(uintptr_t)address, size_bytes };
	long written = sys_call6(SYS_process_vm_writev, tid, (long)&from, 1, (long)&to, 1, 0);

	if (is_refused(written))
		written = move_by_file(tid, O_WRONLY, address, (void *)(uintptr_t)bytes,
				       size_bytes);
	return written < 0 ? (int)written : written == (long)size_bytes ? 0 : -EFAULT;
}

size_t memory_words(pid_t tid, uint64_t array, char *ret_bytes, size_t capacity, bool *ret_cut)
{
	uint64_t words[WORDS_AT_ONCE];
	size_t used = 0;

	*ret_cut = false;
	for (unsigned count = 0; array && count < WORDS_MAX; count += WORDS_AT_ONCE) {
		ssize_t got = memory_read(tid, array + count * sizeof(*words), words,
					  sizeof(words));
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(*words); i++) {
			if (!words[i])
				return used;
			ssize_t length = memory_text(tid, words[i], ret_bytes + used,
						     capacity - used);
			if (length < 0) {
				*ret_cut = true;
				return used;
			}
			used += (size_t)length + 1;
		}
		if (got < (ssize_t)sizeof(words))
			break;
	}
	*ret_cut = array != 0;
	return used;
}

ssize_t proc_link(pid_t tid, const char *name, char *ret_path, size_t capacity)
{
	static const char DELETED[] = " (deleted)";
	char link[LINK_BYTES];

	proc_name(tid, name, link);
	ssize_t length = sys_readlink(link, ret_path, capacity - 1);
	if (length < 0)
		return length;
	if ((size_t)length >= capacity - 1)
		return -ENAMETOOLONG;
	ret_path[length] = '\0';
	const size_t tail = sizeof(DELETED) - 1;
	if ((size_t)length > tail && strcmp(ret_path + length - tail, DELETED) == 0)
		return -ENOENT;
	return length;
}

ssize_t proc_directory(pid_t tid, int directory, char *ret_path, size_t capacity)
{
	char name[LINK_BYTES] = "cwd";

	if (directory != AT_FDCWD)
		(void)snprintf(name, sizeof(name), "fd/%d", directory);
	ssize_t length = proc_link(tid, name, ret_path, capacity);
	return length > 0 && ret_path[0] != '/' ? -ENOTDIR : length;
}

int proc_open_path(pid_t tid, const char *name)
{
	char link[LINK_BYTES];

	proc_name(tid, name, link);
	return sys_open(link, O_PATH | O_CLOEXEC, 0);
}
