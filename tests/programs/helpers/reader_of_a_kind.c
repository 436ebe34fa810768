/* Prints a file, as a reader does, after something that a reader may do, as told: to be called by a reader's name.
 *
 *	NAME HOW FILE */
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *data)
{
	int fd = open(data, O_RDONLY);
	(void)close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	char line[4096];
	const char *how = argc == 3 ? argv[1] : "";
	int status = 0;
	pthread_t thread;

	if (strcmp(how, "error") == 0)
		error(0, ENOENT, "something");
	else if (strcmp(how, "perror") == 0)
		perror("something");
	else if (strcmp(how, "fprintf") == 0)
		(void)fprintf(stderr, "something %d\n", argc);
	else if (strcmp(how, "fputs") == 0)
		(void)fputs("something\n", stderr);
	else if (strcmp(how, "putc") == 0)
		(void)putc('\n', stderr);
	else if (strcmp(how, "warn") == 0)
		warnx("something");
	else if (strcmp(how, "psignal") == 0)
		psignal(SIGHUP, "something");
	else if (strcmp(how, "buffered") == 0)
		(void)(setvbuf(stderr, NULL, _IOFBF, 4096) || fputs("something\n", stderr));
	else if (strcmp(how, "closed") == 0)
		(void)(fputs("something\n", stderr) < 0 || fclose(stderr));
	else if (strcmp(how, "write") == 0)
		status = write(2, "something\n", 10) < 0;
	else if (strcmp(how, "writev") == 0)
		status = writev(2, &(struct iovec){ (void *)"something\n", 10 }, 1) < 0;
	else if (strcmp(how, "syscall") == 0)
		status = syscall(SYS_write, 2, "something\n", 10) < 0;
	else if (strcmp(how, "copy") == 0)
		status = write(dup(2), "something\n", 10) < 0;
	else if (strcmp(how, "stream") == 0)
		(void)fclose(fdopen(dup(2), "w"));
	else if (strcmp(how, "getc") == 0)
		(void)getc(stdin);
	else if (strcmp(how, "read") == 0)
		status = read(0, line, 1) < 0;
	else if (strcmp(how, "read_copy") == 0)
		status = read(dup(0), line, 1) < 0;
	else if (strcmp(how, "fork") == 0)
		fork() ? (void)wait(NULL) : _exit(0);
	else if (strcmp(how, "system") == 0)
		status = system("true");
	else if (strcmp(how, "thread") == 0)
		status = pthread_create(&thread, NULL, nothing, argv[2]) ||
			 pthread_join(thread, NULL);
	else if (strcmp(how, "makes") == 0)
		status = close(open("made", O_WRONLY | O_CREAT, 0600));
	else if (strcmp(how, "chdir") == 0)
		status = chdir("/") || chdir(getenv("PWD"));
	else if (strcmp(how, "renames") == 0)
		status = rename("no such file", "at all") == 0;
	else if (strcmp(how, "fails") == 0)
		status = 1;

	FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;
	while (file && fgets(line, sizeof(line), file))
		(void)fputs(line, stdout);
	if (file)
		(void)fclose(file);
	(void)fflush(stdout);
	if (strcmp(how, "unflushed") == 0)
		(void)fputs("the end\n", stdout);
	if (strcmp(how, "late") == 0)
		(void)usleep(600000);
	if (strcmp(how, "_exit") == 0)
		_exit(0);
	return status;
}
