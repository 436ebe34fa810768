/*
 * Views of the journal's file.
 */
#ifndef SEEN_TRACKER_JOURNAL_MAP_H
#define SEEN_TRACKER_JOURNAL_MAP_H

#include "tracker/journal/journal.h"

/* journal_map(): maps an existing journal for reading and writing, with all that it may grow to.
 * journal_map_windows(): only what is written to next: for a process that may be short of room for
 * mappings, or limit itself later (setrlimit(2), RLIMIT_AS;
 * mlockall(2)).  It writes, and reads nothing but texts that it may use again.
 *
 * path: a symbolic link is refused; borrowed for as long as the view lives.
 * Returns 0; -EPERM when it belongs to another user or others may write to it; -EBADMSG when it is
 * no journal or is damaged; -EPROTO when it is one of another version; -ENOMEM in a process that
 * has little room for mappings; errors of open(2), mmap(2).  Async-signal-safe; no descriptor stays
 * open. */
int journal_map(const char *path, struct journal *ret_journal);
int journal_map_windows(const char *path, struct journal *ret_journal);

/* journal_map_windows_cleared(): the same for one that is all zero, as memory that was never
 * touched is: what has no use stays so.
 * It is all zero again where it failed. */
int journal_map_windows_cleared(const char *path, struct journal *ret_journal);

/* journal_map_to_read(): the same for reading alone, and without what the file grows to later.
 * Also checks that the file is as long as it says.  Whose it is, and who may write to it, is for
 * the caller to know: a copy from elsewhere may be anybody's, a session's own file may not. */
int journal_map_to_read(const char *path, struct journal *ret_journal);

/* journal_map_head(): likewise, what lies before the records alone, and the file, which the caller
 * reads and closes. */
int journal_map_head(const char *path, struct journal *ret_journal, int *ret_fd);

/* journal_unmap(): accepts a journal that was never mapped. */
void journal_unmap(struct journal *journal);

/* journal_map_window(): for journal_grow.c: maps a window further on, from a little before
 * `number` on: other threads write there. The last record of it may be as long as records can
 * be.  Returns 0, -ENOMEM, errors of mmap(2). */
int journal_map_window(struct journal *journal, int fd, uint64_t number);

#endif
