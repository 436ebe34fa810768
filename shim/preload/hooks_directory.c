/*
 * The exported functions that list directories: counted.  Walks (ftw, fts, glob) open each
 * directory by libc's own hidden calls and count once.
 */
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>

#include "shim/preload/directory.h"
#include "shim/preload/memory.h"
#include "shim/preload/real.h"
#include "shim/preload/stations.h"

EXPORT DIR *opendir(const char *path)
{
	DIR *ret = NULL;
	struct call call = list_call(OPERATION_LIST, AT_FDCWD, path);
	if (order_may(&call, OPERATION_LIST))
		ret = REAL(opendir)(path);
	call.error = ret ? 0 : -1;
	call.descriptor = ret ? REAL(dirfd)(ret) : -1;
	order_came_back(&call, OPERATION_LIST);
	return ret;
}

EXPORT DIR *fdopendir(int fd)
{
	DIR *ret = NULL;
	struct call call = list_call(OPERATION_LIST_DESCRIPTOR, fd, NULL);
	PASS_STATIONS(&call, OPERATION_LIST_DESCRIPTOR, (ret = REAL(fdopendir)(fd)) ? 0 : -1);
	return ret;
}

EXPORT int closedir(DIR *directory)
{
	int fd = (shim.records || shim.tracks) && directory ? REAL(dirfd)(directory) : -1;
	struct call call = list_call(OPERATION_CLOSE_LIST, fd, NULL);
	if (fd >= 0)
		order_closes(&call, OPERATION_CLOSE_LIST);
	return REAL(closedir)(directory);
}

/* Ends the wrapper of a function that lists a directory, or walks from it; -1: it failed. */
#define LIST(directory, list_by_libc) \
	do { \
		int ret = -1; \
		struct call call = list_call(OPERATION_LIST, directory, path); \
		PASS_STATIONS(&call, OPERATION_LIST, (ret = list_by_libc) == -1 ? -1 : 0); \
		return ret; \
	} while (0)

typedef int keep_entry(const struct dirent *entry);
typedef int compare_entries(const struct dirent **a, const struct dirent **b);
typedef int keep_entry64(const struct dirent64 *entry);
typedef int compare_entries64(const struct dirent64 **a, const struct dirent64 **b);

EXPORT int scandir(const char *path, struct dirent ***ret_entries, keep_entry *keep,
		   compare_entries *compare)
{
	LIST(AT_FDCWD, REAL(scandir)(path, ret_entries, keep, compare));
}

EXPORT int scandir64(const char *path, struct dirent64 ***ret_entries, keep_entry64 *keep,
		     compare_entries64 *compare)
{
	LIST(AT_FDCWD, REAL(scandir64)(path, ret_entries, keep, compare));
}

EXPORT int scandirat(int directory, const char *path, struct dirent ***ret_entries,
		     keep_entry *keep, compare_entries *compare)
{
	LIST(directory, REAL(scandirat)(directory, path, ret_entries, keep, compare));
}

EXPORT int scandirat64(int directory, const char *path, struct dirent64 ***ret_entries,
		       keep_entry64 *keep, compare_entries64 *compare)
{
	LIST(directory, REAL(scandirat64)(directory, path, ret_entries, keep, compare));
}

EXPORT int ftw(const char *path, __ftw_func_t call_back, int descriptors)
{
	LIST(AT_FDCWD, REAL(ftw)(path, call_back, descriptors));
}

EXPORT int ftw64(const char *path, __ftw64_func_t call_back, int descriptors)
{
	LIST(AT_FDCWD, REAL(ftw64)(path, call_back, descriptors));
}

/* Of a walk that moves the current directory change_walks() is called. */
#define WALK(walk_by_libc) \
	do { \
		int ret = -1; \
		bool moves = flags & FTW_CHDIR; \
		struct call call = list_call(OPERATION_LIST, AT_FDCWD, path); \
		if (moves) \
			change_walks(1); \
		if (order_may(&call, OPERATION_LIST)) \
			ret = walk_by_libc; \
		if (moves) \
			change_walks(-1); \
		call.error = ret == -1 ? -1 : 0; \
		order_came_back(&call, OPERATION_LIST); \
		return ret; \
	} while (0)

EXPORT int nftw(const char *path, __nftw_func_t call_back, int descriptors, int flags)
{
	WALK(REAL(nftw)(path, call_back, descriptors, flags));
}

EXPORT int nftw64(const char *path, __nftw64_func_t call_back, int descriptors, int flags)
{
	WALK(REAL(nftw64)(path, call_back, descriptors, flags));
}

#define LIST_PATTERN(list_by_libc) \
	do { \
		int ret = GLOB_ABORTED; \
		struct call call = list_call(OPERATION_LIST_PATTERN, AT_FDCWD, pattern); \
		PASS_STATIONS(&call, OPERATION_LIST_PATTERN, \
			      (ret = list_by_libc) == 0 || ret == GLOB_NOMATCH ? 0 : -1); \
		return ret; \
	} while (0)

EXPORT int glob(const char *pattern, int flags, int (*fail)(const char *path, int error),
		glob_t *ret_found)
{
	LIST_PATTERN(REAL(glob)(pattern, flags, fail, ret_found));
}

EXPORT int glob64(const char *pattern, int flags, int (*fail)(const char *path, int error),
		  glob64_t *ret_found)
{
	LIST_PATTERN(REAL(glob64)(pattern, flags, fail, ret_found));
}

/* Each of the directories that a walk begins at. */
static bool may_walk(char *const *paths)
{
	if (rule_may_hold(&shim.rules, RULE_LIST))
		for (; launch_is_readable(paths) && *paths; paths++) {
			struct call call = list_call(OPERATION_LIST, AT_FDCWD, *paths);
			if (!order_may(&call, OPERATION_LIST))
				return false;
		}
	return true;
}

/* The first of them is recorded. */
static void walk_began(char *const *paths)
{
	struct call call = list_call(OPERATION_LIST, AT_FDCWD, paths[0]);
	order_came_back(&call, OPERATION_LIST);
}

EXPORT FTS *fts_open(char *const *paths, int flags,
		     int (*compare)(const FTSENT **a, const FTSENT **b))
{
	FTS *ret = may_walk(paths) ? REAL(fts_open)(paths, flags, compare) : NULL;
	if (ret)
		walk_began(paths);
	return ret;
}

EXPORT FTS64 *fts64_open(char *const *paths, int flags,
			 int (*compare)(const FTSENT64 **a, const FTSENT64 **b))
{
	FTS64 *ret = may_walk(paths) ? REAL(fts64_open)(paths, flags, compare) : NULL;
	if (ret)
		walk_began(paths);
	return ret;
}

static inline void walked(void)
{
	struct call call = list_call(OPERATION_WALK, AT_FDCWD, NULL);
	order_came_back(&call, OPERATION_WALK);
}

EXPORT FTSENT *fts_read(FTS *walk)
{
	FTSENT *ret = REAL(fts_read)(walk);
	walked();
	return ret;
}

EXPORT FTSENT64 *fts64_read(FTS64 *walk)
{
	FTSENT64 *ret = REAL(fts64_read)(walk);
	walked();
	return ret;
}

EXPORT int fts_close(FTS *walk)
{
	int error = REAL(fts_close)(walk);
	walked();
	return error;
}

EXPORT int fts64_close(FTS64 *walk)
{
	int error = REAL(fts64_close)(walk);
	walked();
	return error;
}
