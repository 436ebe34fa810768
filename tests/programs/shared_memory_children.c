/* Hazard: children that share the parent's memory until they exec: vfork, clone(CLONE_VM), posix_spawn.  What they
 * close, open, dup and chdir must not count for the parent; what they write must stay on their stack. */
#include "check.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static char *const CAT[] = { (char *)"cat", NULL };
static char *const PWD[] = { (char *)"sh", (char *)"-c",
			     (char *)"test -r inner && echo in the directory", NULL };

static int in_clone(void *unused)
{
	(void)unused;
	close(0);
	if (open("file", O_RDONLY) != 0 || chdir("folder") != 0)
		_exit(9);
	execv("/bin/cat", CAT);
	_exit(8);
}

int main(void)
{
	char bytes[64];

	write_file("file", "the file\n", 0644);
	write_file("other", "the other file\n", 0644);
	CHECK(mkdir("folder", 0755) == 0);
	write_file("folder/inner", "inner\n", 0644);
	int fd = open("file", O_RDONLY);
	printf("descriptor %d\n", fd);
	fflush(stdout);

	/* close and open the same number as the parent's, then exec. */
	pid_t child = vfork();
	if (child == 0) {
		close(fd);
		if (open("other", O_RDONLY) != fd || dup2(fd, 0) != 0)
			_exit(9);
		close(fd);
		execvp("cat", CAT);
		_exit(8);
	}
	show_exit("vfork, cat", child);
	SHOW(read(fd, bytes, sizeof(bytes)));
	printf("the parent has %.8s\n", bytes);

	child = vfork();
	if (child == 0) {
		if (chdir("folder") != 0)
			_exit(9);
		execv("/bin/sh", PWD);
		_exit(8);
	}
	show_exit("vfork, chdir", child);
	SHOW(access("file", F_OK));
	SHOW(open("missing", O_RDONLY));

	child = vfork();
	if (child == 0)
		_exit(7);
	show_exit("vfork, _exit", child);

	child = vfork();
	if (child == 0) {
		execv("/missing", CAT);
		execvp("no-such-program", CAT);
		_exit(errno == ENOENT ? 6 : 5);
	}
	show_exit("vfork, exec fails", child);

	size_t size_bytes = 65536;
	char *stack = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	CHECK(stack != MAP_FAILED);
	child = clone(in_clone, stack + size_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	show_exit("clone(CLONE_VM), cat", child);
	SHOW(lseek(0, 0, SEEK_CUR) >= 0);
	SHOW(access("file", F_OK));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(read(fd, bytes, sizeof(bytes)));

	/* A fork that libc does not know of. */
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		int opened = open("other", O_RDONLY);
		_exit(read(opened, bytes, sizeof(bytes)) == 15 ? 4 : 9);
	}
	show_exit("raw fork", child);
	child = _Fork();
	if (child == 0)
		_exit(open("other", O_RDONLY) >= 0 ? 3 : 9);
	show_exit("_Fork", child);
	return 0;
}
