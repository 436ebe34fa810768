/*
 * A file's state, as packs have it, of what the kernel reports.
 */
#ifndef SEEN_TRACKER_PACK_STATE_H
#define SEEN_TRACKER_PACK_STATE_H

#include <linux/stat.h>

#include "tracker/content/pack.h"

/* What statx(2) is to be asked for. */
enum { PACK_STATE_ASKED = STATX_BASIC_STATS | STATX_BTIME };

/* pack_state_of(): the state in what statx(2) gave.  Numbers of inodes are given anew: the time of creation,
 * where the file system has it, tells one file from a later one of its number.  Async-signal-safe. */
void pack_state_of(const struct statx *now, struct pack_state *ret_state);

#endif
