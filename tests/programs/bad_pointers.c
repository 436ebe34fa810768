/* Hazard: memory that the caller passed is read before the kernel checked it.  A pointer to nowhere gives
 * EFAULT, never a crash: some programs ask so whether a call exists at all (Rust's statx probe). */
#include "check.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Each value, as volatile, so that the compiler knows nothing of it. */
static void *volatile none = NULL;
static void *volatile small = (void *)1;
static void *volatile high = (void *)0x7ffffffff000;              /* past the end of user space */
static void *volatile not_canonical = (void *)0xdead000000000000; /* not canonical */
static void *volatile unmapped;                                   /* a page that was given back */
static char *volatile unended; /* text that ends at such a page, without NUL */

/* volatile: the compiler would take a pointer for good that was passed to open(). */
static void with(const char *name, void *volatile bad)
{
	void *volatile other_bad = bad;
	char word[] = "word";
	char *argv[] = { word, NULL };
	char *bad_words[] = { word, bad, NULL };
	/* The first: a later variable that is not readable is the one thing that differs (docs/limits.md). */
	char *bad_variables[] = { bad, NULL };
	struct iovec part = { bad, 10 };
	int file = open("file", O_RDWR);

	CHECK(file >= 0);
	printf("-- %s\n", name);
	SHOW(open(bad, O_RDONLY));
	SHOW(open(bad, O_RDWR | O_CREAT, 0600));
	SHOW(open64(bad, O_RDONLY));
	SHOW(openat(AT_FDCWD, bad, O_RDONLY));
	SHOW(openat64(AT_FDCWD, bad, O_WRONLY));
	SHOW(creat(bad, 0600));
	SHOW(read(file, bad, 10));
	SHOW(pread(file, bad, 10, 0));
	SHOW(write(file, bad, 10));
	SHOW(pwrite(file, bad, 10, 0));
	SHOW(readv(file, &part, 1));
	SHOW(writev(file, &part, 1));
	SHOW(readv(file, bad, 1));
	SHOW(writev(file, bad, 1));
	SHOW(preadv(file, bad, 1, 0));
	SHOW(pwritev(file, bad, 1, 0));
	SHOW(rename(bad, "other"));
	SHOW(rename("file", bad));
	SHOW(renameat(AT_FDCWD, bad, AT_FDCWD, "other"));
	SHOW(renameat2(AT_FDCWD, "file", AT_FDCWD, bad, 0));
	SHOW(link(bad, "other"));
	SHOW(link("file", bad));
	SHOW(linkat(AT_FDCWD, bad, AT_FDCWD, "other", 0));
	SHOW(symlink(bad, "other"));
	SHOW(symlink("file", bad));
	SHOW(unlink(bad));
	SHOW(unlinkat(AT_FDCWD, bad, 0));
	SHOW(rmdir(bad));
	SHOW(mkdir(bad, 0700));
	SHOW(remove(bad));
	SHOW(truncate(bad, 0));
	SHOW(chdir(bad));
	SHOW(statx(AT_FDCWD, bad, 0, STATX_ALL, other_bad));
	SHOW(stat(bad, other_bad));
	SHOW(syscall(SYS_openat, AT_FDCWD, bad, O_RDONLY));
	SHOW(syscall(SYS_read, file, bad, 10));
	SHOW(copy_file_range(file, small, file, small, 10, 0));
	SHOW(sendfile(file, file, small, 10));
	SHOW(execve(bad, argv, environ));
	SHOW(execveat(AT_FDCWD, bad, argv, environ, 0));
	if (bad) {
		/* NULL is an empty list there. */
		SHOW(execve("/bin/true", bad, environ));
		SHOW(execve("/bin/true", argv, bad));
		SHOW(execv("/bin/true", bad));
		SHOW(execve("/bin/true", bad_words, environ));
		SHOW(execve("/bin/true", argv, bad_variables));
		SHOW(execveat(AT_FDCWD, "/bin/true", bad, environ, 0));
		SHOW(fexecve(file, bad, environ));
	}
	CHECK(close(file) == 0);
}

/* In a child: glibc's own posix_spawn may crash the caller, with the shim as without. */
static void spawned_with(const char *name, void *volatile bad)
{
	static const char *const WHAT[] = { "path", "argv", "a word", "environment", "a variable" };
	printf("-- posix_spawn, %s\n", name);
	for (int i = 0; i < 5; i++) {
		pid_t child = fork_flushed();
		if (child == 0) {
			char word[] = "word";
			char *argv[] = { word, NULL }, *bad_words[] = { word, bad, NULL };
			char *bad_variables[] = { bad, NULL };
			pid_t spawned;
			int error = posix_spawn(&spawned, i == 0 ? bad : "/bin/true", NULL, NULL,
						i == 1   ? bad
						: i == 2 ? bad_words
							 : argv,
						i == 3   ? bad
						: i == 4 ? bad_variables
							 : environ);
			_exit(error);
		}
		show_exit(WHAT[i], child);
	}
}

int main(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	CHECK(munmap(pages + 4096, 4096) == 0);
	unmapped = pages + 4096;
	unended = pages + 4096 - 5;
	memcpy(unended, "/etc/", 5);
	write_file("file", "some bytes of a file\n", 0644);
	with("NULL", none);
	with("1", small);
	with("past the end", high);
	with("not canonical", not_canonical);
	with("unmapped", unmapped);
	with("no end", unended);
	spawned_with("1", small);
	spawned_with("past the end", high);
	spawned_with("unmapped", unmapped);
	spawned_with("no end", unended);
	SHOW_POINTER(fopen(none ? "" : small, "r"));
	return 0;
}
