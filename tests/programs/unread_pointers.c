/* Hazard: pointers that the kernel never read, though a call failed as one for a path does, or succeeded.  Who reads there
 * afterwards crashes: a call with nothing to do, a type that mknod refuses, a filter of system calls that answers
 * by itself, the second word of a program's arguments, a path that ends where its page does. */
#include "check.h"

#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ANSWER(name) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT)

enum { PAGE = 4096, UNPRIVILEGED = 65534 };

/* Each value, as volatile, so that the compiler knows nothing of it. */
static char *volatile bad = (char *)8;
static char *volatile last = (char *)-1L;

/* Two pages, and a third that was given back; returns where that one begins. */
static char *new_pages(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	CHECK(pages != MAP_FAILED && munmap(pages + 2 * PAGE, PAGE) == 0);
	return pages + 2 * PAGE;
}

static void nothing_to_do(void)
{
	const struct timespec omitted[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };

	SHOW(utimensat(AT_FDCWD, bad, omitted, 0));
	SHOW(utimensat(-1, bad, omitted, 0));
	SHOW(syscall(SYS_utimensat, AT_FDCWD, bad, omitted, 0));
	SHOW(mknod(bad, S_IFDIR | 0755, 0));
	SHOW(mknod(bad, 0150000, 0));
	SHOW(mknodat(AT_FDCWD, bad, S_IFDIR | 0755, 0));
	SHOW(syscall(SYS_mknodat, AT_FDCWD, bad, S_IFDIR | 0755, 0));
	SHOW(mknod("folder", S_IFDIR | 0755, 0));
	SHOW(syscall(SYS_openat2, AT_FDCWD, bad, bad, 0L));
	SHOW(syscall(SYS_openat2, AT_FDCWD, last, 0L, 24L));
}

/* The first of two is what was wrong, or what may not be done. */
static void second_path(void)
{
	SHOW(link("missing", bad));
	SHOW(link(".", bad));
	SHOW(linkat(AT_FDCWD, bad, AT_FDCWD, bad, AT_EMPTY_PATH));
	SHOW(linkat(AT_FDCWD, "file", AT_FDCWD, bad, -1));
	SHOW(rename("missing", bad));
	SHOW(rename("/", bad));
	SHOW(rename("..", bad));
	SHOW(renameat2(AT_FDCWD, bad, AT_FDCWD, bad, 1u << 31));
	SHOW(symlink(bad, "file"));
	SHOW(symlink("", bad));
	SHOW(symlink("x", bad));
	pid_t child = fork_flushed();
	if (child == 0) {
		(void)!setuid(UNPRIVILEGED);
		SHOW(linkat(AT_FDCWD, bad, AT_FDCWD, bad, AT_EMPTY_PATH));
		SHOW(linkat(AT_FDCWD, "/etc/passwd", AT_FDCWD, bad, 0));
		SHOW(rename("/etc/passwd", bad));
		SHOW(symlink(bad, "/etc/passwd"));
		exit(0);
	}
	show_exit("unprivileged", child);
}

/* Calls that a filter answers with ENOENT, which stands for a path that was looked for. */
static void answered(void)
{
	SHOW(mkdirat(AT_FDCWD, bad, 0700));
	SHOW(mkdirat(AT_FDCWD, last, 0700));
	SHOW(unlinkat(AT_FDCWD, bad, 0));
	SHOW(renameat2(AT_FDCWD, bad, AT_FDCWD, last, 1));
	SHOW(linkat(AT_FDCWD, bad, AT_FDCWD, last, 0));
	SHOW(symlinkat(bad, AT_FDCWD, last));
	SHOW(truncate(bad, 0));
	SHOW(utimensat(AT_FDCWD, bad, NULL, 0));
	SHOW(syscall(SYS_openat2, -1, last, 0L, 0L));
	SHOW(mkdirat(AT_FDCWD, "below", 0700));
	SHOW(open("missing", O_RDONLY));
	show_file("file");
}

static void filter_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ANSWER(mkdirat),
		ANSWER(unlinkat),
		ANSWER(renameat2),
		ANSWER(linkat),
		ANSWER(symlinkat),
		ANSWER(truncate),
		ANSWER(utimensat),
		ANSWER(openat2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		skip("the kernel has no seccomp");
}

/* The end of a page is also the end of what may be read: of paths, with a NUL and without, and of words. */
static void page_ends(void)
{
	char *end = new_pages();

	for (size_t length = PATH_MAX; length >= PATH_MAX - 2; length--) {
		char *path = end - length;
		memset(end - 2 * PAGE, 'a', 2 * PAGE);
		for (size_t i = 0; i < length; i += 2)
			path[i] = '/';
		if (length < PATH_MAX)
			path[length - 1] = '\0';
		printf("-- %zu bytes\n", length);
		SHOW(open(path, O_RDONLY));
		SHOW(open(path, O_WRONLY | O_CREAT, 0600));
		SHOW(mkdir(path, 0700));
		SHOW(rename("file", path));
		SHOW(symlink("file", path));
		SHOW(chdir(path));
		SHOW_POINTER(fopen(path, "r"));
		SHOW(execve(path, (char *[]){ (char *)"x", NULL }, environ));
	}
	for (size_t length = 4; length < 12; length++) {
		memcpy(end - length, "/bin/true///", length);
		SHOW(execve(end - length, (char *[]){ (char *)"x", NULL }, environ));
		SHOW(open(end - length, O_RDONLY));
	}
}

/* In a child: the program is not to be started, or it is. */
static void start(const char *what, const char *path, char *const argv[], char *const variables[])
{
	pid_t child = fork_flushed();
	if (child == 0) {
		SHOW(execve(path, argv, variables));
		exit(0);
	}
	show_exit(what, child);
}

static void words(void)
{
	char *end = new_pages(), sh[] = "sh", c[] = "-c", in[] = "in";

	start("second word", "/bin/true", (char *[]){ sh, bad, NULL }, environ);
	start("third word", "/bin/sh", (char *[]){ sh, c, bad, NULL }, environ);
	start("third word, bash", "/bin/bash", (char *[]){ sh, c, bad, NULL }, environ);
	start("third word, high", "/bin/sh", (char *[]){ sh, c, last, NULL }, environ);
	start("fifth word", "/bin/sh", (char *[]){ sh, c, in, in, bad, NULL }, environ);
	start("fifth word, env", "/usr/bin/env", (char *[]){ sh, c, in, in, bad, NULL }, environ);
	memcpy(end - 3, "-c", 3);
	start("words at the end", "/bin/echo", (char *[]){ end - 3, in, end - 3, NULL }, environ);
	memcpy(end - 5, "-c  x", 5);
	start("a word without end", "/bin/sh", (char *[]){ sh, c, end - 5, NULL }, environ);
	/* The array of them, too, may end where nothing is. */
	char **array = (char **)(void *)end - 3;
	array[0] = sh, array[1] = c, array[2] = in;
	start("words without end", "/bin/sh", array, environ);
	array[2] = NULL;
	start("words that just fit", "/bin/true", array, array + 2);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		answered();
		return 0;
	}
	write_file("file", "the file\n", 0644);
	nothing_to_do();
	second_path();
	page_ends();
	words();
	pid_t child = fork_flushed();
	if (child == 0) {
		filter_calls();
		answered();
		exit(0);
	}
	show_exit("past a filter", child);
	child = fork_flushed();
	if (child == 0) {
		filter_calls();
		execl(self(), "self", "answered", NULL);
		_exit(126);
	}
	show_exit("below a filter", child);
	return 0;
}
