/*
 * What need not be kept for undo again before the next boundary (pack.h): a file whose content was kept
 * since the last one, or that was made since.
 *
 * A table of words in the segment; a word that another one took the place of means that something is kept
 * once more, never that it is not.  Lock-free, async-signal-safe, no system call.
 */
#ifndef SEEN_TRACKER_KEPT_H
#define SEEN_TRACKER_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/content/pack.h"
#include "tracker/segment/segment.h"

/* kept_key(): of a file, by inode and creation: numbers are given anew.  kept_key_of_path(): of a directory below
 * which nothing is kept.  Never 0. */
uint64_t kept_key(const struct pack_state *state);
uint64_t kept_key_of_path(const char *path, size_t length);

/* kept_is_noted(): since the last boundary?  kept_note(): from now on. */
bool kept_is_noted(const struct segment *segment, uint64_t key);
void kept_note(const struct segment *segment, uint64_t key);

#endif
