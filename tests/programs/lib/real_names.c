/* What the library finds for each name by itself, against what dlsym(RTLD_NEXT) finds from here: the same code, compiled into a
 * library that asks both. */
#include "shim/preload/real.c"

int (*sys_clock_gettime)(clockid_t clock, struct timespec *ret_time) = clock_gettime;

/* Returns how many names there are; below 0 the number of a name for which they differ. */
int real_names_compared(void);
__attribute__((visibility("default"))) int real_names_compared(void)
{
	int found = 0;

	for (int name = 0; name < REAL_COUNT; name++) {
		void *pointer = dlsym(RTLD_NEXT, NAMES[name]);
		if (next_of(NAMES[name]) != pointer)
			return -1 - name;
		found += pointer != NULL;
	}
	struct timespec now = { 0, 0 };
	real_start();
	return own_object && sys_clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > 0 ? found
											    : 0;
}
