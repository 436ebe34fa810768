/*
 * How a session (store.h) is removed.
 *
 * One is removed in this order: its directories are locked, so that it cannot be taken into use; it
 * is judged once more, and whether all in them is a session's; its directories get names that are no session's, at once; what is in them
 * goes.  Killed at any instruction, that leaves a session as it was, without its segment or
 * journal, or a directory that store_clean() of the next one clears away.
 */
#ifndef SEEN_CLI_STORE_REMOVE_H
#define SEEN_CLI_STORE_REMOVE_H

#include <stdbool.h>

#include "cli/session/store.h"

/* What store_remove() and store_clean() could not do. */
struct store_trouble {
	char path[SEGMENT_PATH_BYTES]; /* absolute */
	/* -EEXIST: name of the first thing in it that is no file of a session */
	char stranger[SEGMENT_PATH_BYTES];
};

/* store_remove(): removes a session that no process uses, whatever its state.
 *
 * only_try: finds out whether it could be, and leaves it.  ret_trouble: set on every error but
 * -EBUSY and -ENOENT.
 * The caller ignores SIGIO: the kernel sends it when another process opens a file while this one
 * asks for a lease (fcntl(2), F_SETLEASE).
 * Returns 0; -EBUSY when it is in use; -ENOENT when it is gone; -EEXIST when there is something in
 * its directory that is no file of a session of this user's: all was left; -EPERM, -ELOOP,
 * -EUCLEAN as session_open(); errors of renameat(2) and unlinkat(2): after one of these a part of it
 * may be gone. */
int store_remove(const struct store *store, const struct store_session *session, bool only_try,
		 struct store_trouble *ret_trouble);

/* store_clean(): clears away what a killed store_remove() left.  Returns 0, or an error for the
 * last that could not be. */
int store_clean(const struct store *store, struct store_trouble *ret_trouble);

/* store_cut(): session_cut() of each session that has ended and was not cut yet: its run was killed. */
void store_cut(const struct store *store);

#endif
