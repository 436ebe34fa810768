/*
 * Sessions on disk: where they lie, making, opening, finding them.
 *
 * A session NAME is a directory NAME, mode 0700, in the runtime directory ([session] runtime_dir,
 * else $XDG_RUNTIME_DIR/seen, else the state directory); it holds the segment.  A directory of that
 * name in the state directory, perhaps the same one, holds what outlives a boot: the journal, its
 * seal, and the content store.  The state directory is [session] state_dir, else
 * $XDG_STATE_HOME/seen, else ~/.local/state/seen, else /var/tmp/seen-UID.
 */
#ifndef SEEN_CLI_SESSION_H
#define SEEN_CLI_SESSION_H

#include <stdbool.h>

#include "config/config.h"
#include "tracker/journal/journal.h"
#include "tracker/segment/segment.h"

enum {
	SESSION_HOLDS_MAX = 2
}; /* its directory, and that of its journal and contents where that is another one */

struct session {
	char name[SEGMENT_NAME_BYTES];
	char directory[SEGMENT_PATH_BYTES]; /* absolute */
	struct segment segment;
	/* directories locked by session_make(): descriptors, close-on-exec */
	int holds[SESSION_HOLDS_MAX];
	int hold_count;
	bool made; /* by this call */
	/* session_make(): it is in use, with settings other than the config's */
	bool keeps_settings;
	/* session_make(): why a new session has no journal; 0: it has, or is to have none */
	int journal_error;
	/* session_make(): why no content can be kept; 0: it can, or is not to be */
	int contents_error;
	int undo_error; /* likewise for undo */
};

/* session_state_dir(), session_runtime_dir(): the directories that sessions lie in; not made here.
 * Return 0, or -ENAMETOOLONG. */
int session_state_dir(const struct config *config, char *ret_path, size_t capacity);
int session_runtime_dir(const struct config *config, char *ret_path, size_t capacity);

/* session_is_inside(): was this process started in a run?  Not for a run that put its own session into
 * the environment. */
bool session_is_inside(void);

/* session_name_is_valid(): letters, digits, dot, dash, underscore; begins with a letter or digit;
 * at most 64 bytes.  A name is a directory's name: nothing else may get out of the directory of
 * sessions. */
bool session_name_is_valid(const char *name);

/* What a session is opened for: SESSION_TO_READ is for those that only look for one, or list them. */
enum session_use { SESSION_TO_READ, SESSION_TO_CHANGE, SESSION_TO_RUN };

/* session_open_to_use(): the same, and locks its directories.  -EAGAIN: `seen gc` has it. */
int session_open_to_use(const struct config *config, const char *name, struct session *ret_session);

/* session_map_directory(): opens the session in a directory; `held` has it locked already, or is
 * empty.  As session_open(). */
int session_map_directory(const char *directory, enum session_use use, const struct session *held,
			  struct session *ret_session);

/* session_path(): "directory/name".  Returns 0, or -ENAMETOOLONG. */
int session_path(char *ret_path, size_t capacity, const char *directory, const char *name);

/* session_open(): opens a session by name, or by the directory of its segment (a path with a
 * slash).
 *
 * Returns 0; -ENOENT when there is none; -EINVAL for a name that is not valid; -EPERM when it
 * belongs to another user; -EUCLEAN when others may write to it; -ELOOP when its directory or
 * segment is a symbolic link; -EPROTO when it was made by another version of seen; -EBADMSG when it
 * is damaged; others.  session_close() it.
 */
int session_open(const struct config *config, const char *name, struct session *ret_session);

/* session_open_to_read(): the same without a store to it: of a session that was cut (session_cut.h)
 * this is a copy in memory. */
int session_open_to_read(const struct config *config, const char *name,
			 struct session *ret_session);

/* session_map_journal(): maps the session's journal to write to.  ret_journal: journal_unmap() it
 * in any case; not mapped where the session is to have none ([journal] level = off).  Returns 0, or
 * why it cannot be written to: as journal_map(), or session->journal_error. */
int session_map_journal(const struct session *session, struct journal *ret_journal);

/* session_journal(): path of the session's journal, NULL: it has none.  Borrowed from the
 * session. */
const char *session_journal(const struct session *session);

/* session_explain(): what an error of these functions means, for a person; static text. */
const char *session_explain(int error);

/* session_close(): accepts a session that was never opened.  One that was made here is marked as
 * used until now. */
void session_close(struct session *session);

/* session_library(): path of libseen.so beside the running program.  Returns 0, -ENOENT where it is
 * not there, or -ENODEV where /proc does not show where this program is. */
int session_library(char *ret_path, size_t capacity);

/* session_library_missing(): why there is none, of that error, as a phrase. */
const char *session_library_missing(int error);

#endif
