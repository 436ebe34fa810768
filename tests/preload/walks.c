/* Hazard: libc's walks through folders (fts(3), nftw(3) with FTW_CHDIR) change the current folder by calls of their own: what is
 * opened meanwhile, and afterwards, is relative to it.  "fts" and
 * "nftw" are parts of their own, for test_journal.py. */
#include "check.h"

#include <fts.h>
#include <ftw.h>

static int visit(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	(void)stat;
	if (type == FTW_F) {
		int fd = open(path + where->base, O_RDONLY);
		printf("nftw %s: %s\n", path, fd >= 0 ? "opened" : strerrorname_np(errno));
		if (fd >= 0)
			CHECK(close(fd) == 0);
	}
	return 0;
}

static void walk(const char *path, int flags)
{
	char *const paths[] = { (char *)path, NULL };
	FTS *walk = fts_open(paths, flags, NULL);
	FTSENT *entry;

	CHECK(walk);
	while ((entry = fts_read(walk))) {
		if (entry->fts_info != FTS_F)
			continue;
		int fd = open(entry->fts_accpath, O_RDONLY);
		printf("fts %s: %s\n", entry->fts_path,
		       fd >= 0 ? "opened" : strerrorname_np(errno));
		if (fd >= 0)
			CHECK(close(fd) == 0);
	}
	SHOW(fts_close(walk));
	SHOW(open("missing", O_RDONLY));
	put_file("after", "written\n", 0644);
}

int main(int argc, char **argv)
{
	bool all = argc == 1;

	CHECK(mkdir("folder", 0755) == 0 && mkdir("folder/inner", 0755) == 0);
	put_file("folder/inner/file", "the file\n", 0644);
	if (all || strcmp(argv[1], "fts") == 0) {
		walk("folder", FTS_PHYSICAL);
		walk("folder", FTS_PHYSICAL | FTS_NOCHDIR);
	}
	if (all || strcmp(argv[1], "nftw") == 0) {
		SHOW(nftw("folder", visit, 8, FTW_PHYS | FTW_CHDIR));
		SHOW(open("missing", O_RDONLY));
		put_file("after", "written\n", 0644);
		SHOW(nftw("folder", visit, 8, FTW_PHYS));
	}
	return 0;
}
