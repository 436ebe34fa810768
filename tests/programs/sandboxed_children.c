/* Hazard: who is below a filter of system calls: a child between vfork and exec that sets one is not its parent, a copy of a
 * process that set one is below it too, and a program may be started with calls missing that a shim could make as it starts. */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define KILL(name) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static struct sock_filter all_allowed[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
/* What neither libc's loader nor cat needs, nor a shim may (docs/limits.md has what one does). */
static struct sock_filter some_kill[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	KILL(fallocate),
	KILL(ftruncate),
	KILL(flock),
	KILL(fcntl),
	KILL(socket),
	KILL(kill),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
/* What a copy needs to end, and fork to make one. */
static struct sock_filter few_allowed[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	KILL(getpid),
	KILL(getppid),
	KILL(getcwd),
	KILL(fallocate),
	KILL(mmap),
	KILL(rt_sigprocmask),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static const struct sock_fprog ALL_ALLOWED = { 1, all_allowed };
static const struct sock_fprog SOME_KILL = { sizeof(some_kill) / sizeof(some_kill[0]), some_kill };
static const struct sock_fprog FEW_ALLOWED = { sizeof(few_allowed) / sizeof(few_allowed[0]),
					       few_allowed };

static void filter_calls(const struct sock_fprog *program)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0)
		_exit(99);
}

static void of_a_vforked_child(void)
{
	fflush(stdout);
	pid_t child = vfork();
	if (child == 0) {
		filter_calls(&ALL_ALLOWED);
		execl("/bin/cat", "cat", "file", NULL);
		_exit(1);
	}
	show_exit("vfork, filter, exec", child);
	/* The parent is as before. */
	write_file("here", "written\n", 0644);
	SHOW(rename("here", "there"));
	child = fork_flushed();
	if (child == 0) {
		execl("/bin/cat", "cat", "there", NULL);
		_exit(1);
	}
	show_exit("fork, exec", child);
}

static void copies(const char *what, const struct sock_fprog *program)
{
	pid_t child = fork_flushed();
	if (child == 0) {
		filter_calls(program);
		pid_t next = fork();
		if (next == 0) {
			int fd = open("file", O_RDONLY);
			if (fd < 0 || open("missing", O_RDONLY) != -1)
				_exit(9);
			close(fd);
			exit(7);
		}
		show_exit("its copy", next);
		int fd = open("file", O_RDONLY);
		CHECK(fd >= 0 && close(fd) == 0);
		exit(3);
	}
	show_exit(what, child);
}

int main(void)
{
	write_file("file", "the file\n", 0644);
	if (prctl(PR_GET_SECCOMP) < 0)
		skip("the kernel has no seccomp");
	of_a_vforked_child();
	copies("fork below a filter", &ALL_ALLOWED);
	copies("fork below a strict filter", &FEW_ALLOWED);
	pid_t child = fork_flushed();
	if (child == 0) {
		filter_calls(&SOME_KILL);
		execl("/bin/cat", "cat", "file", NULL);
		_exit(1);
	}
	show_exit("exec below a filter", child);
	return 0;
}
