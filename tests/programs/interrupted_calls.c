/* Hazard: calls that end in another way than by returning: EINTR, a thread cancelled in read or open, a jump out of a
 * signal handler.  A wrapper that holds something then never gives it back. */
#include "check.h"

#include <pthread.h>
#include <setjmp.h>

static int ends[2];
static sigjmp_buf out;

static void nothing(int signal)
{
	(void)signal;
}

static void jump(int signal)
{
	(void)signal;
	siglongjmp(out, 1);
}

static void *block(void *unused)
{
	char byte;
	CHECK(read(ends[0], &byte, 1) == 1);
	return unused;
}

static void *block_in_open(void *unused)
{
	CHECK(open("fifo", O_RDONLY) >= 0);
	return unused;
}

static void cancel(const char *what, void *(*work)(void *))
{
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		void *result;
		CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
		if (i % 2)
			usleep(500);
		CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
	}
	printf("cancelled in %s\n", what);
}

int main(void)
{
	struct sigaction action = { .sa_handler = nothing };
	char byte;

	CHECK(pipe(ends) == 0 && mkfifo("fifo", 0600) == 0);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	interrupt_every(20000);
	SHOW(read(ends[0], &byte, 1));
	SHOW(open("fifo", O_RDONLY));
	interrupt_every(0);
	cancel("read", block);
	cancel("open", block_in_open);
	action.sa_handler = jump;
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	for (volatile int i = 0; i < 20; i++) {
		if (sigsetjmp(out, 1) == 0) {
			ualarm(2000, 0);
			SHOW(read(ends[0], &byte, 1));
		}
	}
	printf("jumped out of read\n");
	write_file("file", "the file\n", 0644);
	show_file("file");
	SHOW(system("cat file"));
	return 0;
}
