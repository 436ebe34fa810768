/*
 * Paths that a person gave on the command line.
 */
#ifndef SEEN_CLI_ARGUMENT_H
#define SEEN_CLI_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>

/* argument_path(): the path under which a session would have a file on record: absolute,
 * normalized, symbolic links resolved as far as it exists (a deleted file's directory may still be
 * there).
 *
 * path: relative to the current directory, or absolute.  ret_path: capacity bytes.
 * Returns 0; -EINVAL for an empty path; -ENAMETOOLONG; the errors of getcwd(3). */
int argument_path(const char *path, char *ret_path, size_t capacity);

/* argument_is_below(): is `path` below the directory, or the directory itself?  Both absolute,
 * normalized. */
bool argument_is_below(const char *path, const char *directory);

#endif
