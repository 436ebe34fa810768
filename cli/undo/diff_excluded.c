/* Directories below which nothing is kept: see diff_excluded.h. */
#include "cli/undo/diff_excluded.h"

#include <string.h>

#include "cli/base/argument.h"

static bool is_meant(const char *path, const struct diff_filter *filter)
{
	char *const *meant = filter->paths;

	for (; meant && *meant; meant++)
		if (argument_is_below(path, *meant) || argument_is_below(*meant, path))
			return true;
	return !meant;
}

static bool is_listed(const struct diff_set *set, const char *path)
{
	for (size_t i = 0; i < set->omitted_count; i++)
		if (set->omitted[i].why == DIFF_EXCLUDED && strcmp(set->omitted[i].path, path) == 0)
			return true;
	return false;
}

int diff_excluded_add(const struct tree_records *records, size_t first, size_t end,
		      const struct diff_filter *filter,
		      bool (*wants)(const struct tree_record *record, const void *data),
		      const void *data, struct diff_set *set)
{
	size_t length = strlen(filter->workspace);
	int error = 0;

	for (size_t i = first; i < end && error == 0; i++) {
		const struct tree_record *record = &records->records[i];
		const char *below = record->path + length + 1;
		if (record->kind != PACK_EXCLUDED || record->operation ||
		    !argument_is_below(record->path, filter->workspace) || !record->path[length] ||
		    !is_meant(record->path, filter) || (wants && !wants(record, data)) ||
		    is_listed(set, below))
			continue;
		error = diff_set_omit(set, DIFF_EXCLUDED, below,
				      "nothing is kept below it, since it can be made again");
	}
	return error;
}
