/*
 * Reads a file in one of the ways that the kernel has for that, and prints what it holds.
 *
 * usage: reads_by WAY ARGUMENT...; status 0 where something was printed.
 *
 * For tests/support/ways.py: as a dynamic program, and as a static one (reads_by_static).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const char SECRET[] = "SECRET=";
static char shared_path[PATH_MAX];

static int print(const char *bytes, ssize_t count)
{
	if (count <= 0)
		return 1;
	(void)!write(STDOUT_FILENO, bytes, (size_t)count);
	return 0;
}

static int print_descriptor(int fd)
{
	char bytes[4096];

	return fd < 0 ? 1 : print(bytes, pread(fd, bytes, sizeof(bytes), 0));
}

static int by_open(char **words)
{
	return print_descriptor(open(words[0], O_RDONLY));
}

/* Not even its own user may inspect it then. */
static int by_untraceable(char **words)
{
	return prctl(PR_SET_DUMPABLE, 0) == 0 ? by_open(words) : 1;
}

static int by_update(char **words)
{
	return print_descriptor(open(words[0], O_RDWR));
}

static int by_stream(char **words)
{
	char bytes[4096];
	FILE *file = fopen(words[0], "r");

	return file ? print(bytes, (ssize_t)fread(bytes, 1, sizeof(bytes), file)) : 1;
}

static int by_syscall(char **words)
{
	return print_descriptor((int)syscall(SYS_openat, AT_FDCWD, words[0], O_RDONLY));
}

/* Past libc. */
static long raw_open(const char *path)
{
#if defined(__x86_64__)
	long ret;
	register long flags __asm__("rdx") = O_RDONLY;
	register long more __asm__("r10") = 0;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(SYS_openat), "D"((long)AT_FDCWD), "S"(path), "r"(flags), "r"(more)
			 : "rcx", "r11", "memory");
	return ret;
#else
	register long number __asm__("x8") = SYS_openat;
	register long ret __asm__("x0") = AT_FDCWD;
	register const char *at __asm__("x1") = path;
	register long flags __asm__("x2") = O_RDONLY;
	__asm__ volatile("svc 0" : "+r"(ret) : "r"(number), "r"(at), "r"(flags) : "memory");
	return ret;
#endif
}

static int by_instruction(char **words)
{
	return print_descriptor((int)raw_open(words[0]));
}

/* The calls of a 32-bit program, which a 64-bit one can make, too. */
static int by_32_bit_call(char **words)
{
#if defined(__x86_64__)
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long fd;

	if (low == MAP_FAILED || strlen(words[0]) >= 4096)
		return 1;
	memcpy(low, words[0], strlen(words[0]) + 1);
	__asm__ volatile("int $0x80"
			 : "=a"(fd)
			 : "0"(5L), "b"((long)low), "c"(0L), "d"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return print_descriptor((int)fd);
#else
	(void)words;
	return 1;
#endif
}

static int by_openat2(char **words)
{
	struct open_how how = { .flags = O_RDONLY };

	return print_descriptor((int)syscall(SYS_openat2, AT_FDCWD, words[0], &how, sizeof(how)));
}

static int by_openat2_in_root(char **words)
{
	struct open_how how = { .flags = O_RDONLY, .resolve = RESOLVE_IN_ROOT };
	int root = open(words[0], O_PATH | O_DIRECTORY);

	return print_descriptor((int)syscall(SYS_openat2, root, words[1], &how, sizeof(how)));
}

static int by_directory(char **words)
{
	return print_descriptor(openat(open(words[0], O_PATH | O_DIRECTORY), words[1], O_RDONLY));
}

static int by_path_descriptor(char **words)
{
	char link[64];
	int fd = open(words[0], O_PATH);

	(void)snprintf(link, sizeof(link), "/proc/%s/fd/%d", words[1] ? words[1] : "self", fd);
	return fd < 0 ? 1 : print_descriptor(open(link, O_RDONLY));
}

static int by_link_of_descriptor(char **words)
{
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", open(words[0], O_PATH));
	if (linkat(AT_FDCWD, link, AT_FDCWD, words[1], AT_SYMLINK_FOLLOW) < 0)
		return 1;
	return by_open(words + 1);
}

static int by_link_of_empty(char **words)
{
	if (linkat(open(words[0], O_PATH), "", AT_FDCWD, words[1], AT_EMPTY_PATH) < 0)
		return 1;
	return by_open(words + 1);
}

static int by_handle(char **words)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} at = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int mount;

	if (name_to_handle_at(AT_FDCWD, words[0], &at.handle, &mount, 0) < 0)
		return 1;
	return print_descriptor(
		open_by_handle_at(open(".", O_RDONLY | O_DIRECTORY), &at.handle, O_RDONLY));
}

