/* Hazard: libc's walks through directories (fts(3), nftw(3) with FTW_CHDIR) change the current directory by calls of their own: what is
 * opened meanwhile is relative to it.  "fts" and "nftw" are parts of their own: test_journal.py runs them one by one. */
#include "check.h"

#include <fts.h>
#include <ftw.h>

static void open_one(const char *how, const char *shown, const char *name)
{
	int fd = open(name, O_RDONLY);
	printf("%s %s: %s\n", how, shown, fd >= 0 ? "opened" : strerrorname_np(errno));
	if (fd >= 0)
		CHECK(close(fd) == 0);
}

static int visit(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	(void)stat;
	if (type == FTW_F)
		open_one("nftw", path, path + where->base);
	return 0;
}

static int visit64(const char *path, const struct stat64 *stat, int type, struct FTW *where)
{
	(void)stat;
	if (type == FTW_F)
		open_one("nftw64", path, path + where->base);
	return 0;
}

/* Is the program where it was? */
static void show_place(void)
{
	SHOW(open("missing", O_RDONLY));
	write_file("after", "written\n", 0644);
}

static void walk(const char *path, int flags)
{
	char *const paths[] = { (char *)path, NULL };
	FTS *walk = fts_open(paths, flags, NULL);
	FTSENT *entry;

	CHECK(walk);
	while ((entry = fts_read(walk)))
		if (entry->fts_info == FTS_F)
			open_one("fts", entry->fts_path, entry->fts_accpath);
	SHOW(fts_close(walk));
	show_place();
}

static void walk64(const char *path, int flags)
{
	char *const paths[] = { (char *)path, NULL };
	FTS64 *walk = fts64_open(paths, flags, NULL);
	FTSENT64 *entry;

	CHECK(walk);
	while ((entry = fts64_read(walk)))
		if (entry->fts_info == FTS_F)
			open_one("fts64", entry->fts_path, entry->fts_accpath);
	SHOW(fts64_close(walk));
	show_place();
}

int main(int argc, char **argv)
{
	bool all = argc == 1;

	CHECK(mkdir("folder", 0755) == 0 && mkdir("folder/inner", 0755) == 0);
	write_file("folder/inner/file", "the file\n", 0644);
	if (all || strcmp(argv[1], "fts") == 0) {
		walk("folder", FTS_PHYSICAL);
		walk("folder", FTS_PHYSICAL | FTS_NOCHDIR);
		walk64("folder", FTS_PHYSICAL);
	}
	if (all || strcmp(argv[1], "nftw") == 0) {
		SHOW(nftw("folder", visit, 8, FTW_PHYS | FTW_CHDIR));
		show_place();
		SHOW(nftw64("folder", visit64, 8, FTW_PHYS | FTW_CHDIR));
		show_place();
	}
	return 0;
}
