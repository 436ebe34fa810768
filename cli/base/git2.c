/* libgit2: see git2.h. */
#include "cli/base/git2.h"

#include <dlfcn.h>
#include <stddef.h>

#define TEXT(number) #number
#define NAME(major, minor) "libgit2.so." TEXT(major) "." TEXT(minor)

const char *git2_name(void)
{
	return NAME(LIBGIT2_VER_MAJOR, LIBGIT2_VER_MINOR);
}

const struct git2 *git2_load(void)
{
	static struct git2 git2;
	static const struct git2 *loaded;
	void *handle = loaded ? NULL : dlopen(git2_name(), RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return loaded;
#define GIT2_MEMBER(name) \
	if (!(git2.name = (__typeof__(git2.name))dlsym(handle, "git_" #name))) \
		return NULL;
	GIT2_FUNCTIONS(GIT2_MEMBER)
#undef GIT2_MEMBER
	return git2.libgit2_init() < 0 ? NULL : (loaded = &git2);
}
