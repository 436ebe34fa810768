/* Hazard: a process of a browser shuts itself in: files are denied with EPERM, a call that its list has not ends it by SIGSYS.  The list is that of
 * Chromium's sandbox/linux/seccomp-bpf-helpers/baseline_policy.cc, without its checks of arguments.  Behind it the process works with what it has open. */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define IF(name, what) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW(name) IF(name, SECCOMP_RET_ALLOW)
#define DENY(name) IF(name, SECCOMP_RET_ERRNO | EPERM)

static void crash(int signal, siginfo_t *info, void *context)
{
	char line[64];

	(void)signal;
	(void)context;
	int bytes = snprintf(line, sizeof(line), "call %d is not allowed\n", info->si_syscall);
	(void)!write(1, line, (size_t)bytes);
	_exit(100);
}

static void shut_in(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#if defined(__x86_64__)
		ALLOW(pause),
		ALLOW(epoll_create),
		ALLOW(epoll_wait),
		ALLOW(dup2),
		ALLOW(poll),
		ALLOW(select),
		ALLOW(pipe),
		ALLOW(time),
		ALLOW(getpgrp),
		DENY(access),
		DENY(open),
		DENY(stat),
		DENY(lstat),
		DENY(readlink),
		DENY(unlink),
		DENY(rename),
		DENY(mkdir),
		DENY(fork),
		DENY(vfork),
#endif
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(mprotect),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(mlock),
		ALLOW(munlock),
		ALLOW(mincore),
		ALLOW(sched_get_priority_max),
		ALLOW(sched_get_priority_min),
		ALLOW(sched_yield),
		ALLOW(nanosleep),
		ALLOW(clock_nanosleep),
		ALLOW(epoll_create1),
		ALLOW(epoll_ctl),
		ALLOW(epoll_pwait),
		ALLOW(eventfd2),
		ALLOW(fstat),
		ALLOW(lseek),
		ALLOW(read),
		ALLOW(readv),
		ALLOW(pread64),
		ALLOW(preadv),
		ALLOW(write),
		ALLOW(writev),
		ALLOW(pwrite64),
		ALLOW(pwritev),
		ALLOW(fcntl),
		ALLOW(close),
		ALLOW(dup),
		ALLOW(dup3),
		ALLOW(shutdown),
		ALLOW(futex),
		ALLOW(get_robust_list),
		ALLOW(set_robust_list),
		ALLOW(rseq),
		ALLOW(ppoll),
		ALLOW(pselect6),
		ALLOW(recvfrom),
		ALLOW(recvmsg),
		ALLOW(sendmsg),
		ALLOW(sendto),
		ALLOW(socketpair),
		ALLOW(pipe2),
		ALLOW(gettimeofday),
		ALLOW(clock_gettime),
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(wait4),
		ALLOW(waitid),
		ALLOW(restart_syscall),
		ALLOW(rt_sigaction),
		ALLOW(rt_sigprocmask),
		ALLOW(rt_sigreturn),
		ALLOW(rt_sigtimedwait),
		ALLOW(sigaltstack),
		ALLOW(getpid),
		ALLOW(getppid),
		ALLOW(gettid),
		ALLOW(getuid),
		ALLOW(geteuid),
		ALLOW(getgid),
		ALLOW(getegid),
		ALLOW(kill),
		ALLOW(tgkill),
		ALLOW(getrandom),
		ALLOW(getcpu),
		ALLOW(clone),
		IF(clone3, SECCOMP_RET_ERRNO | ENOSYS),
		DENY(faccessat),
		DENY(faccessat2),
		DENY(openat),
		DENY(openat2),
		DENY(newfstatat),
		DENY(statx),
		DENY(readlinkat),
		DENY(unlinkat),
		DENY(renameat),
		DENY(renameat2),
		DENY(mkdirat),
		DENY(getcwd),
		DENY(chdir),
		DENY(statfs),
		DENY(fchmod),
		DENY(fchown),
		DENY(fallocate),
		DENY(ftruncate),
		DENY(getdents64),
		DENY(socket),
		DENY(connect),
		DENY(umask),
		DENY(setpgid),
		DENY(setsid),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	struct sigaction action = { .sa_sigaction = crash, .sa_flags = SA_SIGINFO | SA_NODEFER };

	CHECK(sigaction(SIGSYS, &action, NULL) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

static void *work_of_thread(void *data)
{
	char bytes[64];
	ssize_t count = pread(*(const int *)data, bytes, sizeof(bytes), 0);

	(void)!write(1, bytes, count > 0 ? (size_t)count : 0);
	return NULL;
}

static void show(const char *what, long result)
{
	char line[128];
	int bytes = snprintf(line, sizeof(line), "%s: %ld%s\n", what, result < 0 ? -1 : result,
			     result < 0 ? errno == EPERM ? " EPERM" : " another error" : "");

	(void)!write(1, line, (size_t)bytes);
}

static void work(int from, int to, int text)
{
	char bytes[256];
	struct stat about;
	pthread_t thread;
	int ends[2];

	show("open", open("file", O_RDONLY));
	show("open to write", open("new", O_WRONLY | O_CREAT, 0600));
	show("stat", stat("file", &about));
	show("unlink", unlink("file"));
	show("rename", rename("file", "other"));
	show("mkdir", mkdir("directory", 0700));
	show("access", access("file", R_OK));
	show("getcwd", getcwd(bytes, sizeof(bytes)) ? 0 : -1);
	show("ftruncate", ftruncate(to, 0));
	show("read", read(from, bytes, sizeof(bytes)));
	show("write", write(to, bytes, 9));
	show("fstat", fstat(to, &about));
	show("pipe", pipe(ends));
	show("write to a pipe", write(ends[1], bytes, 5));
	show("read from it", read(ends[0], bytes, sizeof(bytes)));
	show("dup2", dup2(from, ends[0]) == ends[0] ? 0 : -1);
	void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, text, 0);
	show("mmap", map == MAP_FAILED ? -1 : ((const char *)map)[0]);
	show("a thread",
	     pthread_create(&thread, NULL, work_of_thread, &text) || pthread_join(thread, NULL)
		     ? -1
		     : 0);
	show("close", close(from) | close(to) | close(ends[0]) | close(ends[1]));
}

int main(void)
{
	static const char *const ENDS[] = { "_exit", "exit", "a signal" };

	if (prctl(PR_GET_SECCOMP) < 0)
		skip("the kernel has no seccomp");
	for (int way = 0; way < 3; way++) {
		write_file("file", "the file\n", 0644);
		pid_t child = fork_flushed();
		if (child == 0) {
			int from = open("file", O_RDONLY), text = open("file", O_RDONLY);
			int to = open("written", O_RDWR | O_CREAT | O_TRUNC, 0644);
			shut_in();
			work(from, to, text);
			if (way == 0)
				_exit(3);
			if (way == 1)
				exit(4);
			raise(SIGTERM);
		}
		show_exit(ENDS[way], child);
		show_file("written");
	}
	return 0;
}
