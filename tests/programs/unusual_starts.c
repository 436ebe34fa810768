/* Hazard: programs started by descriptor, in another directory than the caller's, with more variables than go on a stack by several
 * threads; and processes that leave by quick_exit.  Each name is a part of its own: test_journal.py runs them one by one. */
#include "check.h"

#include <pthread.h>
#include <spawn.h>

enum { VARIABLES_MAX = 1000, THREADS = 12 };

static char *const WORDS[] = { (char *)"true", (char *)"word", NULL };

static void by_descriptor(void)
{
	pid_t child = fork_flushed();
	if (child == 0) {
		int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
		fexecve(fd, WORDS, environ);
		_exit(1);
	}
	show_exit("fexecve", child);
	child = fork_flushed();
	if (child == 0) {
		int fd = open("/usr/bin", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
		execveat(fd, "true", WORDS, environ, 0);
		_exit(1);
	}
	show_exit("execveat", child);
	child = fork_flushed();
	if (child == 0) {
		int fd = open("/usr/bin/env", O_RDONLY | O_CLOEXEC);
		execveat(fd, "", (char *[]){ (char *)"env", (char *)"true", NULL }, environ,
			 AT_EMPTY_PATH);
		_exit(1);
	}
	show_exit("execveat, no path", child);
	SHOW(fexecve(-1, WORDS, environ));
}

static void elsewhere(void)
{
	pid_t child = vfork();
	if (child == 0) {
		if (chdir("/usr/bin") == 0)
			execve("./true", WORDS, environ);
		_exit(9);
	}
	show_exit("vfork, chdir", child);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, "/usr/bin");
	CHECK(posix_spawn(&child, "./true", &actions, NULL, WORDS, environ) == 0);
	show_exit("posix_spawn", child);
	posix_spawn_file_actions_destroy(&actions);
	SHOW(open("missing", O_RDONLY));
}

static void leave(void)
{
	CHECK(open("file", O_RDONLY) >= 0);
	quick_exit(4);
}

static void *start_true(void *name)
{
	char *words[] = { (char *)"true", name, NULL };
	pid_t child = vfork();
	if (child == 0) {
		execve("/bin/true", words, environ);
		_exit(1);
	}
	int status = -1;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	return name;
}

/* One after the other, so that each thread has its turn; then all at once; then the one that waited. */
static void with_variables(int count)
{
	static char variables[VARIABLES_MAX][16];
	static char names[2][THREADS][16];
	pthread_t threads[THREADS];

	for (int i = 0; i < count; i++) {
		snprintf(variables[i], sizeof(variables[i]), "V%d=x", i);
		CHECK(putenv(variables[i]) == 0);
	}
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < THREADS; i++) {
			snprintf(names[turn][i], sizeof(names[turn][i]), "%d-%d", turn, i);
			CHECK(pthread_create(&threads[i], NULL, start_true, names[turn][i]) == 0);
			if (turn == 0)
				CHECK(pthread_join(threads[i], NULL) == 0);
		}
		for (int i = 0; i < THREADS && turn == 1; i++)
			CHECK(pthread_join(threads[i], NULL) == 0);
	}
	(void)start_true((char *)"main");
	pid_t child = fork_flushed();
	if (child == 0) {
		execl("/bin/true", "true", "copy", NULL);
		_exit(1);
	}
	show_exit("copy", child);
}

int main(int argc, char **argv)
{
	static const char *const PARTS[] = { "by_descriptor", "elsewhere", "leave", "140", "600" };

	write_file("file", "the file\n", 0644);
	if (argc == 1)
		for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++)
			show_self(PARTS[i]);
	else if (strcmp(argv[1], "by_descriptor") == 0)
		by_descriptor();
	else if (strcmp(argv[1], "elsewhere") == 0)
		elsewhere();
	else if (strcmp(argv[1], "leave") == 0)
		leave();
	else
		with_variables(atoi(argv[1]));
	return 0;
}
