/*
 * Paths: names, and text that is safe to show.  Paths are bytes of others.  Pure functions: no
 * state, no system call, no allocation.
 */
#ifndef SEEN_TRACKER_PATH_H
#define SEEN_TRACKER_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* path_base(): what follows the last slash. */
const char *path_base(const char *path);

/* path_below(): what is behind a path above: "" where it is the same; NULL: it is not above. */
const char *path_below(const char *path, const char *above);

/* path_ends_with(): is there something before that end? */
bool path_ends_with(const char *path, const char *end);

/* path_normalize(): an absolute path without `.`, `..`, or doubled slashes, by text alone.
 *
 * directory: absolute, for a relative `path`; may be NULL when `path` is absolute.  ret_path:
 * capacity bytes.  Returns the length without NUL; -EINVAL for a relative path without a directory;
 * -ENAMETOOLONG.  `..` behind a symbolic link is not followed: the caller says where that
 * matters. */
int path_normalize(const char *directory, const char *path, char *ret_path, size_t capacity);

/* path_behind_descriptor(): /proc/self/fd/N, /proc/thread-self/fd/N, /dev/fd/N and /proc/PID/fd/N
 * at the beginning of a path stand for what a descriptor is open for.  pid: of the process that
 * names it, 0: that form is not looked for.  Returns what is behind it in `path`: "" or what begins
 * with a slash; NULL when it is no such path. */
const char *path_behind_descriptor(const char *path, uint32_t pid, int *ret_fd);

/* path_behind_directory(): what follows the slashes behind /proc/self/cwd, /proc/thread-self/cwd or
 * /proc/PID/cwd at the beginning of a path, which is relative to the current directory.  pid: as
 * above.  NULL: it is no such path, or nothing follows. */
const char *path_behind_directory(const char *path, uint32_t pid);

/* path_utf8_length(): length of the character at `bytes`: 1 for ASCII, 2 to 4 for a valid UTF-8
 * sequence (RFC 3629), 0 when there is none.  bytes: ended by NUL. */
size_t path_utf8_length(const char *bytes);

/* path_escape(): bytes made safe for a line of text.
 *
 * Control characters, DEL, backslash, and bytes that are not part of valid UTF-8 become \xHH (\n,
 * \t, \r, \\ by their names); C1 control characters too.  Returns the length without NUL, or
 * -ENAMETOOLONG when ret_text's capacity does not suffice. */
int path_escape(const char *bytes, char *ret_text, size_t capacity);

#endif
