/* Hazard: opens that wait: of a FIFO without a writer, of a terminal, by more processes and threads than a supervisor of calls
 * has hands.  No other process may wait for them, and they can be interrupted and killed. */
#include "check.h"

#include <pthread.h>

enum { WAITING = 40 };

static void nothing(int signal)
{
	(void)signal;
}

static void *open_fifo(void *unused)
{
	CHECK(open("fifo", O_RDONLY) >= 0);
	return unused;
}

int main(void)
{
	struct sigaction action = { .sa_handler = nothing };
	pid_t children[WAITING];
	pthread_t thread;
	int opened[2];
	char byte;

	write_file("file", "the file\n", 0644);
	CHECK(mkfifo("fifo", 0600) == 0 && mkfifo("other", 0600) == 0 && pipe(opened) == 0);
	for (int i = 0; i < WAITING; i++) {
		children[i] = fork_flushed();
		if (children[i] == 0) {
			int fd = i % 2 ? open("fifo", O_RDONLY)
				       : open("/proc/self/cwd/fifo", O_RDONLY);
			_exit(fd >= 0 && write(opened[1], "o", 1) == 1 && read(fd, &byte, 1) == 0
				      ? 3
				      : 4);
		}
	}
	usleep(50000);
	for (int i = 0; i < 20; i++) {
		int fd = open("file", O_RDONLY);
		CHECK(fd >= 0 && close(fd) == 0);
	}
	show_file("file");
	SHOW(system("cat file > copy && cmp file copy && rm copy"));
	SHOW(open("other", O_WRONLY | O_NONBLOCK));
	/* Two of them are killed while they wait; the others get what they wait for. */
	for (int i = 0; i < 2; i++)
		CHECK(kill(children[i], SIGKILL) == 0);
	CHECK(pthread_create(&thread, NULL, open_fifo, NULL) == 0);
	int writer = open("fifo", O_WRONLY);
	CHECK(writer >= 0 && pthread_join(thread, NULL) == 0);
	/* A slow one would wait for a writer for good. */
	for (int i = 2; i < WAITING; i++)
		CHECK(read(opened[0], &byte, 1) == 1);
	CHECK(close(writer) == 0);
	for (int i = 0; i < WAITING; i++)
		show_exit(i < 2 ? "killed" : "went on", children[i]);

	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	interrupt_every(50000);
	SHOW(open("other", O_RDONLY));
	interrupt_every(0);
	/* An open that is taken up again: by the kernel, after the handler. */
	action.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	pid_t child = fork_flushed();
	if (child == 0) {
		usleep(100000);
		_exit(open("other", O_WRONLY) < 0);
	}
	ualarm(30000, 0);
	SHOW(open("other", O_RDONLY) >= 0);
	show_exit("writer", child);
	return 0;
}
