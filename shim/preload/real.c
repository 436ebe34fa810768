/* libc's own functions: see real.h. */
#include "shim/preload/real.h"

#include <dlfcn.h>
#include <errno.h>

#include "tracker/sys.h"

void *real_pointers[REAL_COUNT];
int (*real_fileno)(FILE *stream) = fileno;
int (*real_dirfd)(DIR *folder) = dirfd;
void *real_vfork;

/* No relocations: names side by side, not pointers to them. */
enum { NAME_BYTES = 40 };
static const char NAMES[REAL_COUNT][NAME_BYTES] = {
#define HOOK(name) #name,
#include "shim/preload/hooks.def"
#undef HOOK
};
#define HOOK(name) _Static_assert(sizeof(#name) <= NAME_BYTES, "the name and its NUL fit");
#include "shim/preload/hooks.def"
#undef HOOK

static long is_missing(void)
{
	errno = ENOSYS;
	return -1;
}

void *real_resolve(enum real_name name)
{
	int saved_errno = errno;
	void *pointer = dlsym(RTLD_NEXT, NAMES[name]);
	errno = saved_errno;
	if (!pointer)
		pointer = (void *)is_missing;
	__atomic_store_n(&real_pointers[name], pointer, __ATOMIC_RELAXED);
	return pointer;
}

void real_start(void)
{
	for (int name = 0; name < REAL_COUNT; name++)
		if (!__atomic_load_n(&real_pointers[name], __ATOMIC_RELAXED))
			(void)real_resolve((enum real_name)name);
	/* A program may have functions of these names itself. */
	void *pointer = dlsym(RTLD_NEXT, "clock_gettime");
	if (pointer)
		sys_clock_gettime = (__typeof__(sys_clock_gettime))pointer;
	pointer = dlsym(RTLD_NEXT, "fileno");
	if (pointer)
		real_fileno = (__typeof__(real_fileno))pointer;
	pointer = dlsym(RTLD_NEXT, "dirfd");
	if (pointer)
		real_dirfd = (__typeof__(real_dirfd))pointer;
	real_vfork = real_pointers[REAL_vfork];
	(void)dlerror(); /* of names that this libc lacks */
}
