/* cli/confine/grants.h: what is granted, of a small tree of files. */
#include <criterion/criterion.h>
#include <limits.h>

#include "cli/confine/grants.h"
#include "support.h"

enum { LINES_BYTES = 4096 };

static char root[PATH_MAX];
static char lines[LINES_BYTES];
static struct confinement confinement;

static const char *at(const char *name)
{
	static char paths[8][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, PATH_MAX, "%s%s%s", root, name[0] ? "/" : "", name);
	return path;
}

static void make(const char *name)
{
	int fd = open(at(name), O_CREAT | O_WRONLY, 0600);

	must(fd >= 0 && close(fd) == 0);
}

static void start(void)
{
	char made[] = "/tmp/seen-test.grants.XXXXXX";

	must(mkdtemp(made) && realpath(made, root));
	must(mkdir(at("a"), 0700) == 0 && mkdir(at("a/b"), 0700) == 0 && mkdir(at("w"), 0700) == 0);
	make("a/file");
	make("a/b/secret");
	make("a/b/beside");
	must(symlink("secret", at("a/b/link")) == 0);
	make("w/new");
	confinement = (struct confinement){ .places = NULL };
	lines[0] = '\0';
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *position)
{
	(void)stat;
	(void)type;
	(void)position;
	return remove(path);
}

static void finish(void)
{
	confinement_destroy(&confinement);
	(void)nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(grants, .init = start, .fini = finish);

static void place(const char *name, enum confine_access access)
{
	must(confinement_add(&confinement, at(name), access) == 0);
}

/* Notes what is in the tree, as "LEVEL NAME;". */
static int note(void *data, const char *path, enum grant_level level)
{
	size_t length = strlen(root), used = strlen(lines);

	(void)data;
	if (strncmp(path, root, length) == 0 && (path[length] == '/' || !path[length]))
		(void)snprintf(lines + used, sizeof(lines) - used, "%d %s;", (int)level,
			       path[length] ? path + length + 1 : ".");
	return 0;
}

/* Is a path granted on a level, by itself and not by a directory above? */
static bool has(enum grant_level level, const char *name)
{
	char line[PATH_MAX];

	(void)snprintf(line, sizeof(line), "%d %s;", (int)level, name);
	const char *found = strstr(lines, line);
	return found && (found == lines || found[-1] == ';');
}

static bool names(const char *name)
{
	return has(GRANT_LIST, name) || has(GRANT_READ, name) || has(GRANT_WRITE, name);
}

Test(grants, whole)
{
	place("w", CONFINE_WRITABLE);
	cr_assert_eq(grants_each(&confinement, note, NULL), 0);
	cr_assert_str_eq(lines, "3 w;"); /* to read: by the root */
}

Test(grants, around_a_file)
{
	place("w", CONFINE_WRITABLE);
	place("a/b/secret", CONFINE_UNREADABLE);
	cr_assert_eq(grants_each(&confinement, note, NULL), 0);
	cr_expect(has(GRANT_LIST, ".") && has(GRANT_LIST, "a") && has(GRANT_LIST, "a/b"), "%s",
		  lines);
	cr_expect(has(GRANT_READ, "a/file") && has(GRANT_READ, "a/b/beside"), "%s", lines);
	cr_expect(has(GRANT_WRITE, "w"), "%s", lines);
	cr_expect_not(names("a/b/secret"), "%s", lines);
	cr_expect_not(has(GRANT_READ, "a") || has(GRANT_READ, "a/b") || has(GRANT_READ, "."), "%s",
		      lines);
	cr_expect_not(names("a/b/link"), "%s", lines);
}

Test(grants, in_a_hidden_directory)
{
	place("a", CONFINE_HIDDEN);
	place("a/b", CONFINE_READABLE);
	place("a/b/secret", CONFINE_UNREADABLE);
	cr_assert_eq(grants_each(&confinement, note, NULL), 0);
	cr_expect_not(names("a") || names("a/file") || names("a/b/secret"), "%s", lines);
	cr_expect(has(GRANT_READ, "a/b/beside"), "%s", lines);
}

Test(grants, excepted)
{
	place("a/b", CONFINE_UNREADABLE);
	place("a/b/beside", CONFINE_EXCEPTED);
	cr_assert_eq(grants_each(&confinement, note, NULL), 0);
	cr_expect(has(GRANT_READ, "a/b/beside") && !names("a/b") && !names("a/b/secret"), "%s",
		  lines);
}

/* A name that begins like another one is not below that. */
Test(grants, names_that_begin_alike)
{
	make("a/b-");
	place("a/b", CONFINE_UNREADABLE);
	place("a/b-", CONFINE_WRITABLE);
	cr_assert_eq(grants_each(&confinement, note, NULL), 0);
	cr_expect(has(GRANT_WRITE, "a/b-") && !names("a/b"), "%s", lines);
}

Test(grants, taken_out)
{
	place("w", CONFINE_WRITABLE);
	char first[PATH_MAX] = "";
	cr_expect_eq(grants_take_writable(&confinement, first), 0);
	place("w/new", CONFINE_UNREADABLE);
	place("a/b/secret", CONFINE_UNREADABLE);
	cr_expect_eq(grants_take_writable(&confinement, first), 1);
	cr_expect_str_eq(first, at("w/new"));
	cr_expect_eq(confinement.count, 2);
	cr_expect_eq(confinement_count(&confinement, CONFINE_UNREADABLE), 1);
}

/* Those that were pinned for what is taken out are not needed. */
Test(grants, pins)
{
	place("", CONFINE_WRITABLE);
	place("a", CONFINE_PINNED);
	place("a/file", CONFINE_FIXED);
	char first[PATH_MAX] = "";
	cr_expect_eq(grants_take_writable(&confinement, first), 1);
	cr_expect_eq(confinement.count, 1);
}
