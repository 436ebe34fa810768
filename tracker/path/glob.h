/*
 * Globs over paths, as [paths] and rules have them.  Pure functions of text: no state, no system
 * call, async-signal-safe.
 */
#ifndef SEEN_TRACKER_GLOB_H
#define SEEN_TRACKER_GLOB_H

#include <stdbool.h>
#include <stdint.h>

/* path_glob(): does a shell pattern match a whole text?
 *
 * `*` any bytes but `/`, `**` any bytes, `?` one byte but `/`, `[...]` a set (`!` or `^` negates,
 * ranges), `\` takes the next byte as it is.  fold: ASCII letters match in either case.  Time is
 * bounded by length of pattern times length of text for one star, and by a fixed budget in all:
 * beyond that the answer is no. */
bool path_glob(const char *pattern, const char *text, bool fold);

/* path_matches_glob(): does a glob match a path below a directory, as the globs of [paths] do?
 *
 * relative: what follows the directory's slash.  A pattern that begins with a slash is held against
 * all of it, any other one also against what follows each of its slashes.  One that matches a
 * directory's name matches all below it.  Time and `fold` as path_glob(). */
bool path_matches_glob(const char *pattern, const char *relative, bool fold);

/* path_covers(): does a glob match a whole path, or that of a directory above it?  Time and `fold`
 * as path_glob(). */
bool path_covers(const char *pattern, const char *path, bool fold);

/* glob_folded(): a byte in lower ASCII case, where `fold` says that case does not count. */
static inline unsigned char glob_folded(char byte, bool fold)
{
	return (unsigned char)(fold && byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
}

/* What a list of globs is matched by, one after the other. */

/* glob_covers(): path_covers(), where a pattern that takes too long counts as `undecided`. */
bool glob_covers(const char *pattern, const char *text, bool fold, bool undecided);

/* glob_matches_at_any_depth(): path_matches_glob(), likewise.
 *
 * A pattern that begins with a slash is held against the whole relative path, every other one also
 * against what follows each slash: it matches at any depth.  A pattern for a directory's name
 * covers what is below it. */
bool glob_matches_at_any_depth(const char *pattern, const char *relative, bool fold,
			       bool undecided);

#endif
