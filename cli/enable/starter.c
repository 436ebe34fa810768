/* Launchers that start themselves: see starter.h. */
#include "cli/enable/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/executable.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum {
	ROUNDS_MAX = 8, /* that a program may come to itself again */
	ROUNDS_OF_OTHERS =
		2, /* the same where it may mean itself: a shell in a shell, an agent in an agent */
	WORDS_SEARCHED = 4, /* of an interpreter's command line: itself, options, its script */
};

struct started {
	long pid;
	unsigned long long dev, ino;
	unsigned rounds;
};

/* The program that this one was started below, by the environment; false: not known. */
static bool read_started(struct started *ret_started)
{
	const char *text = getenv(STARTED_VARIABLE);

	return text && sscanf(text, "%ld.%llu.%llu.%u", &ret_started->pid, &ret_started->dev,
			      &ret_started->ino, &ret_started->rounds) == 4;
}

/* How often the program of a file was started again below itself so far, by whatever lies between.
 * ret_by_itself: the process that it became started this one, or became it. */
static unsigned rounds_of(const struct stat *stat, bool *ret_by_itself)
{
	struct started started;

	*ret_by_itself = false;
	if (!read_started(&started) || started.dev != stat->st_dev || started.ino != stat->st_ino)
		return 0;
	*ret_by_itself = started.pid == getpid() || started.pid == getppid();
	return started.rounds + 1;
}

static bool is_script(const char *path)
{
	char head[2];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool found = fd >= 0 && pread(fd, head, sizeof(head), 0) == sizeof(head) &&
		     memcmp(head, "#!", sizeof(head)) == 0;

	if (fd >= 0)
		(void)close(fd);
	return found;
}

/* Does this program's parent run a script: is one of the first words of its command line that
 * file? */
static bool parent_runs(const struct stat *script)
{
	char path[PROC_PATH_BYTES], words[8192];
	struct stat stat;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)getppid());
	ssize_t length = sys_read_file(path, words, sizeof(words));
	(void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)getppid());
	int directory = length > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	bool found = false;

	const char *at = words;
	for (int i = 0; i < WORDS_SEARCHED && at < words + length && !found; i++) {
		found = i > 0 && at[0] != '-' &&
			fstatat(directory < 0 ? AT_FDCWD : directory, at, &stat, 0) == 0 &&
			stat.st_dev == script->st_dev && stat.st_ino == script->st_ino;
		at += strlen(at) + 1;
	}
	if (directory >= 0)
		(void)close(directory);
	return found;
}

/* Did the program of a file start this one, to have itself started? */
static bool is_starter(const char *path, const struct stat *stat)
{
	bool by_itself;
	unsigned rounds = rounds_of(stat, &by_itself);

	return rounds > ROUNDS_OF_OTHERS || (is_script(path) && (by_itself || parent_runs(stat)));
}

/* Can this file be executed, as execvp(3) sees it? */
static bool is_program(const char *path, struct stat *ret_stat)
{
	return stat(path, ret_stat) == 0 && S_ISREG(ret_stat->st_mode) && access(path, X_OK) == 0;
}

/* The next program of a name on PATH that is no starter.  first: found before it. */
static bool find_other(const char *name, const struct stat *first, char *ret_path)
{
	const char *list = getenv("PATH");
	char path[PATH_MAX];
	struct stat stat;

	for (const char *at = list; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t length = strcspn(at, ":");
		int bytes = snprintf(path, sizeof(path), "%.*s%s%s", (int)length, at,
				     length ? "/" : "./", name);
		if (bytes < 0 || bytes >= (int)sizeof(path) || !is_program(path, &stat) ||
		    (stat.st_dev == first->st_dev && stat.st_ino == first->st_ino) ||
		    executable_is_own(path) || is_starter(path, &stat))
			continue;
		memcpy(ret_path, path, (size_t)bytes + 1);
		return true;
	}
	return false;
}

int starter_pass(const char *name, char *ret_path)
{
	char path[PATH_MAX];
	struct stat stat;
	bool by_itself, passed;

	if (executable_find_past(name, path, sizeof(path), &passed) < 0 || !is_program(path, &stat))
		return 0;
	if (!strchr(name, '/') && is_starter(path, &stat) && find_other(name, &stat, ret_path))
		return 1;
	if (rounds_of(&stat, &by_itself) > ROUNDS_MAX)
		return -ELOOP;
	if (passed)
		memcpy(ret_path, path, strlen(path) + 1);
	return passed;
}

void starter_mark(const char *path)
{
	char file[PATH_MAX], text[128];
	struct stat stat;
	bool by_itself;

	if (executable_find(path, file, sizeof(file)) < 0 || !is_program(file, &stat)) {
		(void)unsetenv(STARTED_VARIABLE);
		return;
	}
	(void)snprintf(text, sizeof(text), "%ld.%llu.%llu.%u", (long)getpid(),
		       (unsigned long long)stat.st_dev, (unsigned long long)stat.st_ino,
		       rounds_of(&stat, &by_itself));
	(void)setenv(STARTED_VARIABLE, text, 1);
}
