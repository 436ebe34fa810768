/* Hazard: a child in a PID namespace of its own, where process numbers mean others; in a user namespace, where its user
 * has no name; in a network or IPC namespace. */
#include "check.h"

#include <sched.h>
#include <sys/syscall.h>

static void in_namespace(const char *what, unsigned long flags)
{
	fflush(stdout);
	pid_t child = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (child < 0) {
		printf("%s: %s\n", what, strerrorname_np(errno));
		return;
	}
	if (child == 0) {
		execl("/bin/sh", "sh", "-c",
		      "read line <file; echo $line; cat file; cat file >copy; exit 3", NULL);
		_exit(126);
	}
	show_exit(what, child);
}

int main(void)
{
	dup2(1, 2);
	write_file("file", "the file\n", 0644);
	in_namespace("PID", CLONE_NEWPID);
	in_namespace("user", CLONE_NEWUSER);
	in_namespace("user, PID and mounts", CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
	in_namespace("IPC and network", CLONE_NEWIPC | CLONE_NEWNET);
	in_namespace("none", 0);
	return 0;
}