static int by_ring(char **words)
{
	struct io_uring_params params = { .flags = 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);

	if (ring < 0)
		return 1;
	size_t bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
	size_t results = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	bytes = bytes > results ? bytes : results;
	char *queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
			   IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries = mmap(NULL, params.sq_entries * sizeof(*entries),
					    PROT_READ | PROT_WRITE, MAP_SHARED, ring,
					    IORING_OFF_SQES);
	if (queue == MAP_FAILED || entries == MAP_FAILED)
		return 1;
	entries[0] = (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT,
					    .fd = AT_FDCWD,
					    .addr = (uint64_t)(uintptr_t)words[0],
					    .open_flags = O_RDONLY };
	((unsigned *)(void *)(queue + params.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *)(void *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return 1;
	return print_descriptor(
		((struct io_uring_cqe *)(void *)(queue + params.cq_off.cqes))[0].res);
}

static int by_mapping(char **words)
{
	struct stat stat;
	int fd = words[1] ? atoi(words[1]) : open(words[0], O_RDONLY);

	if (fd < 0 || fstat(fd, &stat) < 0 || !stat.st_size)
		return 1;
	const char *bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return bytes == MAP_FAILED ? 1 : print(bytes, stat.st_size);
}

static int by_inherited(char **words)
{
	return print_descriptor(atoi(words[0]));
}

static int by_sendfile(char **words)
{
	return sendfile(STDOUT_FILENO, open(words[0], O_RDONLY), NULL, 4096) > 0 ? 0 : 1;
}

static int by_copy_range(char **words)
{
	int copy = open(words[1], O_RDWR | O_CREAT, 0600);

	return copy_file_range(open(words[0], O_RDONLY), NULL, copy, NULL, 4096, 0) > 0
		       ? print_descriptor(copy)
		       : 1;
}

static int by_clone(char **words)
{
	int copy = open(words[1], O_RDWR | O_CREAT, 0600);

	return ioctl(copy, FICLONE, open(words[0], O_RDONLY)) == 0 ? print_descriptor(copy) : 1;
}

static int by_splice(char **words)
{
	int ends[2];
	char bytes[4096];

	if (pipe(ends) < 0 || splice(open(words[0], O_RDONLY), NULL, ends[1], NULL, 4096, 0) < 0)
		return 1;
	return print(bytes, read(ends[0], bytes, sizeof(bytes)));
}

/* Linux 5.2: a place, by a call that opens nothing. */
static int by_tree(char **words)
{
	char link[64];
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, words[0], 0);

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return fd < 0 ? 1 : print_descriptor(open(link, O_RDONLY));
}

static void *open_in_thread(void *data)
{
	return (void *)(intptr_t)open(data, O_RDONLY);
}

static int by_thread(char **words)
{
	pthread_t thread;
	void *fd;

	if (pthread_create(&thread, NULL, open_in_thread, words[0]) != 0 ||
	    pthread_join(thread, &fd) != 0)
		return 1;
	return print_descriptor((int)(intptr_t)fd);
}

static int open_for_parent(void *data)
{
	int *fd = data;

	*fd = open(shared_path, O_RDONLY);
	return 0;
}

/* A child opens it, and its descriptors are this process's. */
static int by_shared_descriptors(char **words)
{
	static char stack[65536];
	int fd = -1;

	(void)snprintf(shared_path, sizeof(shared_path), "%s", words[0]);
	pid_t pid = clone(open_for_parent, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD,
			  &fd);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		return 1;
	return print_descriptor(fd);
}

static int by_exchange(char **words)
{
	if (syscall(SYS_renameat2, AT_FDCWD, words[0], AT_FDCWD, words[1], RENAME_EXCHANGE) < 0)
		return 1;
	return by_open(words + 1);
}

static int by_rename(char **words)
{
	return rename(words[0], words[1]) < 0 ? 1 : by_open(words + 1);
}

static int by_link(char **words)
{
	return link(words[0], words[1]) < 0 ? 1 : by_open(words + 1);
}

static int by_spawn(char **words)
{
	posix_spawn_file_actions_t actions;
	char *command[] = { (char *)"cat", NULL };
	pid_t pid;
	int status = 1;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, words[0], O_RDONLY, 0);
	if (posix_spawnp(&pid, command[0], &actions, NULL, command, environ) != 0)
		return 1;
	(void)waitpid(pid, &status, 0);
	return status;
}

/* A program outside hands over a descriptor: SOCKET. */
static int by_receiving(char **words)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = -1, from = socket(AF_UNIX, SOCK_STREAM, 0);
	char byte;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec bytes = { &byte, 1 };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", words[0]);
	if (connect(from, (void *)&address, sizeof(address)) < 0 ||
	    recvmsg(from, &message, 0) < 0 || message.msg_controllen < CMSG_LEN(sizeof(int)))
		return 1;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return print_descriptor(fd);
}

/* PID FD */
static int by_taking(char **words)
{
	int pidfd = (int)syscall(SYS_pidfd_open, atoi(words[0]), 0);

	return print_descriptor((int)syscall(SYS_pidfd_getfd, pidfd, atoi(words[1]), 0));
}

