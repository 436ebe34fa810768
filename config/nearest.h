/*
 * The nearest name to a misspelt word, for "did you mean".
 */
#ifndef SEEN_CONFIG_NEAREST_H
#define SEEN_CONFIG_NEAREST_H

#include <stddef.h>

enum { NEAREST_WORD_BYTES_MAX = 64 }; /* longer words are near to nothing */

/* nearest_distance(): how many single-character edits lie between two words: insertions, deletions,
 * replacements and swaps of neighbours (Damerau-Levenshtein, restricted: no substring is edited
 * twice; Boytsov 2011, section 2.2.1).
 *
 * a, b: NUL-terminated, compared byte by byte.  Returns the count, or NEAREST_WORD_BYTES_MAX when
 * one of them is longer than that.  Async-signal-safe, allocates nothing.
 */
size_t nearest_distance(const char *a, const char *b);

/* nearest_name(): the name that a misspelt word most likely meant.
 *
 * word: what was written.  names: `count` candidates, NULL entries are skipped.  Returns one of
 * them (borrowed; the first of equally near ones), or NULL when none is near enough to be worth
 * suggesting: one edit for words up to five bytes, else one for each three bytes.
 */
const char *nearest_name(const char *word, const char *const *names, size_t count);

#endif
