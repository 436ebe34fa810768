/*
 * A new journal: for the program alone.
 */
#ifndef SEEN_TRACKER_JOURNAL_CREATE_H
#define SEEN_TRACKER_JOURNAL_CREATE_H

#include "tracker/journal/journal.h"

/* journal_create(): makes a journal file, whole or not at all.  For the program.
 *
 * path: of the file, which must not exist.  name: of the session.  nonce: 16 hexadecimal digits by
 * chance.  workspace: a path.  max_bytes: what it may grow to.
 * The file has mode 0600 and one chunk of allocated blocks; where the file system cannot allocate
 * on demand it gets 16 of them and never grows.  Built under a temporary name and linked.
 * Returns 0; -EEXIST; -ENOSPC; -EFBIG where this process may not make files that large;
 * -ENAMETOOLONG; other errors of open(2), link(2).  Nothing is left behind on failure. */
int journal_create(const char *path, const char *name, const char *nonce, const char *workspace,
		   uint64_t max_bytes);

/* journal_touch(): puts the pages of units that are not reserved yet, and that have blocks, into
 * memory, as ones that were written to:
 * who writes to them first takes a tenth of the time.  For the program, of a view of the whole
 * file; Linux 5.14, else it does nothing.
 *
 * first, behind: numbers.  Returns the number behind those that are there now, at most `behind`, at
 * least `first`. */
uint64_t journal_touch(const struct journal *journal, uint64_t first, uint64_t behind);

#endif
