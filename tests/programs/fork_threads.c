/* Hazard: fork in a program with many threads.  The child has one thread and whatever locks the others held:
 * it opens, reads, execs all the same. */
#include "check.h"

#include <pthread.h>

enum { THREADS_MAX = 64 };

static int thread_count = 16, fork_count = 6; /* with SEEN_LONG 64 and 12 */

static volatile int stopped;

static void *worker(void *unused)
{
	char bytes[16];
	(void)unused;
	while (!stopped) {
		int fd = open("file", O_RDONLY);
		CHECK(fd >= 0 && read(fd, bytes, sizeof(bytes)) == 10 && close(fd) == 0);
		free(malloc(50));
	}
	return NULL;
}

static void *forker(void *unused)
{
	(void)unused;
	for (int i = 0; i < fork_count; i++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			char bytes[16],
				*argv[] = { (char *)"sh", (char *)"-c",
					    (char *)"read line <file; test \"$line\" = 012345678",
					    NULL };
			int fd = open("file", O_RDONLY);
			if (fd < 0 || read(fd, bytes, sizeof(bytes)) != 10 || close(fd) != 0)
				_exit(9);
			if (i % 3 == 0)
				execv("/bin/sh", argv);
			else if (i % 3 == 1)
				execvp("sh", argv);
			_exit(i % 3 == 2 ? 0 : 8);
		}
		int status = -1;
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(status == 0);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS_MAX], forkers[4];

	if (getenv("SEEN_LONG"))
		thread_count = THREADS_MAX, fork_count = 12;
	write_file("file", "012345678\n", 0644);
	for (int i = 0; i < thread_count; i++)
		CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&forkers[i], NULL, forker, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(forkers[i], NULL) == 0);
	stopped = 1;
	for (int i = 0; i < thread_count; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	printf("all well\n");
	return 0;
}
