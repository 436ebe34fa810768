/* Hazard: dlerror() describes the last call of dlopen, dlsym or dlclose in the thread: a shim's own lookup of a name takes the
 * message away, or leaves one. */
#include "check.h"

#include <dlfcn.h>

int main(void)
{
	write_file("file", "the file\n", 0644);
	printf("at the start: %s\n", dlerror() ? "a message" : "none");
	CHECK(!dlopen("no-such-library.so", RTLD_NOW));
	/* First calls of these. */
	int fd = openat(AT_FDCWD, "file", O_RDONLY);
	CHECK(fd >= 0 && dup3(fd, 20, 0) == 20);
	char bytes[16];
	CHECK(pread(fd, bytes, 4, 0) == 4);
	CHECK(renameat(AT_FDCWD, "file", AT_FDCWD, "renamed") == 0);
	const char *message = dlerror();
	printf("%s\n", message ? message : "none");
	CHECK(!dlsym(RTLD_DEFAULT, "no_such_name"));
	CHECK(unlinkat(AT_FDCWD, "renamed", 0) == 0);
	message = dlerror();
	printf("%s\n", message ? strrchr(message, ':') : "none");
	printf("then: %s\n", dlerror() ? "a message" : "none");
	CHECK(access("renamed", F_OK) != 0 && mkdir("folder", 0755) == 0 && rmdir("folder") == 0);
	printf("then: %s\n", dlerror() ? "a message" : "none");
	return 0;
}
