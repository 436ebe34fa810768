/* libc's own functions: see real.h. */
#include "shim/preload/real.h"

#include <dlfcn.h>
#include <errno.h>

void *real_pointers[REAL_COUNT];

/* No relocations: names side by side, not pointers to them. */
static const char NAMES[REAL_COUNT][20] = {
#define HOOK(name) #name,
#include "shim/preload/hooks.def"
#undef HOOK
};

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
	(void)dlerror(); /* of names that this libc lacks */
}
