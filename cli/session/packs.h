/*
 * The directory of a session's packs (tracker/content/pack.h), for those who make and remove sessions.
 */
#ifndef SEEN_CLI_PACKS_H
#define SEEN_CLI_PACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "tracker/segment/segment.h"

/* packs_recount(): parts that are there already, of a session whose segment went with a boot, are
 * continued, and what is kept is counted anew.  path: of the directory.  Returns 0 or a negative errno. */
int packs_recount(const struct segment *segment, const char *path);

/* packs_cut(): ends the last part behind its last record: writers allocate room for the next ones.  No other process has
 * the session.  What would go is inspected: anything but zeroes stays. */
void packs_cut(const struct segment *segment);

/* packs_remove(): removes the directory of packs from a session's, which is locked.
 *
 * at: the session's directory.  only_try: finds out whether all in it is the packs', and leaves it.  ret_name: on
 * failure what could not be removed.  Returns 0; -EEXIST: there is something else in it; an error. */
int packs_remove(int at, bool only_try, char *ret_name, size_t capacity);

/* packs_size(): the bytes of the blocks that its files take.  at: the session's directory.  ret_bytes: 0 where there is none; as
 * many as were found where not all could be read.  Returns 0 or a negative errno. */
int packs_size(int at, uint64_t *ret_bytes);

#endif
