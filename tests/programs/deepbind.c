/* Hazard: a plugin loaded with RTLD_DEEPBIND, or in a namespace of its own (dlmopen), has libc's own names: an open that
 * the shim did not see, and a read that it sees, or the other way round. */
#include "check.h"

#include <dlfcn.h>

int main(void)
{
	char path[4200];
	long (*deep_read)(const char *);

	write_file("file", "the file\n", 0644);
	snprintf(path, sizeof(path), "%.*s/deep.so", (int)(strrchr(self(), '/') - self()), self());
	void *library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	CHECK(library);
	*(void **)&deep_read = dlsym(library, "deep_read");
	CHECK(deep_read);
	SHOW(deep_read("file"));
	SHOW(open("file", O_RDONLY));
	SHOW(close(3));
	SHOW(dlclose(library));
	library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	CHECK(library);
	*(void **)&deep_read = dlsym(library, "deep_read");
	SHOW(deep_read("file"));
	SHOW(dlclose(library));
	/* libc's names by name, as language run times take them. */
	int (*open_by_name)(const char *, int, ...);
	*(void **)&open_by_name = dlsym(RTLD_DEFAULT, "open");
	SHOW(open_by_name("file", O_RDONLY));
	*(void **)&open_by_name = dlsym(RTLD_NEXT, "open");
	SHOW(open_by_name("file", O_RDONLY));
	*(void **)&open_by_name = dlvsym(RTLD_DEFAULT, "open", "GLIBC_2.2.5");
	SHOW(open_by_name ? open_by_name("file", O_RDONLY) : -2);
	library = dlopen("libc.so.6", RTLD_NOW);
	*(void **)&open_by_name = dlsym(library, "open");
	SHOW(open_by_name("file", O_RDONLY));
	return 0;
}
