/*
 * Files and directories of sessions must be this user's: no other user may choose what is read or
 * written there.
 */
#ifndef SEEN_CLI_OWNED_H
#define SEEN_CLI_OWNED_H

#include <stdbool.h>

/* session_open_directory(): opens a directory of this user's for reading; a symbolic link is not
 * followed.
 *
 * at: descriptor that a relative `path` begins at, or AT_FDCWD.  ret_fd: close-on-exec; the caller
 * closes it.
 * Returns 0; -ELOOP for a symbolic link; -ENOTDIR; -EPERM when it belongs to another user; errors
 * of openat(2).
 * What its mode is does not matter here: a directory that a person named for sessions has the mode
 * they gave it. */
int session_open_directory(int at, const char *path, int *ret_fd);

/* session_check_file(): -ELOOP when a file of a session is a symbolic link, -EPERM when it belongs
 * to another user, -EUCLEAN when others may write to it, else 0.  at, path: as above. */
int session_check_file(int at, const char *path);

/* session_check_path(): may a file of a session be believed, a journal or a seal: is it, and is its
 * directory, this user's alone to write to?  path: absolute.  Returns 0, also for one that is not
 * there; -EPERM, -EUCLEAN, -ELOOP as session_check_file(). */
int session_check_path(const char *path);

/* owned_explain(): what an error of these functions means, and of calls on what is there, for a person;
 * text of strerror(3), or static. */
const char *owned_explain(int error);

#endif
