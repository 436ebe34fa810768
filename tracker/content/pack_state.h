/*
 * A file's state, as packs have it, of what the kernel reports.
 */
#ifndef SEEN_TRACKER_PACK_STATE_H
#define SEEN_TRACKER_PACK_STATE_H

#include "tracker/content/pack.h"

/* pack_state_read(): the state of a name.  Numbers of inodes are given anew: the time of creation, where the file system has it,
 * tells one file from a later one of its number.  It is not known where statx(2) is missing (Linux before 4.11), or a filter refuses it.
 *
 * flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH.  Async-signal-safe; errno stays.  Returns 0 or a negative errno. */
int pack_state_read(int directory, const char *path, int flags, struct pack_state *ret_state);

#endif
