/* shim/supervise/open_below.h: name by name it finds what openat2(2) finds, and fails as that does. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#include "failing_calls.h"
#include "shim/supervise/open_below.h"
#include "tracker/sys/numbers.h" /* Debian 11 has none for openat2(2) */

static char top[64];

/* By a space; the first is none. */
static const char PATHS[] =
	" . f d d/ d/. d/.. ./d//f f/ f/f none none/f d/none to_f to_f/ to_d to_d/ to_d/f to_d/.. "
	"to_top/f to_none to_none/f loop loop/f d/up/f d/up/d/f d/up/up ../t/f chain d/../d/f "
	"../../.. to_abs/f to_abs to_abs/.. to_proc/f / /.. /proc/self/cwd/f /d/f /../d/f "
	"/to_abs/f "
	"to_slash to_slash/ far d/far/f";
enum { FORMS = 16, FOUND_MAX = 64 * FORMS };

/* What is found: its inode, or a negative errno. */
static int64_t found(int directory, const char *path, int form)
{
	const struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | (form & 1 ? O_NOFOLLOW : 0) |
				    (form & 2 ? O_DIRECTORY : 0)),
		.resolve = RESOLVE_NO_MAGICLINKS | (form & 4 ? RESOLVE_IN_ROOT : 0) |
			   (form & 8 ? RESOLVE_NO_SYMLINKS : 0),
	};
	struct stat stat;
	int fd = open_below(directory, path, &how);

	if (fd < 0)
		return fd;
	must(fstat(fd, &stat) == 0 && close(fd) == 0);
	return (int64_t)stat.st_ino;
}

/* Of each path in each form.  Returns how many. */
static int find_all(int directory, int64_t *ret_found)
{
	int count = 0;

	for (int form = 0; form < FORMS; form++) {
		char paths[sizeof(PATHS)], *rest = paths, *path;
		memcpy(paths, PATHS, sizeof(PATHS));
		while ((path = strsep(&rest, " "))) {
			must(count < FOUND_MAX);
			ret_found[count++] = found(directory, path, form);
		}
	}
	return count;
}

static int open_top(void)
{
	int fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

	must(fd >= 0);
	return fd;
}

static int write_found(void *data)
{
	static int64_t all[FOUND_MAX];
	int directory = open_top(), next = open(top, O_PATH | O_CLOEXEC);

	must(close(next) == 0);
	refuse_calls(SYS_openat2, ENOSYS);
	ssize_t bytes = (ssize_t)sizeof(all[0]) * find_all(directory, all);
	must(open(top, O_PATH | O_CLOEXEC) == next); /* it leaves none open */
	return write(*(const int *)data, all, (size_t)bytes) == bytes ? 0 : 1;
}

static void make(void)
{
	static const char *const LINKS[][2] = {
		{ "f", "to_f" },       { "d", "to_d" },
		{ "..", "d/up" },      { "../t", "to_top" },
		{ "none", "to_none" }, { "loop", "loop" },
		{ "to_f", "chain" },   { "/proc/self/cwd", "to_proc" },
		{ "d/", "to_slash" },  { "../../../../..", "far" },
		{ "../up", "d/far" },
	};

	(void)snprintf(top, sizeof(top), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(top) && chdir(top) == 0 && mkdir("t", 0755) == 0 && chdir("t") == 0);
	must(mkdir("d", 0755) == 0);
	write_path("f", "f", 1);
	write_path("d/f", "d", 1);
	for (size_t i = 0; i < sizeof(LINKS) / sizeof(LINKS[0]); i++)
		must(symlink(LINKS[i][0], LINKS[i][1]) == 0);
	must(strlen(top) + 3 < sizeof(top));
	strcat(top, "/t");
	must(symlink(top, "to_abs") == 0);
}

static void clear(void)
{
	*strrchr(top, '/') = '\0';
	(void)nftw(top, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

Test(open_below, finds_what_openat2_finds, .init = make, .fini = clear)
{
	static int64_t wanted[FOUND_MAX], got[FOUND_MAX];
	int ends[2], directory = open_top();

	int count = find_all(directory, wanted);
	must(pipe2(ends, O_CLOEXEC) == 0);
	cr_assert_eq(in_child(write_found, &ends[1]), 0);
	must(read(ends[0], got, sizeof(got)) == (ssize_t)sizeof(got[0]) * count);
	for (int at = 0; at < count; at++)
		cr_expect_eq(got[at], wanted[at], "path %d in form %d: %ld, not %ld",
			     at % (count / FORMS), at / (count / FORMS), (long)got[at],
			     (long)wanted[at]);
}

static atomic_bool is_done;

static void *rename_on_and_on(void *unused)
{
	while (!atomic_load(&is_done))
		must(rename("d/f", "d/g") == 0 && rename("d/g", "d/f") == 0);
	return unused;
}

/* Any rename on the machine makes openat2(2) give up at a `..` below a root. */
Test(open_below, finds_while_others_rename, .init = make, .fini = clear, .timeout = 60)
{
	enum { TIMES = 100000 };
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT };
	int directory = open_top(), lost = 0, error = 0;
	pthread_t renaming;

	must(pthread_create(&renaming, NULL, rename_on_and_on, NULL) == 0);
	for (int i = 0; i < TIMES; i++) {
		int fd = open_below(directory, "/d/../d/../d/../f", &how);
		lost += fd < 0;
		error = fd < 0 ? fd : error;
		must(fd < 0 || close(fd) == 0);
	}
	atomic_store(&is_done, true);
	must(pthread_join(renaming, NULL) == 0);
	cr_assert_eq(lost, 0, "%d of %d were not found, error %d", lost, TIMES, error);
}
