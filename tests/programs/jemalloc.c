/* Hazard: an allocator that opens and reads files as it starts (jemalloc reads /etc/malloc.conf and
 * overcommit_memory), before any constructor ran, and calls dlsym, which allocates: endless recursion or deadlock. */
#include "check.h"

#include <pthread.h>

static const char LIBRARY[] = "libjemalloc.so.2";

static void *allocate(void *unused)
{
	for (int i = 0; i < 20000; i++) {
		char *text = malloc((size_t)(i % 5000) + 1);
		text[0] = 'x';
		text = realloc(text, 6000);
		int fd = i % 500 ? -1 : open("file", O_RDONLY);
		if (fd >= 0)
			CHECK(read(fd, text, 100) == 9 && close(fd) == 0);
		free(text);
	}
	return unused;
}

static int work(void)
{
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	pid_t child = fork_flushed();
	if (child == 0) {
		allocate(NULL);
		exit(3);
	}
	show_exit("child", child);
	/* Is it there? */
	SHOW(system("grep -q jemalloc /proc/self/maps"));
	return 2;
}

int main(int argc, char **argv)
{
	char preload[8192];
	const char *given = getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "";
	char *kept = strdup(given);

	dup2(1, 2);
	if (argc > 1)
		return work();
	(void)argv;
	if (!quietly("ldconfig -p | grep -q libjemalloc.so.2 || /sbin/ldconfig -p | grep -q "
		     "libjemalloc.so.2"))
		skip("no libjemalloc.so.2 (Debian: libjemalloc2)");
	write_file("file", "the file\n", 0644);
	snprintf(preload, sizeof(preload), "%s:%s", LIBRARY, kept);
	CHECK(setenv("LD_PRELOAD", preload, 1) == 0);
	show_self("in front");
	snprintf(preload, sizeof(preload), "%s:%s", kept, LIBRARY);
	CHECK(setenv("LD_PRELOAD", preload, 1) == 0);
	show_self("behind");
	CHECK(setenv("MALLOC_CONF", "narenas:2,abort_conf:true", 1) == 0);
	show_self("with options");
	free(kept);
	return 0;
}
