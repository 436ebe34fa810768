/* Hazard: copies of the process that libc does not announce (clone(2) by number, _Fork), and exit() between vfork and
 * exec: their handlers run in the memory of the parent, or in a copy that resembles it.  The parent goes on as before. */
#include "check.h"

#include <sched.h>
#include <sys/syscall.h>

static void at_exit(void)
{
	(void)!write(1, "atexit\n", 7);
}

static pid_t clone_by_number(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* What the parent does between its copies. */
static void go_on(const char *name)
{
	int fd = open("file", O_RDONLY);
	char byte;
	CHECK(fd >= 0 && read(fd, &byte, 1) == 1 && close(fd) == 0);
	write_file(name, "written\n", 0644);
	SHOW(rename(name, "renamed"));
}

static void copy(const char *what, pid_t (*make)(void), int way)
{
	printf("-- %s, %d\n", what, way);
	fflush(stdout);
	pid_t child = make();
	if (child == 0) {
		int fd = open("file", O_RDONLY);
		char byte;
		if (fd < 0 || read(fd, &byte, 1) != 1)
			_exit(9);
		if (way == 0)
			exit(7);
		if (way == 1)
			_exit(6);
		if (way == 2)
			quick_exit(5);
		if (way == 3)
			execl("/bin/sh", "sh", "-c", "exit 4", NULL);
		/* A copy of the copy, that libc does know of. */
		pid_t next = fork();
		if (next == 0)
			exit(3);
		int status = 0;
		(void)waitpid(next, &status, 0);
		exit(WEXITSTATUS(status));
	}
	show_exit(what, child);
	go_on("in the parent");
}

int main(void)
{
	write_file("file", "the file\n", 0644);
	atexit(at_exit);
	for (int way = 0; way < 5; way++) {
		copy("clone", clone_by_number, way);
		copy("_Fork", _Fork, way);
		copy("fork", fork, way);
	}
	/* It must not, and does: nothing is registered or buffered here that this does twice. */
	pid_t child = fork_flushed();
	if (child == 0) {
		if (vfork() == 0)
			exit(5);
		int status = 0;
		CHECK(wait(&status) > 0);
		show_status("vfork, exit", status);
		go_on("behind vfork");
		_exit(0);
	}
	show_exit("vfork", child);
	go_on("at the end");
	return 0;
}
