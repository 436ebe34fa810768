/* Hazard: names that stand for something else when another process resolves them: /proc/self, /dev/stdin,
 * /dev/fd/N, a current directory that is gone, paths relative to it, openat2's ways to resolve, files without a name. */
#include "check.h"

#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>

static void show_content(const char *name, int fd)
{
	char bytes[64];
	ssize_t count = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	printf("%s: %.*s", name, count > 0 ? (int)count : 0, bytes);
	printf("%s\n", fd < 0 ? strerrorname_np(errno) : count < 0 ? "not read" : "");
	if (fd >= 0)
		CHECK(close(fd) == 0);
}

static void resolve(const char *path, int directory, uint64_t flags, uint64_t how_to)
{
	struct open_how how = { .flags = flags,
				.mode = flags & O_CREAT ? 0600 : 0,
				.resolve = how_to };
	char name[128];

	(void)snprintf(name, sizeof(name), "openat2 %s 0x%lx", path, (unsigned long)how_to);
	show_content(name, (int)syscall(SYS_openat2, directory, path, &how, sizeof(how)));
}

static void through_links(int file, int directory)
{
	char path[64];
	int fd;

	static const char *const DIRECTORIES[] = { "/proc/self/fd", "/dev/fd",
						   "/proc/thread-self/fd",
						   "/proc/self/../self/fd" };
	for (unsigned i = 0; i < 4; i++) {
		(void)snprintf(path, sizeof(path), "%s/%d", DIRECTORIES[i], file);
		show_content(path, open(path, O_RDONLY));
		SHOW((fd = open(path, O_WRONLY | O_APPEND)) >= 0);
		close(fd);
		(void)snprintf(path, sizeof(path), "%s/%d/inside", DIRECTORIES[i], directory);
		show_content(path, open(path, O_RDONLY));
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/cwd/file", getpid());
	fd = open(path, O_RDONLY);
	show_content("/proc/PID/cwd/file", fd);
	show_content("/proc/self/cwd/file", open("/proc/self/cwd/file", O_RDONLY));
	show_content("/proc/self/root/../file", open("/proc/self/root/no/such", O_RDONLY));
	SHOW(open("/proc/self/fd/999", O_RDONLY));
	SHOW(open("/dev/fd/", O_WRONLY));
	SHOW((fd = open("/proc/self/exe", O_RDONLY)) >= 0);
	close(fd);
	SHOW((fd = open("/proc/self/comm", O_WRONLY)) >= 0);
	close(fd);
	/* A pipe's and a socket's name in /proc. */
	int ends[2];
	CHECK(pipe(ends) == 0 && write(ends[1], "piped", 5) == 5);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	show_content("/dev/fd/PIPE", open(path, O_RDONLY));
	close(ends[0]);
	close(ends[1]);
	/* Standard input, by all its names. */
	CHECK((fd = open("file", O_RDONLY)) >= 0 && dup2(fd, 0) == 0);
	show_content("/dev/stdin", open("/dev/stdin", O_RDONLY));
	show_content("/proc/self/fd/0", open("/proc/self/fd/0", O_RDONLY));
	SHOW(system("cat /dev/stdin < file; cat /dev/fd/5 5< file; cat /proc/self/fd/0 < file"));
}

static void without_name(void)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0) {
		printf("O_TMPFILE: %s\n", strerrorname_np(errno));
		return;
	}
	CHECK(write(fd, "nameless\n", 9) == 9);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	SHOW(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	SHOW(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	SHOW(linkat(AT_FDCWD, path, AT_FDCWD, "not/there", AT_SYMLINK_FOLLOW));
	CHECK(close(fd) == 0);
	show_file("named");
	/* Read again by the name of a descriptor whose file is gone. */
	CHECK((fd = open("named", O_RDONLY)) >= 0 && unlink("named") == 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	show_content("deleted", open(path, O_RDONLY));
	SHOW(truncate(path, 3));
	show_content("deleted", open(path, O_RDONLY));
}

static void long_names(void)
{
	static char path[3 * 4096], name[300];
	int fd;

	/* ./././...file: of 4095 bytes, the longest; of 4096; and longer. */
	for (int length = 4094; length <= 4097; length++) {
		char *at = stpcpy(path, length % 2 ? ".//" : "./");
		while (at - path < length - 4)
			at = stpcpy(at, "./");
		(void)strcpy(at, "file");
		printf("%zu bytes, ", strlen(path));
		show_content("long", open(path, O_RDONLY));
	}
	memset(path, 'a', sizeof(path) - 1);
	SHOW(open(path, O_RDONLY));
	SHOW(mkdir(path, 0700));
	SHOW(rename("file", path));
	memset(name, 'n', 255);
	SHOW((fd = open(name, O_RDWR | O_CREAT, 0600)) >= 0);
	close(fd);
	SHOW(unlink(name));
	memset(name, 'n', 256);
	SHOW(open(name, O_RDWR | O_CREAT, 0600));
	/* A current directory whose path is longer than any path may be. */
	memset(name, 0, sizeof(name));
	memset(name, 'd', 250);
	for (int i = 0; i < 20; i++)
		CHECK(mkdir(name, 0700) == 0 && chdir(name) == 0);
	write_file("deep", "far down\n", 0600);
	show_file("deep");
	SHOW(rename("deep", "deeper"));
	SHOW(open("deep", O_RDONLY));
	SHOW(symlink("deeper", "link"));
	show_file("link");
	SHOW(system("cat deeper"));
	SHOW(truncate("deeper", 3));
	SHOW(unlink("deeper"));
	for (int i = 0; i < 20; i++)
		CHECK((i || unlink("link") == 0) && chdir("..") == 0 && rmdir(name) == 0);
}

int main(void)
{
	int file, directory;

	dup2(1, 2);
	write_file("file", "the file\n", 0644);
	CHECK(mkdir("folder", 0755) == 0 && symlink("../file", "folder/link") == 0);
	write_file("folder/inside", "inside\n", 0644);
	CHECK((file = open("file", O_RDWR)) >= 0 &&
	      (directory = open("folder", O_RDONLY | O_DIRECTORY)) >= 0);
	through_links(file, directory);

	static const uint64_t HOW[] = { 0,
					RESOLVE_BENEATH,
					RESOLVE_IN_ROOT,
					RESOLVE_NO_SYMLINKS,
					RESOLVE_NO_MAGICLINKS,
					RESOLVE_NO_XDEV };
	for (unsigned i = 0; i < sizeof(HOW) / sizeof(HOW[0]); i++) {
		resolve("inside", directory, O_RDONLY, HOW[i]);
		resolve("link", directory, O_RDONLY, HOW[i]);
		resolve("../file", directory, O_RDONLY, HOW[i]);
		resolve("/inside", directory, O_RDONLY, HOW[i]);
		resolve("/proc/self/fd/0", directory, O_RDONLY, HOW[i]);
		resolve("new", directory, O_RDWR | O_CREAT | O_TRUNC, HOW[i]);
	}
	resolve("inside", directory, O_RDONLY, 0x8000);
	struct open_how how = { .flags = O_RDONLY };
	SHOW(syscall(SYS_openat2, directory, "inside", &how, 8));
	SHOW(syscall(SYS_openat2, directory, "inside", &how, 4096));
	SHOW(syscall(SYS_openat2, directory, "inside", NULL, sizeof(how)));
	SHOW(openat(999, "file", O_RDONLY));
	SHOW(openat(999, "/no/such/file", O_RDONLY));
	SHOW(openat(file, "file", O_RDONLY));
	SHOW(openat(directory, "", O_RDONLY));
	SHOW(open("", O_WRONLY | O_CREAT, 0600));

	without_name();
	long_names();

	/* A directory that is gone. */
	CHECK(mkdir("gone", 0755) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0);
	SHOW(open("file", O_RDONLY));
	SHOW(open("file", O_RDWR | O_CREAT, 0600));
	SHOW(open(".", O_RDONLY));
	show_content("../file", open("../file", O_RDONLY));
	SHOW(mkdir("x", 0700));
	SHOW(rename("../file", "file"));
	SHOW(system("cat /dev/null"));
	return 0;
}
