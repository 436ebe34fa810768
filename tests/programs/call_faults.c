/* Hazard: pointers that are wrong, in each call that a supervisor may inspect before it is made: the kernel's answer. */
#include "check.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define RAW(...) SHOW(syscall(__VA_ARGS__))

static char *edge; /* where readable memory ends */

/* The last bytes before memory that cannot be read: a name without an end. */
static const char *cut(const char *name)
{
	return memcpy(edge - strlen(name), name, strlen(name));
}

static void all(const char *what, const void *bad)
{
	const char *other = "other";

	printf("-- %s\n", what);
	RAW(SYS_openat, AT_FDCWD, bad, O_RDONLY);
	RAW(SYS_openat, AT_FDCWD, bad, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	RAW(SYS_openat, 999, bad, O_RDONLY | O_DIRECTORY);
	RAW(SYS_openat2, AT_FDCWD, bad, bad, 24);
	RAW(SYS_openat2, AT_FDCWD, "file", bad, 24);
	RAW(SYS_execveat, AT_FDCWD, bad, NULL, NULL, 0);
	RAW(SYS_execve, bad, NULL, NULL);
	RAW(SYS_execve, bad, bad, bad);
	RAW(SYS_execve, "/bin/true", (const void *[]){ bad == NULL ? edge : bad, NULL }, NULL);
	RAW(SYS_execve, "/no/such/file", bad, bad);
	RAW(SYS_renameat2, AT_FDCWD, bad, AT_FDCWD, other, 0);
	RAW(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, bad, 0);
	RAW(SYS_unlinkat, AT_FDCWD, bad, 0);
	RAW(SYS_linkat, AT_FDCWD, bad, AT_FDCWD, other, 0);
	RAW(SYS_linkat, AT_FDCWD, "file", AT_FDCWD, bad, 0);
	RAW(SYS_symlinkat, bad, AT_FDCWD, other);
	RAW(SYS_symlinkat, "file", AT_FDCWD, bad);
	RAW(SYS_mkdirat, AT_FDCWD, bad, 0700);
	RAW(SYS_mknodat, AT_FDCWD, bad, S_IFREG | 0600, 0);
	RAW(SYS_truncate, bad, 0);
#ifdef SYS_open
	RAW(SYS_open, bad, O_RDONLY);
	RAW(SYS_open, bad, O_RDWR | O_TRUNC);
	RAW(SYS_creat, bad, 0600);
	RAW(SYS_rename, bad, other);
	RAW(SYS_rename, "file", bad);
	RAW(SYS_unlink, bad);
	RAW(SYS_rmdir, bad);
	RAW(SYS_link, bad, other);
	RAW(SYS_link, "file", bad);
	RAW(SYS_symlink, bad, other);
	RAW(SYS_symlink, "file", bad);
	RAW(SYS_mkdir, bad, 0700);
	RAW(SYS_mknod, bad, S_IFREG | 0600, 0);
#endif
}

int main(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, (size_t)(2 * page), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && mprotect(pages + page, (size_t)page, PROT_NONE) == 0);
	edge = pages + page;
	write_file("file", "the file\n", 0644);
	all("NULL", NULL);
	all("1", (const void *)1);
	all("not mapped", edge);
	all("no user's memory", (const void *)(1ul << 63));
	all("ends before its end", cut("file"));
	memset(pages, 'x', (size_t)page);
	all("a page without an end", pages);
	/* What ends right at the edge is whole. */
	const char *whole = memcpy(edge - 5, "file", 5);
	SHOW(open(whole, O_RDONLY) >= 0);
	SHOW(rename(whole, "moved"));
	SHOW(rename("moved", whole));
	/* Memory that can be written or run, and not read: the kernel may read it. */
	char *code = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	CHECK(code != MAP_FAILED && strcpy(code, "file") &&
	      mprotect(code, (size_t)page, PROT_WRITE) == 0);
	SHOW(open(code, O_RDONLY) >= 0);
	CHECK(mprotect(code, (size_t)page, PROT_NONE) == 0);
	SHOW(open(code, O_RDONLY));
	show_file("file");
	return 0;
}
