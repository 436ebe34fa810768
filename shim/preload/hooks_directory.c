/*
 * The exported functions that list directories: counted.  Walks (ftw, fts, glob) open each
 * directory by libc's own hidden calls and count once.
 */
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>

#include "shim/preload/call.h"
#include "shim/preload/directory.h"
#include "shim/preload/memory.h"
#include "shim/preload/real.h"

static inline bool may_list(int directory, const char *path)
{
	return call_may(RULE_LIST, directory, path, true);
}

/* By path, below the current directory. */
static inline void listed(bool succeeded, const char *path)
{
	call_listed(-1, !succeeded, AT_FDCWD, path, 0);
}

EXPORT DIR *opendir(const char *path)
{
	DIR *ret = may_list(AT_FDCWD, path) ? REAL(opendir)(path) : NULL;
	call_listed(ret ? REAL(dirfd)(ret) : -1, !ret, AT_FDCWD, path, 0);
	return ret;
}

/* The descriptor was counted when it was opened, as a directory if O_DIRECTORY said so.  It belongs
 * to libc now: closedir(3) closes it by a hidden call, and then its number may stand for a pipe. */
EXPORT DIR *fdopendir(int fd)
{
	DIR *ret = REAL(fdopendir)(fd);
	if (ret && shim.views)
		viewer_untrackable();
	else if (ret && __builtin_expect(shim.tracks, 0))
		reader_listed(fd, AT_FDCWD, NULL);
	return ret;
}

EXPORT int closedir(DIR *directory)
{
	int fd = (shim.records || shim.tracks) && directory ? REAL(dirfd)(directory) : -1;
	if (fd >= 0 && __builtin_expect(shim.tracks, 0))
		reader_closing(fd);
	if (fd >= 0)
		descriptor_closing((unsigned)fd, (unsigned)fd);
	return REAL(closedir)(directory);
}

typedef int keep_entry(const struct dirent *entry);
typedef int compare_entries(const struct dirent **a, const struct dirent **b);
typedef int keep_entry64(const struct dirent64 *entry);
typedef int compare_entries64(const struct dirent64 **a, const struct dirent64 **b);

EXPORT int scandir(const char *path, struct dirent ***ret_entries, keep_entry *keep,
		   compare_entries *compare)
{
	int ret = may_list(AT_FDCWD, path) ? REAL(scandir)(path, ret_entries, keep, compare) : -1;
	listed(ret >= 0, path);
	return ret;
}

EXPORT int scandir64(const char *path, struct dirent64 ***ret_entries, keep_entry64 *keep,
		     compare_entries64 *compare)
{
	int ret = may_list(AT_FDCWD, path) ? REAL(scandir64)(path, ret_entries, keep, compare) : -1;
	listed(ret >= 0, path);
	return ret;
}

EXPORT int scandirat(int directory, const char *path, struct dirent ***ret_entries,
		     keep_entry *keep, compare_entries *compare)
{
	int ret = may_list(directory, path)
			  ? REAL(scandirat)(directory, path, ret_entries, keep, compare)
			  : -1;
	call_listed(-1, ret < 0, directory, path, 0);
	return ret;
}

EXPORT int scandirat64(int directory, const char *path, struct dirent64 ***ret_entries,
		       keep_entry64 *keep, compare_entries64 *compare)
{
	int ret = may_list(directory, path)
			  ? REAL(scandirat64)(directory, path, ret_entries, keep, compare)
			  : -1;
	call_listed(-1, ret < 0, directory, path, 0);
	return ret;
}

EXPORT int ftw(const char *path, __ftw_func_t call, int descriptors)
{
	int ret = may_list(AT_FDCWD, path) ? REAL(ftw)(path, call, descriptors) : -1;
	listed(ret != -1, path);
	return ret;
}

EXPORT int ftw64(const char *path, __ftw64_func_t call, int descriptors)
{
	int ret = may_list(AT_FDCWD, path) ? REAL(ftw64)(path, call, descriptors) : -1;
	listed(ret != -1, path);
	return ret;
}

EXPORT int nftw(const char *path, __nftw_func_t call, int descriptors, int flags)
{
	bool moves = flags & FTW_CHDIR;
	if (moves)
		change_walks(1);
	int ret = may_list(AT_FDCWD, path) ? REAL(nftw)(path, call, descriptors, flags) : -1;
	if (moves)
		change_walks(-1);
	listed(ret != -1, path);
	return ret;
}

EXPORT int nftw64(const char *path, __nftw64_func_t call, int descriptors, int flags)
{
	bool moves = flags & FTW_CHDIR;
	if (moves)
		change_walks(1);
	int ret = may_list(AT_FDCWD, path) ? REAL(nftw64)(path, call, descriptors, flags) : -1;
	if (moves)
		change_walks(-1);
	listed(ret != -1, path);
	return ret;
}

EXPORT int glob(const char *pattern, int flags, int (*fail)(const char *path, int error),
		glob_t *ret_found)
{
	int ret = REAL(glob)(pattern, flags, fail, ret_found);
	if (ret == 0 || ret == GLOB_NOMATCH)
		call_listed(-1, false, AT_FDCWD, pattern, JOURNAL_PATTERN);
	return ret;
}

EXPORT int glob64(const char *pattern, int flags, int (*fail)(const char *path, int error),
		  glob64_t *ret_found)
{
	int ret = REAL(glob64)(pattern, flags, fail, ret_found);
	if (ret == 0 || ret == GLOB_NOMATCH)
		call_listed(-1, false, AT_FDCWD, pattern, JOURNAL_PATTERN);
	return ret;
}

/* Each of the directories that a walk begins at. */
static bool may_walk(char *const *paths)
{
	if (rule_may_hold(&shim.rules, RULE_LIST))
		for (; launch_is_readable(paths) && *paths; paths++)
			if (!may_list(AT_FDCWD, *paths))
				return false;
	return true;
}

EXPORT FTS *fts_open(char *const *paths, int flags,
		     int (*compare)(const FTSENT **a, const FTSENT **b))
{
	FTS *ret = may_walk(paths) ? REAL(fts_open)(paths, flags, compare) : NULL;
	if (ret) /* the first of them */
		listed(true, paths[0]);
	return ret;
}

EXPORT FTS64 *fts64_open(char *const *paths, int flags,
			 int (*compare)(const FTSENT64 **a, const FTSENT64 **b))
{
	FTS64 *ret = may_walk(paths) ? REAL(fts64_open)(paths, flags, compare) : NULL;
	if (ret) /* the first of them */
		listed(true, paths[0]);
	return ret;
}

/* A walk goes from directory to directory, unless its flags forbid it. */
EXPORT FTSENT *fts_read(FTS *walk)
{
	FTSENT *ret = REAL(fts_read)(walk);
	change_unsure();
	return ret;
}

EXPORT FTSENT64 *fts64_read(FTS64 *walk)
{
	FTSENT64 *ret = REAL(fts64_read)(walk);
	change_unsure();
	return ret;
}

EXPORT int fts_close(FTS *walk)
{
	int error = REAL(fts_close)(walk);
	change_unsure();
	return error;
}

EXPORT int fts64_close(FTS64 *walk)
{
	int error = REAL(fts64_close)(walk);
	change_unsure();
	return error;
}
