/*
 * What qemu-user, which plays another processor's kernel for one program, does otherwise than a kernel: a line for each
 * such fault.  77 where there is none.
 *
 * tests/support/below_qemu.txt names these for the tests that cannot pass there.
 */
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "check.h"

static int faults;

static void fault(const char *name, bool is_there)
{
	if (!is_there)
		return;
	(void)printf("%s\n", name);
	(void)fflush(stdout);
	faults++;
}

/* A child that waits for its end. */
static pid_t waiting_child(void)
{
	int ready[2];
	char byte;

	CHECK(pipe(ready) == 0);
	pid_t child = fork_flushed();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(ready[1], "", 1);
		for (;;)
			(void)pause();
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	CHECK(close(ready[0]) == 0 && close(ready[1]) == 0);
	return child;
}

static void kill_child(pid_t child)
{
	CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

/* Whose file /proc/PID/exe is. */
static bool exe_is_another(pid_t child)
{
	char path[64];
	struct stat own, seen;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)child);
	return stat(self(), &own) == 0 && stat(path, &seen) == 0 &&
	       (own.st_dev != seen.st_dev || own.st_ino != seen.st_ino);
}

/* The bytes of a command line as the process itself sees it, and as another one does. */
static ssize_t command_line(pid_t pid, char *ret_bytes, size_t capacity)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? -1 : read(fd, ret_bytes, capacity);
	if (fd >= 0)
		CHECK(close(fd) == 0);
	return count;
}

/* The child is a fork: its command line is this program's. */
static bool command_line_is_another(pid_t child)
{
	char own[4096], seen[4096];
	ssize_t own_bytes = command_line(getpid(), own, sizeof(own)),
		seen_bytes = command_line(child, seen, sizeof(seen));

	return own_bytes > 0 && seen_bytes > 0 &&
	       (own_bytes != seen_bytes || memcmp(own, seen, (size_t)own_bytes) != 0);
}

/* proc(5), fdinfo, against fcntl(2). */
static bool fdinfo_flags_are_others(void)
{
	char path[64], text[512] = "";
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(fd >= 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	int info = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
	const char *at = strstr(text, "flags:");
	long flags = at ? strtol(at + 6, NULL, 8) : -1;
	bool differ = count > 0 && at && (flags & ~(long)O_CLOEXEC) != fcntl(fd, F_GETFL);
	CHECK(close(fd) == 0 && (info < 0 || close(info) == 0));
	return differ;
}

static bool no_filter_of_system_calls(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };
	int status = 0;
	pid_t child = fork_flushed();

	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
			_exit(2);
		_exit(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	return status != 0;
}

/* process_vm_readv(2) of where no program has memory, and of a process that has ended. */
static bool memory_of_others_has_other_errors(pid_t child)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)(UINTPTR_MAX - 4095), 1 };

	return process_vm_readv(child, &here, 1, &there, 1, 0) >= 0 || errno != EFAULT;
}

/* 256 GiB behind a file's beginning: as much as a session's journal may have. */
static bool no_room_for_a_large_file(void)
{
	static const size_t BYTES = (size_t)1 << 38;
	int fd = memfd_create("large", MFD_CLOEXEC);

	CHECK(fd >= 0 && ftruncate(fd, 1 << 20) == 0);
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(close(fd) == 0);
	return memory == MAP_FAILED || munmap(memory, BYTES) != 0;
}

/* RLIMIT_AS of a child that has more. */
static bool limit_of_addresses_is_none(void)
{
	static const struct rlimit LIMIT = { 1 << 20, 1 << 20 };
	int status = 0;
	pid_t child = fork_flushed();

	if (child == 0) {
		if (setrlimit(RLIMIT_AS, &LIMIT) != 0)
			_exit(2);
		_exit(mmap(NULL, 1 << 24, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		      MAP_FAILED);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 0;
}

/* sock_diag(7), which says who has the other end of a socket. */
static bool no_one_says_whose_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	CHECK(fd < 0 || close(fd) == 0);
	return fd < 0;
}

/* madvise(2), MADV_POPULATE_WRITE: not the answer of a kernel that does not know it. */
static bool pages_are_said_to_be_there(void)
{
	enum { PAGE = 4096, POPULATE_WRITE = 23 };
	unsigned char is_there = 0;
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	bool is_said = madvise(page, PAGE, POPULATE_WRITE) == 0;
	CHECK(mincore(page, PAGE, &is_there) == 0 && munmap(page, PAGE) == 0);
	return is_said && !(is_there & 1);
}

/* Since when a process runs: field 22 of its stat. */
static unsigned long long start_in(const char *path)
{
	char bytes[1024];
	int fd = open(path, O_RDONLY);
	ssize_t count = read(fd, bytes, sizeof(bytes) - 1);

	CHECK(count > 0 && close(fd) == 0);
	bytes[count] = '\0';
	const char *at = strrchr(bytes, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	CHECK(at);
	return strtoull(at, NULL, 10);
}

static bool child_starts_before_it_is_forked(void)
{
	unsigned long long own;
	char path[64];
	int ends[2];

	CHECK(pipe(ends) == 0);
	(void)usleep(100000); /* ten ticks */
	pid_t child = fork_flushed();
	if (child == 0) {
		own = start_in("/proc/self/stat");
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(ends[1], &own, sizeof(own));
		for (;;)
			(void)pause();
	}
	CHECK(read(ends[0], &own, sizeof(own)) == sizeof(own));
	CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
	bool differs = own != start_in(path);
	kill_child(child);
	return differs;
}

static bool has_other_order(const char *first, const char *second)
{
	for (char **variable = environ; *variable; variable++) {
		if (strcmp(*variable, first) == 0)
			return false;
		if (strcmp(*variable, second) == 0)
			return true;
	}
	return true;
}

/* Of a program, against what execve(2) was given. */
static bool environment_has_another_order(void)
{
	char *words[] = { (char *)(uintptr_t)self(), (char *)"environment", NULL };
	char *variables[] = { (char *)"FIRST=1", (char *)"SECOND=2", NULL };
	int status = 0;
	pid_t child = fork_flushed();

	if (child == 0) {
		(void)execve(words[0], words, variables);
		_exit(2);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return has_other_order("FIRST=1", "SECOND=2");
	pid_t child = waiting_child();

	fault("exe: /proc/PID/exe of another process is not its program", exe_is_another(child));
	fault("cmdline: /proc/PID/cmdline of another process is not its words",
	      command_line_is_another(child));
	fault("fdinfo: its flags are another processor's", fdinfo_flags_are_others());
	fault("seccomp: no filter of system calls can be set", no_filter_of_system_calls());
	fault("memory: process_vm_readv(2) has other errors",
	      memory_of_others_has_other_errors(child));
	kill_child(child);
	fault("room: 256 GiB of a file cannot be mapped", no_room_for_a_large_file());
	fault("limit: RLIMIT_AS has no effect", limit_of_addresses_is_none());
	fault("populate: madvise(2) says that it made pages, and made none",
	      pages_are_said_to_be_there());
	fault("peer: sock_diag(7) is missing", no_one_says_whose_socket());
	fault("start: a forked process has its starter's start in /proc/self/stat",
	      child_starts_before_it_is_forked());
	fault("order: a program's environment has another order than it was given",
	      environment_has_another_order());
	if (!faults)
		skip("a kernel of this processor");
	return 0;
}
