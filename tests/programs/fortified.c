/* Hazard: a program built with -D_FORTIFY_SOURCE calls other names (__open_2, __read_chk, ...), which end it when it
 * does wrong, with a message that is libc's. */
#pragma GCC optimize("O2")
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2
#include "check.h"

#include <sys/resource.h>

static volatile int flags = O_RDONLY;
static volatile size_t length = 8;

static int wrong(const char *way)
{
	char bytes[8];
	int fd = open("file", flags);
	length = 9;
	if (strcmp(way, "open without a mode") == 0) {
		flags = O_RDWR | O_CREAT;
		return open("new", flags);
	}
	if (strcmp(way, "openat without a mode") == 0) {
		flags = O_RDWR | O_CREAT;
		return openat(AT_FDCWD, "new", flags);
	}
	if (strcmp(way, "read too much") == 0)
		return (int)read(fd, bytes, length) + bytes[0];
	if (strcmp(way, "pread too much") == 0)
		return (int)pread(fd, bytes, length, 0) + bytes[0];
	if (strcmp(way, "fread too much") == 0)
		return (int)fread(bytes, 1, length, fopen("file", "r")) + bytes[0];
	if (strcmp(way, "fgets too much") == 0)
		return fgets(bytes, (int)length, fopen("file", "r")) ? bytes[0] : 1;
	if (strcmp(way, "readlink too much") == 0)
		return (int)readlink("file", bytes, length) + bytes[0];
	return 1;
}

int main(int argc, char **argv)
{
	static const char *const WAYS[] = { "open without a mode", "openat without a mode",
					    "read too much",       "pread too much",
					    "fread too much",      "fgets too much",
					    "readlink too much" };
	char bytes[8];
	struct rlimit none = { 0, 0 };

	dup2(1, 2);
	setrlimit(RLIMIT_CORE, &none);
	if (argc > 1)
		return wrong(argv[1]);
	write_file("file", "the file\n", 0644);
	int fd = -1, directory = open(".", flags | O_DIRECTORY);
	SHOW(fd = open("file", flags));
	SHOW(open64("file", flags));
	SHOW(openat(directory, "file", flags));
	SHOW(openat64(directory, "file", flags));
	SHOW(open("missing", flags));
	SHOW(read(fd, bytes, length));
	SHOW(pread(fd, bytes, length, 2));
	SHOW(pread64(fd, bytes, length, 2));
	SHOW(read(-1, bytes, length));
	for (size_t i = 0; i < sizeof(WAYS) / sizeof(WAYS[0]); i++)
		show_self(WAYS[i]);
	return 0;
}
