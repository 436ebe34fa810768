/* Files that are gone and files that were made whose contents are alike count as renamed. */
#ifndef SEEN_CLI_DIFF_SIMILAR_H
#define SEEN_CLI_DIFF_SIMILAR_H

#include "cli/undo/diff_set.h"

/* diff_similar(): joins entries of a set: a removed and a made one with the same bytes, else those
 * that share at least half of the larger text, the most alike first, as git's -M.
 *
 * Where there are many of both, only the same bytes are looked for.  Returns 0 or -ENOMEM. */
int diff_similar(const struct tree_records *records, struct diff_set *set);

#endif
