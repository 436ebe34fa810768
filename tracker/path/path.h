/*
 * Paths: names, globs, the workspace, and text that is safe to show.  Paths are bytes of others.
 * Nothing here makes a system call, allocates, or looks at the file system.
 */
#ifndef SEEN_TRACKER_PATH_H
#define SEEN_TRACKER_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

struct segment;

/* path_base(): what follows the last slash. */
const char *path_base(const char *path);

/* path_glob(): does a shell pattern match a whole text?
 *
 * `*` any bytes but `/`, `**` any bytes, `?` one byte but `/`, `[...]` a set (`!` or `^` negates,
 * ranges), `\` takes the next byte as it is.  fold: ASCII letters match in either case.  Time is
 * bounded by length of pattern times length of text for one star, and by a fixed budget in all:
 * beyond that the answer is no. */
bool path_glob(const char *pattern, const char *text, bool fold);

/* path_matches_glob(): does a glob match a path below a folder, as the globs of [paths] do?
 *
 * relative: what follows the folder's slash.  A pattern that begins with a slash is held against all of it, any other one also
 * against what follows each of its slashes.  One that matches a folder's name matches all below it.  Time and `fold`
 * as path_glob(). */
bool path_matches_glob(const char *pattern, const char *relative, bool fold);

/* path_covers(): does a glob match a whole path, or that of a folder above it?  Time and `fold` as path_glob(). */
bool path_covers(const char *pattern, const char *path, bool fold);

/* path_normalize(): an absolute path without `.`, `..`, or doubled slashes, by text alone.
 *
 * directory: absolute, for a relative `path`; may be NULL when `path` is absolute.  ret_path:
 * capacity bytes.  Returns the length without NUL; -EINVAL for a relative path without a directory;
 * -ENAMETOOLONG.  `..` behind a symbolic link is not followed: the caller says where that matters. */
int path_normalize(const char *directory, const char *path, char *ret_path, size_t capacity);

/* path_behind_descriptor(): /proc/self/fd/N, /proc/thread-self/fd/N, /dev/fd/N and /proc/PID/fd/N at the beginning of a path stand for what
 * a descriptor is open for.  pid: of the process that names it, 0: that form is not looked for.  Returns what is behind it in `path`: "" or
 * what begins with a slash; NULL when it is no such path. */
const char *path_behind_descriptor(const char *path, uint32_t pid, int *ret_fd);

/* path_in_workspace(): is an absolute, normalized path the workspace's root or below it?  Where the
 * configuration says so, ASCII case is ignored. */
bool path_in_workspace(const struct segment *segment, const char *path);

/* path_is_tracked(): in the workspace, included, and not excluded ([paths] include, exclude). */
bool path_is_tracked(const struct segment *segment, const char *path);

/* path_matches_list(): does one of a list's globs match an absolute, normalized path, as [paths] exclude means it?  A pattern that
 * takes too long does not. */
bool path_matches_list(const struct segment *segment, struct settings_text list, const char *path);

/* path_is_recorded(): does an access go to the journal, by [journal] level and exclude?  writes: it may change something.  path: absolute,
 * normalized; NULL: not known, then it does unless the level says otherwise. */
bool path_is_recorded(const struct segment *segment, bool writes, const char *path);

/* path_relative(): the part below the workspace's root, or the path itself when it is not below it. */
const char *path_relative(const struct segment *segment, const char *path);

/* path_key(): the key of a file's path in the tables: XXH3-64, of the path folded to lower ASCII case
 * where the configuration says so; never 0. */
uint64_t path_key(const struct segment *segment, const char *path);

/* path_utf8_length(): length of the character at `bytes`: 1 for ASCII, 2 to 4 for a valid UTF-8 sequence (RFC 3629),
 * 0 when there is none.  bytes: ended by NUL. */
size_t path_utf8_length(const char *bytes);

/* path_escape(): bytes made safe for a line of text.
 *
 * Control characters, DEL, backslash, and bytes that are not part of valid UTF-8 become \xHH (\n, \t,
 * \r, \\ by their names); C1 control characters too.  Returns the length without NUL, or
 * -ENAMETOOLONG when ret_text's capacity does not suffice. */
int path_escape(const char *bytes, char *ret_text, size_t capacity);

#endif
