/* Hazard: the library resolves libc's functions by itself.  It must find what dlsym(RTLD_NEXT) would have: for each name, with
 * another library behind it that has some of them, and with one whose names are in the other kind of table. */
#include <dlfcn.h>
#include <gnu/libc-version.h>

#include "check.h"

static void library(const char *name, char *ret_path, size_t capacity)
{
	CHECK((size_t)snprintf(ret_path, capacity, "%.*s/%s.so",
			       (int)(strrchr(self(), '/') - self()), self(), name) < capacity);
	CHECK(access(ret_path, R_OK) == 0);
}

int main(int argc, char **argv)
{
	char compares[4096], counts[4096], value[16384];
	const char *given = getenv("LD_PRELOAD");

	if (strverscmp(gnu_get_libc_version(), "2.34") < 0) {
		puts("libpthread is a library of its own here, and dlsym(RTLD_NEXT) takes hidden "
		     "names of it");
		return 77;
	}
	if (argc == 1) {
		library("real_names", compares, sizeof(compares));
		library("counter", counts, sizeof(counts));
		(void)snprintf(value, sizeof(value), "%s%s%s:%s", given ? given : "",
			       given ? ":" : "", compares, counts);
		CHECK(setenv("LD_PRELOAD", value, 1) == 0);
		char *words[] = { argv[0], (char *)"compare", NULL };
		execv(self(), words);
		return 1;
	}
	int (*compared)(void);
	*(void **)&compared = dlsym(RTLD_DEFAULT, "real_names_compared");
	CHECK(compared != NULL);
	int found = compared();
	if (found < 100)
		printf("%d\n", found);
	CHECK(found >= 100);
	return 0;
}
