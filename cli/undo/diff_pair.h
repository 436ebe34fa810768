/* The two contents of an entry of a patch. */
#ifndef SEEN_CLI_DIFF_PAIR_H
#define SEEN_CLI_DIFF_PAIR_H

#include "cli/undo/diff_set.h"

/* Both contents of a file, and what differs. */
struct diff_pair {
	char *bytes[2];
	struct patch_pair pair;
};

/* diff_pair_read(): reads and compares them.  ret_pair: diff_pair_free() it in any case.
 *
 * Returns 0; -ENOMEM; -EFBIG; as tree_entry_read(). */
int diff_pair_read(const struct tree_records *records, const struct diff_file *file,
		   struct diff_pair *ret_pair);
void diff_pair_free(struct diff_pair *pair);

#endif
