/* Hazard: syscall(), whose six arguments mean what the number says: programs (node, rust, systemd) reach new calls by it. */
#include "check.h"

#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main(void)
{
	char bytes[64];
	struct open_how how = { .flags = O_RDONLY, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = -1;

	write_file("file", "the file\n", 0644);
	SHOW(fd = (int)syscall(SYS_openat, AT_FDCWD, "file", O_RDWR, 0));
	SHOW(syscall(SYS_read, fd, bytes, sizeof(bytes)));
	SHOW(syscall(SYS_pread64, fd, bytes, sizeof(bytes), 4L));
	SHOW(syscall(SYS_write, fd, "more\n", 5L));
	SHOW(syscall(SYS_lseek, fd, 0L, SEEK_SET));
	SHOW(syscall(SYS_openat2, AT_FDCWD, "file", &how, sizeof(how)));
	SHOW(syscall(SYS_openat2, AT_FDCWD, "missing", &how, sizeof(how)));
	SHOW(syscall(SYS_openat2, AT_FDCWD, "file", &how, 1L));
	SHOW(syscall(SYS_openat2, AT_FDCWD, "file", NULL, sizeof(how)));
	SHOW(syscall(SYS_openat, AT_FDCWD, "missing", O_RDONLY));
	SHOW(syscall(SYS_getpid) == getpid());
	SHOW(syscall(SYS_gettid) == gettid());
	/* All six count. */
	long address = syscall(SYS_mmap, 0L, 4096L, PROT_READ, MAP_PRIVATE, fd, 0L);
	SHOW(address > 0);
	SHOW(memcmp((void *)address, "the file\nmore\n", 14));
	SHOW(syscall(SYS_copy_file_range, fd, NULL, fd, &(off_t){ 14 }, 14L, 0L));
	SHOW(syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, "renamed", 0L));
	SHOW(syscall(SYS_unlinkat, AT_FDCWD, "renamed", 0L));
	SHOW(syscall(SYS_close, fd));
	SHOW(syscall(SYS_close, fd));
	SHOW(syscall(SYS_io_uring_setup, 0L, NULL) < 0);
	SHOW(syscall(99999L));
	SHOW(syscall(-1L));
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
	if (child == 0) {
		write_file("script", "#!/bin/sh\nexit 3\n", 0755);
		syscall(SYS_execve, "./script", (char *[]){ (char *)"script", NULL }, environ);
		syscall(SYS_exit_group, 9L);
	}
	show_exit("raw fork and exec", child);
	return 0;
}
