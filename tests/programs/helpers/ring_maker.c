/* ring_maker HOW [FILE]: makes a ring of io_uring(7) as libuv does, by syscall(2), and uses it.
 * HOW: nothing; epoll: as libuv for epoll_ctl(2); open: opens a file by it; write, later: writes to FILE, opened
 * before or after the ring was made; polls: the kernel takes what is in it by itself.
 * Exits with 77 where there are no rings. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES = 256 };

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "nothing";
	struct io_uring_params params = { .flags = strcmp(how, "polls") == 0 ? IORING_SETUP_SQPOLL
									     : 0 };
	struct epoll_event event = { .events = EPOLLIN };
	int ends[2], file = strcmp(how, "write") == 0 ? open(argv[2], O_RDWR | O_CLOEXEC) : -1;

	long ring = syscall(SYS_io_uring_setup, (long)ENTRIES, &params);
	if (ring < 0)
		return 77;
	size_t ring_bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
	size_t completions = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	if (ring_bytes < completions)
		ring_bytes = completions;
	char *queue = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)ring,
			   IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries = mmap(NULL, params.sq_entries * sizeof(*entries),
					    PROT_READ | PROT_WRITE, MAP_SHARED, (int)ring,
					    IORING_OFF_SQES);
	if (queue == MAP_FAILED || (void *)entries == MAP_FAILED || pipe(ends) < 0)
		return 1;
	memset(entries, 0, sizeof(*entries));
	if (strcmp(how, "later") == 0)
		file = open(argv[2], O_RDWR | O_CLOEXEC);
	if (strcmp(how, "epoll") == 0) {
		entries[0].opcode = IORING_OP_EPOLL_CTL;
		entries[0].fd = epoll_create1(EPOLL_CLOEXEC);
		entries[0].addr = (unsigned long)&event;
		entries[0].len = EPOLL_CTL_ADD;
		entries[0].off = (unsigned long)ends[0];
	} else if (file >= 0) {
		entries[0].opcode = IORING_OP_WRITE;
		entries[0].fd = file;
		entries[0].addr = (unsigned long)"by a ring";
		entries[0].len = 9;
	} else if (strcmp(how, "open") == 0) {
		entries[0].opcode = IORING_OP_OPENAT;
		entries[0].fd = AT_FDCWD;
		entries[0].addr = (unsigned long)"f";
		entries[0].open_flags = O_RDONLY;
	} else {
		return 0;
	}
	((unsigned *)(queue + params.sq_off.array))[0] = 0;
	__atomic_add_fetch((unsigned *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1L, 1L, (long)IORING_ENTER_GETEVENTS, NULL, 0L) != 1)
		return 2;
	struct io_uring_cqe *done = (struct io_uring_cqe *)(void *)(queue + params.cq_off.cqes);
	return done->res < 0 ? 3 : 0;
}
