/* Hazard: threads that open files while a signal hits them every 100 microseconds, as Go's scheduler does (SIGURG, SA_RESTART).
 * A call that is taken back and made anew at each signal never ends. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 6, OPENS = 300 };

static pthread_t threads[THREADS];
static atomic_int running = THREADS;
static atomic_int signals, failures;

static void count(int signal)
{
	(void)signal;
	signals++;
}

static void *open_files(void *number)
{
	char name[32], text[32];

	(void)snprintf(name, sizeof(name), "file%ld", (long)number);
	for (int i = 0; i < OPENS; i++) {
		int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
		failures += fd < 0;
		if (fd < 0)
			continue;
		failures += write(fd, name, 4) != 4;
		close(fd);
		fd = open(name, O_RDONLY);
		failures += fd < 0 || read(fd, text, sizeof(text)) != 4;
		close(fd);
		failures += i % 2 && unlink(name) != 0;
	}
	running--;
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };

	CHECK(sigaction(SIGURG, &action, NULL) == 0);
	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, open_files, (void *)i) == 0);
	/* Each thread has as many opens to do as it takes: all end in the time of the test. */
	while (running) {
		for (int i = 0; i < THREADS; i++)
			pthread_kill(threads[i], SIGURG);
		usleep(100);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	printf("failures %d, hit %d\n", failures, signals > 0);
	return 0;
}
