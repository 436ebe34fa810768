/* Hazard: a setuid program (AT_SECURE): the loader takes no library from its environment, and reports that or not; the program
 * runs as ever.  Needs root to make one. */
#include "check.h"

#include <sys/auxv.h>

static int show_identity(void)
{
	printf("uid %u, euid %u, secure %lu\n", getuid(), geteuid(), getauxval(AT_SECURE));
	SHOW(open("/etc/passwd", O_RDONLY));
	fflush(stdout);
	/* And a child of it, with its identity given back. */
	pid_t child = fork_flushed();
	if (child == 0) {
		CHECK(setresuid(getuid(), getuid(), getuid()) == 0);
		execl("/bin/sh", "sh", "-c", "echo a shell; id -u", NULL);
		_exit(9);
	}
	show_exit("shell", child);
	return 5;
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/seen-setuid-XXXXXX", program[64], command[8192];

	if (argc > 1)
		return show_identity();
	(void)argv;
	if (getuid() != 0)
		skip("not root");
	dup2(1, 2);
	CHECK(mkdtemp(directory));
	CHECK(chmod(directory, 0755) == 0);
	snprintf(program, sizeof(program), "%s/program", directory);
	snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 4755 '%s'", self(), program,
		 program);
	CHECK(quietly(command));
	fflush(stdout);
	for (int way = 0; way < 2; way++) {
		pid_t child = fork_flushed();
		if (child == 0) {
			CHECK(setresuid(65534, 65534, 65534) == 0);
			if (way == 0)
				execl(program, "program", "identity", NULL);
			else
				execlp("su", "su", "--version", NULL);
			_exit(126);
		}
		show_exit(way == 0 ? "setuid program" : "su", child);
	}
	CHECK(unlink(program) == 0 && rmdir(directory) == 0);
	return 0;
}
