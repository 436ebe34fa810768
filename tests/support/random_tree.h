/*
 * A random tree in the current directory, for programs of tests/stress: files whose names and contents are
 * worth trouble, directories, links, and a repository of git.
 */
#ifndef SEEN_TESTS_RANDOM_TREE_H
#define SEEN_TESTS_RANDOM_TREE_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/support.h"

enum { WORD_BYTES = 64, PATHS_MAX = 64 };

static uint64_t tree_random; /* the state of all chance here */

static unsigned below(unsigned limit)
{
	return (unsigned)(next_random(&tree_random) >> 33) % limit;
}

static bool chance(unsigned percent)
{
	return below(100) < percent;
}

/* ---- a tree ---- */

static char paths[PATHS_MAX][WORD_BYTES];
static unsigned path_count;

static const char *const NAMES[] = { "a.c", "b.h", "pat",      "two words", "-n",   ".hidden",
				     "sub", "x",   "\xc3\xa9", "list",      "a.py", "zz" };

static const char *any_name(void)
{
	return NAMES[below(sizeof(NAMES) / sizeof(NAMES[0]))];
}

static void write_content(int fd)
{
	static const char *const PIECES[] = { "pat", "line", " ",   "PAT pat", "foo",
					      "a.c", "\t",   "x y", "",        "\n\n",
					      "-n",  "1",    "zz",  "pattern" };
	unsigned lines = below(40);
	unsigned strange = below(10);

	for (unsigned i = 0; i < lines; i++) {
		for (unsigned k = 0; k < 3; k++)
			(void)dprintf(fd, "%s", PIECES[below(sizeof(PIECES) / sizeof(PIECES[0]))]);
		if (strange == 0 && chance(10))
			must(write(fd, "\0pat", 4) == 4);
		if (strange == 1 && chance(20))
			(void)dprintf(fd, "\xe9\xff");
		if (strange == 2 && chance(50))
			(void)dprintf(fd, "\xc3\xa9pat\r");
		if (i + 1 < lines || chance(80))
			(void)dprintf(fd, "\n");
	}
}

static void make_directory(const char *at, unsigned depth)
{
	unsigned count = 2 + below(5);

	for (unsigned i = 0; i < count && path_count < PATHS_MAX; i++) {
		char *path = paths[path_count], text[2 * WORD_BYTES];
		(void)snprintf(text, sizeof(text), "%s%s%s", at, *at ? "/" : "", any_name());
		text[WORD_BYTES - 1] = '\0';
		memcpy(path, text, WORD_BYTES);
		unsigned what = below(10);
		if (access(path, F_OK) == 0)
			continue;
		if (what < 5) {
			int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
			if (fd < 0)
				continue;
			write_content(fd);
			must(close(fd) == 0);
		} else if (what < 8 && depth < 2) {
			if (mkdir(path, 0755) < 0)
				continue;
			path_count++;
			make_directory(path, depth + 1);
			continue;
		} else if (symlink(any_name(), path) < 0) {
			continue;
		}
		path_count++;
	}
}

/* Two commits, and changes since. */
static void make_repository(void)
{
	/* One of its own has no configuration but the repository's. */
	must(setenv("HOME", "/nonexistent", 1) == 0 && setenv("GIT_CONFIG_NOSYSTEM", "1", 1) == 0);
	must(system("git init -q -b main . && git add -A && "
		    "git -c user.name=a -c user.email=a@b commit -qm one --allow-empty && git tag "
		    "one && "
		    "for f in *; do [ -f \"./$f\" ] && [ ! -h \"./$f\" ] && echo more >> \"./$f\"; "
		    "done; "
		    "git -c user.name=a -c user.email=a@b commit -qam two --allow-empty && "
		    "for f in * */*; do [ -f \"./$f\" ] && [ ! -h \"./$f\" ] && echo pat >> "
		    "\"./$f\"; done; "
		    "true") == 0);
}

/* A program that lists a directory, or asks where a link leads, sets its access time (mount(8), relatime), which
 * others print: but for times ahead.  Files that git knows stay as they are. */
static void fix_access_times(void)
{
	must(system("find . '(' -type d -o -type l ')' -exec touch -a -h -d '+1 hour' {} +") == 0);
}

#endif
