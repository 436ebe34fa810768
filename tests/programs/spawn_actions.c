/* Hazard: posix_spawn, whose child libc runs by calls of its own: file actions, directories, closed descriptors,
 * attributes; where the search of PATH ends; scripts without a first line. */
#include "check.h"

#include <spawn.h>

#if !__GLIBC_PREREQ(2, 34)
static int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first)
{
	int error = 0;

	for (int fd = first; fd < first + 32 && !error; fd++)
		error = posix_spawn_file_actions_addclose(actions, fd);
	return error;
}
#endif

static void spawn(const char *what, bool search, const char *program,
		  const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		  char *const argv[])
{
	pid_t child = -1;
	fflush(stdout);
	int error = (search ? posix_spawnp : posix_spawn)(&child, program, actions, attributes,
							  argv, environ);
	if (error)
		printf("%s: %s\n", what, strerrorname_np(error));
	else
		show_exit(what, child);
	/* The caller may not care for the number. */
	error = (search ? posix_spawnp : posix_spawn)(NULL, program, actions, attributes, argv,
						      environ);
	if (!error)
		CHECK(wait(NULL) > 0);
}

int main(void)
{
	char *const cat[] = { (char *)"cat", NULL };
	char *const list[] = { (char *)"sh", (char *)"-c",
			       (char *)"for fd in 0 1 2 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$fd "
				       "&& echo $fd; done",
			       NULL };
	char *const inner[] = { (char *)"cat", (char *)"inner", NULL };
	char *const script[] = { (char *)"script", (char *)"word", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t signals;

	CHECK(mkdir("folder", 0755) == 0);
	CHECK(mkdir("bin", 0755) == 0);
	write_file("folder/inner", "inner\n", 0644);
	write_file("file", "the file\n", 0644);
	write_file("bin/script", "echo a script without a first line: $1\n", 0755);
	write_file("bin/named", "#!/bin/sh\necho a script: $1\n", 0755);
	write_file("bin/plain", "not executable\n", 0644);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "file", O_RDONLY, 0);
	spawn("open as input", false, "/bin/cat", &actions, NULL, cat);
	posix_spawn_file_actions_addchdir_np(&actions, "folder");
	spawn("folder", true, "cat", &actions, NULL, inner);
	posix_spawn_file_actions_destroy(&actions);

	int directory = open("folder", O_RDONLY | O_DIRECTORY);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addfchdir_np(&actions, directory);
	posix_spawn_file_actions_addclose(&actions, directory);
	spawn("directory by descriptor", true, "cat", &actions, NULL, inner);
	posix_spawn_file_actions_destroy(&actions);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, 1, 7);
	posix_spawn_file_actions_addclosefrom_np(&actions, 8);
	posix_spawn_file_actions_addclose(&actions, 0);
	spawn("descriptors", false, "/bin/sh", &actions, NULL, list);
	posix_spawn_file_actions_addopen(&actions, 9, "missing", O_RDONLY, 0);
	spawn("open fails", false, "/bin/sh", &actions, NULL, list);
	posix_spawn_file_actions_destroy(&actions);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclose(&actions, 0);
	posix_spawn_file_actions_addclose(&actions, 1);
	posix_spawn_file_actions_addclose(&actions, 2);
	spawn("all closed", false, "/bin/sh", &actions, NULL, list);
	posix_spawn_file_actions_destroy(&actions);

	CHECK(posix_spawnattr_init(&attributes) == 0);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	posix_spawnattr_setsigmask(&attributes, &signals);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP |
						      POSIX_SPAWN_USEVFORK);
	char *const mask[] = { (char *)"grep", (char *)"SigBlk", (char *)"/proc/self/status",
			       NULL };
	spawn("attributes", true, "grep", NULL, &attributes, mask);
	posix_spawnattr_destroy(&attributes);

	/* The child of one that runs as another user for now is the user's that started it. */
	CHECK(posix_spawnattr_init(&attributes) == 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_RESETIDS);
	CHECK(getuid() != 0 || (setegid(65534) == 0 && seteuid(65534) == 0));
	char *const ids[] = { (char *)"id", (char *)"-u", NULL };
	spawn("identity", true, "id", NULL, &attributes, ids);
	CHECK(getuid() != 0 || (seteuid(0) == 0 && setegid(0) == 0));
	posix_spawnattr_destroy(&attributes);

	CHECK(setenv("PATH", "missing:bin:/bin:/usr/bin", 1) == 0);
	spawn("found in PATH", true, "named", NULL, NULL, script);
	spawn("no first line, PATH", true, "script", NULL, NULL, script);
	spawn("no first line", false, "bin/script", NULL, NULL, script);
	spawn("not executable, PATH", true, "plain", NULL, NULL, script);
	spawn("not executable", false, "bin/plain", NULL, NULL, script);
	spawn("nowhere", true, "no-such-program", NULL, NULL, script);
	spawn("empty", true, "", NULL, NULL, script);
	spawn("a directory", false, "folder", NULL, NULL, script);
	CHECK(unsetenv("PATH") == 0);
	spawn("no PATH", true, "cat", NULL, NULL, inner);
	SHOW(close(directory));
	return 0;
}
