/* libgit2: see git2.h. */
#include "cli/base/git2.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

_Static_assert(LIBGIT2_VER_MAJOR == 1 && GIT_MERGE_FILE_OPTIONS_VERSION == 1 &&
		       GIT_MERGE_FILE_INPUT_VERSION == 1,
	       "the forms that each release of MINORS has");

enum { MINOR_FIRST = 1, MINOR_LAST = 9 };

const char *git2_name(void)
{
	return "libgit2 1.1 to 1.9 (libgit2.so.1.*)";
}

/* The newest that is there; NULL: none. */
static void *open_library(void)
{
	char name[32];
	void *handle = NULL;

	for (int minor = MINOR_LAST; !handle && minor >= MINOR_FIRST; minor--) {
		(void)snprintf(name, sizeof(name), "libgit2.so.1.%d", minor);
		handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	}
	return handle;
}

const struct git2 *git2_load(void)
{
	static struct git2 git2;
	static const struct git2 *loaded;
	void *handle = loaded ? NULL : open_library();

	if (!handle)
		return loaded;
#define GIT2_MEMBER(name) \
	if (!(git2.name = (__typeof__(git2.name))dlsym(handle, "git_" #name))) \
		return NULL;
	GIT2_FUNCTIONS(GIT2_MEMBER)
#undef GIT2_MEMBER
	return git2.libgit2_init() < 0 ? NULL : (loaded = &git2);
}
