/* Contents of an entry: see diff_pair.h. */
#include "cli/undo/diff_pair.h"

#include <stdlib.h>

enum { FILE_BYTES_MAX = 1 << 29 };

int diff_pair_read(const struct tree_records *records, const struct diff_file *file,
		   struct diff_pair *ret_pair)
{
	const struct tree_entry *entries[] = { file->old, file->new };
	struct patch_side sides[2] = { { .path = file->old_path }, { .path = file->new_path } };
	int error = 0;

	*ret_pair = (struct diff_pair){ .bytes = { NULL, NULL } };
	for (int i = 0; i < 2 && error == 0; i++) {
		if (!entries[i])
			continue;
		sides[i].mode = entries[i]->mode;
		error = tree_entry_read(records, entries[i], FILE_BYTES_MAX, &ret_pair->bytes[i],
					&sides[i].size);
		sides[i].bytes = ret_pair->bytes[i];
	}
	return error < 0 ? error : patch_pair_make(&sides[0], &sides[1], &ret_pair->pair);
}

void diff_pair_free(struct diff_pair *pair)
{
	patch_pair_free(&pair->pair);
	free(pair->bytes[0]);
	free(pair->bytes[1]);
	*pair = (struct diff_pair){ .bytes = { NULL, NULL } };
}
