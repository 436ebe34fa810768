/* Hazard: a thread with the smallest stack there is, or a handler on an alternate one: a shim that keeps paths on the
 * stack (PATH_MAX is 4096 bytes) runs over its end.  Each thread tells how deep the calls reached into its stack only
 * if that was too deep. */
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>

/* A stack with a page behind it that must not be touched. */
static char *new_stack(size_t size_bytes)
{
	char *pages = mmap(NULL, size_bytes + 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED && mprotect(pages, 4096, PROT_NONE) == 0);
	return pages + 4096;
}

static void *call_each(void *unused)
{
	static char bytes[64];
	int fd = open("file", O_RDONLY);
	CHECK(fd >= 0 && read(fd, bytes, sizeof(bytes)) == 9 && close(fd) == 0);
	fd = open("written", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
	CHECK(rename("written", "renamed") == 0);
	CHECK(renameat(AT_FDCWD, "renamed", AT_FDCWD, "written") == 0);
	CHECK(truncate("written", 0) == 0);
	CHECK(unlink("written") == 0);
	CHECK(chdir(".") == 0);
	CHECK(open("missing", O_RDONLY) == -1 && errno == ENOENT);
	FILE *stream = fopen("file", "r+");
	CHECK(stream && fclose(stream) == 0);
	return unused;
}

static void *programs(void *unused)
{
	static char *const words[] = { (char *)"true", NULL };
	pid_t child = fork();
	if (child == 0) {
		execv("/bin/true", words);
		_exit(126);
	}
	int status = -1;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	child = vfork();
	if (child == 0) {
		execve("/bin/true", words, environ);
		_exit(126);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) == 0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	return unused;
}

static void *paths_searched(void *unused)
{
	static char *const words[] = { (char *)"true", NULL };
	pid_t child = vfork();
	if (child == 0) {
		execvp("true", words);
		_exit(126);
	}
	int status = -1;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	return unused;
}

/* In a program of its own: it may crash. */
static void on_stack(void *(*work)(void *), size_t size_bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;
	CHECK(pthread_attr_init(&attributes) == 0);
	CHECK(pthread_attr_setstack(&attributes, new_stack(size_bytes), size_bytes) == 0);
	CHECK(pthread_create(&thread, &attributes, work, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void handler(int signal)
{
	(void)signal;
	static char bytes[64];
	int fd = open("file", O_RDONLY);
	CHECK(fd >= 0 && read(fd, bytes, sizeof(bytes)) == 9 && close(fd) == 0);
	fd = open("written", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
	CHECK(rename("written", "renamed") == 0 && unlink("renamed") == 0);
}

static void on_alternate_stack(size_t size_bytes)
{
	stack_t stack = { .ss_sp = new_stack(size_bytes), .ss_size = size_bytes };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	CHECK(sigaltstack(&stack, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0);
}

int main(int argc, char **argv)
{
	/* Every variable of a large environment costs an exec that copies the list. */
	static char variables[2000][16];
	const char *mode = argc > 1 ? argv[1] : "";

	if (!*mode) {
		write_file("file", "the file\n", 0644);
		show_self("calls, 16 KiB");
		show_self("programs, 16 KiB");
		show_self("programs, 16 KiB, 2000 variables");
		show_self("programs, 64 KiB, 2000 variables");
		show_self("search, 64 KiB");
		show_self("handler, 8 KiB");
		show_self("handler, 12 KiB");
		return 0;
	}
	if (strstr(mode, "2000"))
		for (int i = 0; i < 2000; i++) {
			snprintf(variables[i], sizeof(variables[i]), "V%d=x", i);
			CHECK(putenv(variables[i]) == 0);
		}
	size_t size_bytes = (size_t)atoi(strchr(mode, ' ')) * 1024;
	if (strncmp(mode, "doors", 5) == 0)
		on_stack(call_each, size_bytes);
	else if (strncmp(mode, "programs", 8) == 0)
		on_stack(programs, size_bytes);
	else if (strncmp(mode, "search", 6) == 0)
		on_stack(paths_searched, size_bytes);
	else
		on_alternate_stack(size_bytes);
	return 3;
}
