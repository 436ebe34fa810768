/* Hazard: open() and read() in a signal handler, which may interrupt the same calls, malloc, stdio or a lock of the
 * shim: deadlock, torn state, errno of the interrupted code changed. */
#include "check.h"

#include <pthread.h>
#include <sys/time.h>

static volatile sig_atomic_t handled, wrong;

static void handler(int signal)
{
	int saved_errno = errno;
	char bytes[16];
	(void)signal;
	int fd = open("file", O_RDONLY);
	if (fd < 0 || read(fd, bytes, sizeof(bytes)) != 10 || close(fd) != 0)
		wrong++;
	fd = open("written", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, "0123456789", 10) != 10 || close(fd) != 0)
		wrong++;
	if (rename("written", "renamed") != 0 && errno != ENOENT)
		wrong++;
	if (open("missing", O_RDONLY) != -1 || errno != ENOENT)
		wrong++;
	handled++;
	errno = saved_errno;
}

static void *load(void *unused)
{
	char bytes[16];
	(void)unused;
	while (handled < 400) {
		int fd = open("file", O_RDONLY);
		if (fd < 0 || read(fd, bytes, sizeof(bytes)) != 10 || close(fd) != 0)
			wrong++;
		errno = ERRNO_BEFORE;
		if (open("missing", O_RDONLY) != -1 || errno != ENOENT)
			wrong++;
		free(malloc(100000));
		FILE *stream = fopen("file", "r");
		if (!stream || fgetc(stream) != '0' || fclose(stream) != 0)
			wrong++;
		pid_t child = fork();
		if (child == 0) {
			signal(SIGALRM, SIG_IGN);
			_exit(open("file", O_RDONLY) < 0);
		}
		int status = -1;
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (status != 0)
			wrong++;
	}
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t thread;

	write_file("file", "0123456789", 0644);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	interrupt_every(500);
	CHECK(pthread_create(&thread, NULL, load, NULL) == 0);
	load(NULL);
	CHECK(pthread_join(thread, NULL) == 0);
	interrupt_every(0);
	printf("wrong: %d\n", (int)wrong);
	return wrong != 0;
}
