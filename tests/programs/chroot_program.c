/* Hazard: in a chroot the library's path leads nowhere ("cannot be preloaded: ignored" on the program's standard error),
 * and /proc is not there.  Needs root. */
#include "check.h"

static int inside(void)
{
	SHOW(open("/file", O_RDONLY));
	SHOW(access("/proc/self/exe", F_OK));
	SHOW(open("/etc/passwd", O_RDONLY));
	char *const argv[] = { (char *)"/program", (char *)"again", NULL };
	pid_t child = fork_flushed();
	if (child == 0) {
		execv(argv[0], argv);
		_exit(126);
	}
	show_exit("program inside", child);
	return 0;
}

int main(int argc, char **argv)
{
	char command[16384];

	dup2(1, 2);
	if (argc > 1 && strcmp(argv[1], "again") == 0) {
		SHOW(open("/file", O_RDONLY));
		return 4;
	}
	if (argc > 1)
		return inside();
	if (getuid() != 0)
		skip("not root");
	/* This program, its libraries and its loader: the system's. */
	snprintf(command, sizeof(command),
		 "mkdir root && cp '%s' root/program && echo text >root/file && "
		 "for library in $(ldd '%s' | grep -oE '/(usr/)?lib(32|64)?/[^ ]+'); do "
		 "mkdir -p root/$(dirname $library) && cp -L $library root/$library; done",
		 self(), self());
	if (!quietly(command))
		skip("the program's libraries cannot be copied");

	/* Into it, then a program; and a chroot(8) that does both. */
	pid_t child = fork_flushed();
	if (child == 0) {
		if (chroot("root") != 0)
			_exit(errno == EPERM ? SKIPPED : 9);
		CHECK(chdir("/") == 0);
		execl("/program", "program", "inside", NULL);
		_exit(126);
	}
	show_exit("chroot, exec", child);
	SHOW(system("PATH=$PATH:/usr/sbin:/sbin chroot root /program inside"));

	/* The process itself goes on in it, without an exec. */
	CHECK(chroot("root") == 0);
	CHECK(chdir("/") == 0);
	inside();
	SHOW(rename("/file", "/renamed"));
	return 0;
}
