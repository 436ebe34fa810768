/* Hazard: a program that allows itself only the calls it knows (file(1), ssh, browsers) dies of a call that a shim
 * adds.  Past the filter it reads, writes, and ends in every way a program may end. */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(name) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Ends by exit_group(8). */
static const char STATIC[] =
#if defined(__x86_64__)
	"void _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(231L), \"D\"(8L)); }\n";
#else
	"void _start(void) { register long n __asm__(\"x8\") = 94, a __asm__(\"x0\") = 8;"
	" __asm__ volatile(\"svc 0\" : : \"r\"(n), \"r\"(a)); }\n";
#endif

/* What a program that opens, reads, writes and ends needs; every other call kills it. */
static void kill_others(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(write),
		ALLOW(openat),
		ALLOW(close),
		ALLOW(newfstatat),
		ALLOW(exit_group),
		ALLOW(brk),
#if defined(SYS_rename)
		ALLOW(rename),
		ALLOW(unlink),
#else
		ALLOW(renameat),
		ALLOW(unlinkat),
#endif
		ALLOW(execve),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

static void at_exit(void)
{
	write(1, "atexit\n", 7);
}

/* The part behind the filter: calls, and no stdio but what was set up before. */
static void work(void)
{
	char bytes[64];
	int fd = open("file", O_RDONLY);
	ssize_t count = read(fd, bytes, sizeof(bytes));
	write(1, bytes, (size_t)count);
	close(fd);
	fd = open("written", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	write(fd, bytes, (size_t)count);
	close(fd);
	if (rename("written", "renamed") != 0 || unlink("renamed") != 0)
		write(1, "odd\n", 4);
	if (open("missing", O_RDONLY) != -1 || errno != ENOENT)
		write(1, "bad errno\n", 10);
}

int main(void)
{
	static const char *const ENDS[] = { "_exit", "exit", "quick_exit", "exec that fails",
					    "exec" };

	write_file("file", "the file\n", 0644);
	if (prctl(PR_GET_SECCOMP) < 0)
		skip("the kernel has no seccomp");

	/* A program that needs no other call; "exec" is exit 1 where none can be built. */
	write_file("static.c", STATIC, 0644);
	(void)quietly("gcc -nostdlib -static -o static static.c");

	pid_t child = fork_flushed();
	if (child == 0) {
		char bytes[64];
		int fd = open("file", O_RDONLY);
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
		ssize_t count = read(fd, bytes, sizeof(bytes));
		write(1, "in strict mode: ", 16);
		write(1, bytes, (size_t)count);
		syscall(SYS_exit, 6);
	}
	show_exit("strict mode", child);

	for (int way = 0; way < 5; way++) {
		child = fork_flushed();
		if (child == 0) {
			atexit(at_exit);
			at_quick_exit(at_exit);
			kill_others();
			work();
			if (way == 0)
				_exit(5);
			if (way == 1)
				exit(4);
			if (way == 2)
				quick_exit(3);
			if (way == 3)
				_exit(execv("missing", (char *[]){ NULL }) == -1 && errno == ENOENT
					      ? 2
					      : 9);
			execl("./static", "static", NULL);
			_exit(errno == ENOENT ? 1 : 9);
		}
		show_exit(ENDS[way], child);
	}

	/* file(1), where it is there: it has such a filter in many distributions. */
	if (quietly("command -v file"))
		SHOW(system("file -b file /bin/sh | cut -c1-20"));

	/* And the process itself, which came through the loader: it leaves through exit handlers. */
	fflush(stdout);
	atexit(at_exit);
	kill_others();
	work();
	exit(0);
}
