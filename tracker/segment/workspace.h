/*
 * What of the file system a session is about: its workspace, the files that it tracks, and their
 * keys in the tables.  Paths are absolute and normalized; the settings are those of the segment.
 * Lock-free, async-signal-safe, no system call.
 */
#ifndef SEEN_TRACKER_WORKSPACE_H
#define SEEN_TRACKER_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

/* path_in_workspace(): is an absolute, normalized path the workspace's root or below it?  Where the
 * configuration says so, ASCII case is ignored. */
bool path_in_workspace(const struct segment *segment, const char *path);

/* path_behind_alias(): what follows the workspace's root in a path that begins with another name of
 * it (path_add_alias()): "" or what begins with a slash.  path: absolute.  NULL: it does not begin
 * so.  path_use_root(): puts the root in place of that other name.
 *
 * path: absolute, in `capacity` bytes; what would not fit stays as it is. */
const char *path_behind_alias(const struct segment *segment, const char *path);
void path_use_root(const struct segment *segment, char *path, size_t capacity);

/* path_add_alias(): for the program: the root is reached by this name, too.  alias: absolute,
 * normalized, not "/".  Returns 0;
 * -ENOSPC: there is no room for another. */
int path_add_alias(const struct segment *segment, const char *alias);

/* path_is_observed(): is a path below one that was added: undo observes it as it does the workspace?
 * path_add_observed(): adds what was moved out of the workspace, or its git directory, which lies elsewhere.
 * Returns 0; -ENOSPC. */
bool path_is_observed(const struct segment *segment, const char *path);
int path_add_observed(const struct segment *segment, const char *path);

/* path_is_tracked(): in the workspace, included, and not excluded ([paths] include, exclude). */
bool path_is_tracked(const struct segment *segment, const char *path);

/* path_matches_list(): does one of a list's globs match an absolute, normalized path, as [paths]
 * exclude means it?  A pattern that takes too long does not. */
bool path_matches_list(const struct segment *segment, struct settings_text list, const char *path);

/* path_is_recorded(): does an access go to the journal, by [journal] level and exclude?  writes: it
 * may change something.  path: absolute, normalized; NULL: not known, then it does unless the level
 * says otherwise. */
bool path_is_recorded(const struct segment *segment, bool writes, const char *path);

/* path_relative(): the part below the workspace's root, or the path itself when it is not below
 * it. */
const char *path_relative(const struct segment *segment, const char *path);

/* path_key(): the key of a file's path in the tables: XXH3-64, of the path folded to lower ASCII
 * case where the configuration says so; never 0. */
uint64_t path_key(const struct segment *segment, const char *path);

#endif
