/* Mount points made by names of another root: see step_mounts.h. */
#include "cli/undo/step_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/journal/event_filter.h"
#include "tracker/path/path.h"

static uint64_t name_of(const char *path)
{
	const char *base = path_base(path);

	return XXH3_64bits(base, strlen(base));
}

/* A directory, or a file that a sandbox makes in its root to be. */
static bool is_made(const struct event *event)
{
	uint32_t flags = event->entry->record.flags;

	if (event->error || !event->resolved)
		return false;
	return event->op == JOURNAL_CREATE ? S_ISDIR(flags)
					   : event->op == JOURNAL_OPEN && (flags & O_CREAT) &&
						     event_path_in_new_root(event->resolved);
}

int step_mounts_add(struct step_mounts *mounts, const struct event *event, uint32_t row)
{
	/* what lies in the workspace has a source */
	if (event->source != SOURCE_NONE || !is_made(event))
		return 0;
	if (mounts->count == mounts->capacity) {
		size_t wanted = mounts->capacity ? mounts->capacity * 2 : 64;
		struct step_mount *more = reallocarray(mounts->made, wanted, sizeof(*more));
		if (!more)
			return -ENOMEM;
		mounts->made = more;
		mounts->capacity = wanted;
	}
	mounts->made[mounts->count++] = (struct step_mount){ name_of(event->resolved),
							     event->time_realtime_ns, row };
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct step_mount *left = a, *right = b;

	return (left->name > right->name) - (left->name < right->name);
}

void step_mounts_sort(struct step_mounts *mounts)
{
	if (mounts->count)
		qsort(mounts->made, mounts->count, sizeof(*mounts->made), by_name);
}

void step_mounts_free(struct step_mounts *mounts)
{
	free(mounts->made);
	*mounts = (struct step_mounts){ .made = NULL };
}

const struct step_mount *step_mounts_find(const struct step_mounts *mounts, const char *path,
					  size_t *ret_count)
{
	const uint64_t name = name_of(path);
	size_t low = 0, high = mounts->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (mounts->made[middle].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < mounts->count && mounts->made[high].name == name;)
		high++;
	*ret_count = high - low;
	return mounts->made + low;
}
