/*
 * openat2(2), also where there is none.
 */
#ifndef SEEN_SUPERVISE_OPEN_BELOW_H
#define SEEN_SUPERVISE_OPEN_BELOW_H

#include "shim/start/compat.h"

/* open_below(): finds a file by its path.  Where a filter refuses openat2(2), or renames of others disturb each try, name
 * by name: so it never fails by EAGAIN.
 *
 * how: flags O_PATH and O_CLOEXEC, with O_NOFOLLOW or O_DIRECTORY; resolve of RESOLVE_NO_MAGICLINKS (a symbolic link
 * in /proc is then none that is followed), RESOLVE_NO_SYMLINKS and RESOLVE_IN_ROOT.  Without libc's state: a
 * task that shares memory may call it.
 * Returns a descriptor or a negative errno. */
int open_below(int directory, const char *path, const struct open_how *how);

#endif
