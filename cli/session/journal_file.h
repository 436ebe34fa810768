/*
 * Which journal a command means, and opening it to read.
 */
#ifndef SEEN_CLI_JOURNAL_FILE_H
#define SEEN_CLI_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "tracker/journal/journal.h"

/* journal_file_find(): the journal that a command means: `file` if not NULL; else that of the
 * session `name`, of $SEEN_SESSION, or that session_find() finds.  One that is named need not be
 * there any more: its journal outlives a boot.
 *
 * Says on stderr what is wrong, and returns an exit code: EXIT_CODE_OK and the path, of a file that
 * need not be a journal;
 * EXIT_CODE_NOTHING for a session without one; EXIT_CODE_BAD_SESSION for one that
 * session_check_path() does not let pass; or as session_find(). */
int journal_file_find(const struct config *config, const char *name, const char *file,
		      char *ret_path, size_t capacity);

/* journal_file_closed(): where no session of the workspace can be opened: the newest of which the
 * journal is there (store_newest_closed()).  ret_name: SEGMENT_NAME_BYTES long.  Returns whether
 * there is one. */
bool journal_file_closed(const struct config *config, char *ret_name);

/* journal_file_outlives(): is a session that session_open() refused with that error gone, or of no use?  Then its journal
 * stands alone. */
bool journal_file_outlives(int error);

/* journal_file_failed(): says on stderr why a journal could not be opened, and returns an exit
 * code: EXIT_CODE_NOTHING when there is no such file; EXIT_CODE_OUTPUT without memory;
 * EXIT_CODE_BAD_SESSION. */
int journal_file_failed(const char *path, int error);

/* journal_file_explain(): what an error of mapping, checking or sealing a journal means, for a
 * person; static text. */
const char *journal_file_explain(int error);

#endif
