/* Hazard: a fork while another thread is in the loader (dlopen, dlsym).  The child's loader lock is held by a thread that
 * is not there: a shim that resolves libc's functions at their first use waits for ever. */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>

static volatile int stopped;

static void *load(void *unused)
{
	while (!stopped) {
		void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
		if (library) {
			(void)dlsym(library, "no_such_name");
			dlclose(library);
		}
	}
	return unused;
}

int main(void)
{
	pthread_t threads[4];
	int wrong = 0;

	write_file("file", "the file\n", 0644);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, load, NULL) == 0);
	for (int i = 0; i < 150; i++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			/* None of these was called before. */
			char bytes[16], name[32];
			alarm(5);
			snprintf(name, sizeof(name), "file-%d", i);
			int fd = openat(AT_FDCWD, "file", O_RDONLY);
			_exit(fd < 0 || pread64(fd, bytes, 4, 0) != 4 ||
			      linkat(AT_FDCWD, "file", AT_FDCWD, name, 0) != 0 ||
			      renameat2(AT_FDCWD, name, AT_FDCWD, "renamed", 0) != 0 ||
			      chdir(".") != 0 || dup3(fd, 20, 0) != 20);
		}
		int status = -1;
		CHECK(waitpid(child, &status, 0) == child);
		wrong += status != 0;
		if (wrong > 2)
			break;
	}
	stopped = 1;
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	printf("wrong: %d\n", wrong);
	return 0;
}