/* PID ADDRESS */
static int by_memory(char **words)
{
	char bytes[256];
	struct iovec here = { bytes, sizeof(bytes) };
	struct iovec there = { (void *)strtoul(words[1], NULL, 10), sizeof(bytes) };

	return print(bytes, process_vm_readv(atoi(words[0]), &here, 1, &there, 1, 0));
}

static int by_memory_file(char **words)
{
	char path[64], bytes[256];

	(void)snprintf(path, sizeof(path), "/proc/%s/mem", words[0]);
	return print(bytes, pread(open(path, O_RDONLY), bytes, sizeof(bytes),
				  (off_t)strtoul(words[1], NULL, 10)));
}

static int by_tracing(char **words)
{
	enum { WORDS = 16 };
	pid_t pid = atoi(words[0]);
	char *at = (char *)strtoul(words[1], NULL, 10);
	long read[WORDS];

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0 || waitpid(pid, NULL, 0) < 0)
		return 1;
	for (int i = 0; i < WORDS; i++)
		read[i] = ptrace(PTRACE_PEEKDATA, pid, at + (size_t)i * sizeof(long), NULL);
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return print((const char *)read, sizeof(read));
}

/* ---- races: what is checked is not what is opened ---- */

static volatile int is_over;
static char *const *racing;

/* A name that is a link, now to one file and now to the other: FILE DECOY NAME. */
static void *swap_links(void *data)
{
	char other[PATH_MAX];

	(void)snprintf(other, sizeof(other), "%s.next", racing[2]);
	for (int i = 0; !is_over; i++) {
		(void)unlink(other);
		if (symlink(racing[i & 1], other) == 0)
			(void)rename(other, racing[2]);
	}
	return data;
}

/* A path in memory that another thread writes: FILE DECOY, of the same length. */
static void *swap_text(void *data)
{
	size_t length = strlen(racing[0]) + 1;

	for (int i = 0; !is_over; i++)
		memcpy(shared_path, racing[i & 1], length);
	return data;
}

static int race(char **words, void *(*swap)(void *), const char *path)
{
	char bytes[4096];
	time_t until = time(NULL) + 2;
	pthread_t thread;
	int found = 1;

	racing = words;
	(void)snprintf(shared_path, sizeof(shared_path), "%s", words[1]);
	if (pthread_create(&thread, NULL, swap, NULL) != 0)
		return 1;
	while (found && time(NULL) < until) {
		int fd = open(path, O_RDONLY);
		ssize_t count = fd < 0 ? 0 : pread(fd, bytes, sizeof(bytes), 0);
		if (fd >= 0)
			(void)close(fd);
		if (count >= (ssize_t)sizeof(SECRET) - 1 &&
		    memcmp(bytes, SECRET, sizeof(SECRET) - 1) == 0)
			found = print(bytes, count);
	}
	is_over = 1;
	(void)pthread_join(thread, NULL);
	return found;
}

static int by_race_of_names(char **words)
{
	return race(words, swap_links, words[2]);
}

static int by_race_of_texts(char **words)
{
	return race(words, swap_text, shared_path);
}

static const struct {
	const char *name;
	int (*read)(char **words);
} WAYS[] = {
	{ "open", by_open },
	{ "untraceable", by_untraceable },
	{ "update", by_update },
	{ "stream", by_stream },
	{ "splice", by_splice },
	{ "tree", by_tree },
	{ "thread", by_thread },
	{ "shared-descriptors", by_shared_descriptors },
	{ "syscall", by_syscall },
	{ "instruction", by_instruction },
	{ "32-bit-call", by_32_bit_call },
	{ "openat2", by_openat2 },
	{ "openat2-in-root", by_openat2_in_root },
	{ "directory", by_directory },
	{ "path-descriptor", by_path_descriptor },
	{ "link-of-descriptor", by_link_of_descriptor },
	{ "link-of-empty", by_link_of_empty },
	{ "handle", by_handle },
	{ "ring", by_ring },
	{ "mapping", by_mapping },
	{ "inherited", by_inherited },
	{ "sendfile", by_sendfile },
	{ "copy-range", by_copy_range },
	{ "clone", by_clone },
	{ "exchange", by_exchange },
	{ "rename", by_rename },
	{ "link", by_link },
	{ "spawn", by_spawn },
	{ "receiving", by_receiving },
	{ "taking", by_taking },
	{ "memory", by_memory },
	{ "memory-file", by_memory_file },
	{ "tracing", by_tracing },
	{ "race-of-names", by_race_of_names },
	{ "race-of-texts", by_race_of_texts },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(WAYS) / sizeof(WAYS[0]); i++)
		if (strcmp(argv[1], WAYS[i].name) == 0)
			return WAYS[i].read(argv + 2);
	(void)fprintf(stderr, "usage: reads_by WAY ARGUMENT...\n");
	return 2;
}
