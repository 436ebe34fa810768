/*
 * Forks while another thread holds the loader's lock (in dl_iterate_phdr), and makes a sandbox of the copy.
 *
 * usage: forks_below_loader COMMAND...: the copy gives up privileges and becomes the command; its status.
 */
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t held;

static int hold(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info;
	(void)size;
	(void)unused;
	(void)pthread_barrier_wait(&held);
	while (pause() == -1)
		;
	return 0;
}

static void *walk(void *unused)
{
	(void)unused;
	(void)dl_iterate_phdr(hold, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status;

	if (argc < 2 || pthread_barrier_init(&held, NULL, 2) != 0 ||
	    pthread_create(&thread, NULL, walk, NULL) != 0)
		return 2;
	(void)pthread_barrier_wait(&held);
	pid_t child = fork();
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
			(void)execv(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child)
		return 2;
	/* exit() would wait for the lock. */
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
