/* shim/keep/keep_directory.h: a path without symbolic links is found by its name, and is what /proc says. */
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <sys/resource.h>

#include "shim/keep/keep_directory.h"
#include "support.h"

static char top[64];

/* By a space.  What symbolic links lead to has another path than its name says. */
static const char PATHS[] =
	". f f/ f/.. d d/ d/. d/.. ./d//f d/f d/d to_f to_f/ to_d to_d/ to_d/f to_d/.. d/up "
	"d/up/d/f chain d/../d/f to_abs to_abs/f to_abs/.. none d/none none/f none/.. loop / "
	"/.. /proc/self /proc/self/cwd /tmp/../tmp far d/far/f .. ../../.. //tmp // "
	"d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d";
static void link_to(const char *target, const char *name)
{
	must(symlink(target, name) == 0);
}

static void start(void)
{
	must(mkdtemp(strcpy(top, "/tmp/seen-directory.XXXXXX")) && chdir(top) == 0);
	must(mkdir("d", 0700) == 0 && mkdir("d/d", 0700) == 0 && mkdir("far", 0700) == 0);
	must(close(creat("f", 0600)) == 0 && close(creat("d/f", 0600)) == 0);
	link_to("f", "to_f");
	link_to("d", "to_d");
	link_to("..", "d/up");
	link_to("to_d", "chain");
	link_to("loop", "loop");
	link_to(top, "to_abs");
	link_to("../far", "d/far");
}

static void finish(void)
{
	(void)nftw(top, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path that /proc has of what open(2) finds; empty: nothing. */
static void ask(const char *path, int flags, char *ret_path)
{
	int fd = open(path, O_PATH | O_CLOEXEC | flags);
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = fd < 0 ? 0 : readlink(link, ret_path, SEGMENT_PATH_BYTES - 1);
	must(length >= 0);
	ret_path[length] = '\0';
	must(fd < 0 || close(fd) == 0);
}

Test(keep_directory, finds_what_proc_says, .init = start, .fini = finish)
{
	static char found[SEGMENT_PATH_BYTES], said[SEGMENT_PATH_BYTES];
	const int FLAGS[] = { 0, O_DIRECTORY };
	int there = 0;

	for (int i = 0; i < 2; i++) {
		char paths[sizeof(PATHS)], *rest = paths, *path;
		memcpy(paths, PATHS, sizeof(PATHS));
		while ((path = strsep(&rest, " "))) {
			ask(path, FLAGS[i], said);
			bool is_there = keep_link_of_path(AT_FDCWD, path, FLAGS[i], found);
			cr_expect_eq(is_there, said[0] != '\0', "%s, %d", path, i);
			if (is_there)
				cr_expect_str_eq(found, said, "%s, %d", path, i);
			there += is_there;
		}
	}
	cr_expect_gt(there, 40);
}

/* /proc is not asked: without a descriptor it could not be. */
Test(keep_directory, asks_no_proc_where_no_link_is, .init = start, .fini = finish)
{
	static char found[SEGMENT_PATH_BYTES];
	struct rlimit before, none;

	must(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = (struct rlimit){ 0, before.rlim_max };
	must(setrlimit(RLIMIT_NOFILE, &none) == 0);
	bool is_plain = keep_link_of_path(AT_FDCWD, "d/f", 0, found);
	bool is_link = keep_link_of_path(AT_FDCWD, "to_f", 0, found);
	must(setrlimit(RLIMIT_NOFILE, &before) == 0);
	cr_expect(is_plain);
	cr_expect_not(is_link);
}

Test(keep_directory, finds_what_lies_in_a_descriptors_directory, .init = start, .fini = finish)
{
	char found[SEGMENT_PATH_BYTES], expected[128];
	int directory = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(directory >= 0 && chdir("/") == 0);
	(void)snprintf(expected, sizeof(expected), "%s/d/f", top);
	cr_assert(keep_link_of_path(directory, "f", 0, found));
	cr_expect_str_eq(found, expected);
	must(close(directory) == 0);
}
