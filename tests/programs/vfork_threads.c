/* Hazard: several threads that vfork and exec at once, and a thread other than the first that calls exec while others
 * open files: the process's number stays, its thread's changes. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { THREADS = 4, ROUNDS = 25, EXECS = 10 };

static atomic_int failures;

static void *spawn(void *unused)
{
	for (volatile int i = 0; i < ROUNDS; i++) {
		int status;
		pid_t child = vfork();
		if (child == 0) {
			execl(self(), "self", i % 5 ? "3" : "4", NULL);
			_exit(126);
		}
		failures += child < 0 || waitpid(child, &status, 0) != child ||
			    !WIFEXITED(status) || WEXITSTATUS(status) != (i % 5 ? 3 : 4);
	}
	return unused;
}

static void *open_files(void *unused)
{
	for (;;) {
		int fd = open("file", O_RDONLY);
		failures += fd < 0;
		close(fd);
	}
	return unused;
}

static void *become_another(void *unused)
{
	usleep(2000);
	execl(self(), "self", "5", NULL);
	_exit(126);
	return unused;
}

static void exec_from_thread(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&thread, NULL, open_files, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, become_another, NULL) == 0);
	open_files(NULL);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 1) {
		/* A program that is whole: it opens, starts another, and is its own first thread. */
		int fd = open("file", O_RDONLY);
		if (fd < 0 || getpid() != (int)syscall(SYS_gettid))
			return 99;
		return atoi(argv[1]);
	}
	(void)self();
	write_file("file", "the file\n", 0644);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, spawn, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	printf("failures %d\n", failures);
	for (int i = 0; i < EXECS; i++) {
		pid_t child = fork_flushed();
		if (child == 0)
			exec_from_thread();
		show_exit("exec from a thread", child);
	}
	return 0;
}
