/*
 * What the sources use of glibc and musl 1.2.3 has not: included before each file of the static build (packaging/static).
 */
#ifndef SEEN_PACKAGING_MUSL_H
#define SEEN_PACKAGING_MUSL_H

#include <linux/stat.h>
#include <sys/syscall.h>

long syscall(long number,
	     ...); /* without unistd.h: files have functions of their own named read and write */

#define NCURSES_WIDECHAR 1 /* which curses.h takes from glibc's feature macros */
#define RENAME_NOREPLACE (1U << 0)
#define RENAME_EXCHANGE (1U << 1)
#define RENAME_WHITEOUT (1U << 2)

static inline int statx(int directory, const char *path, int flags, unsigned mask,
			struct statx *ret_stat)
{
	return (int)syscall(SYS_statx, directory, path, flags, mask, ret_stat);
}

static inline int renameat2(int directory, const char *path, int target_directory,
			    const char *target, unsigned flags)
{
	return (int)syscall(SYS_renameat2, directory, path, target_directory, target, flags);
}

#endif
