/* Directories below which nothing is kept, since it can be made again: in a diff's omissions. */
#ifndef SEEN_CLI_DIFF_EXCLUDED_H
#define SEEN_CLI_DIFF_EXCLUDED_H

#include "cli/undo/diff_set.h"
#include "cli/undo/tree_record.h"

/* diff_excluded_add(): adds each such directory once, that records from `first` on name, up to
 * `end`, which is not among them.
 *
 * wants: asked of each record; NULL: all.  Returns 0 or -ENOMEM. */
int diff_excluded_add(const struct tree_records *records, size_t first, size_t end,
		      const struct diff_filter *filter,
		      bool (*wants)(const struct tree_record *record, const void *data),
		      const void *data, struct diff_set *set);

#endif
