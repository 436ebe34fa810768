/* Files that have several names now: see schedule_shared.h. */
#include "cli/undo/schedule_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static int by_inode(const void *a, const void *b)
{
	const struct tree_entry *one = &((const struct making_shared *)a)->change->after;
	const struct tree_entry *two = &((const struct making_shared *)b)->change->after;

	return one->dev != two->dev ? (one->dev < two->dev ? -1 : 1)
				    : (one->ino > two->ino) - (one->ino < two->ino);
}

static bool is_shared(const struct tree_change *change)
{
	return change->after.exists && S_ISREG(change->after.mode) && change->after.nlink > 1;
}

int making_shared_read(struct making *making)
{
	const struct tree_changes *changes = making->changes;
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++)
		count += is_shared(&changes->changes[i]);
	making->shared = calloc(count + 1, sizeof(*making->shared));
	if (!making->shared)
		return -ENOMEM;
	for (size_t i = 0; i < changes->count; i++)
		if (is_shared(&changes->changes[i]))
			making->shared[making->shared_count++] = (struct making_shared){
				&changes->changes[i], &making->fates[i]
			};
	qsort(making->shared, count, sizeof(*making->shared), by_inode);
	return 0;
}

/* The names of one file, from the first on. */
struct group {
	const struct making_shared *first;
	size_t count;
};

static struct group group_at(const struct making *making, size_t first)
{
	const struct making_shared *at = &making->shared[first];
	size_t count = 1;

	while (first + count < making->shared_count && by_inode(at, at + count) == 0)
		count++;
	return (struct group){ at, count };
}

static bool is_left(const struct making_shared *one)
{
	return *one->fate >= FATE_LEFT;
}

/* Is it left where another name of its file is?  They were names of one file before, too: of this one, or of another
 * that the range wrote anew. */
static bool goes_with(const struct making_shared *one, const struct making_shared *left)
{
	const struct tree_change *change = one->change;

	return is_left(left) && (tree_entry_is_same_inode(&change->before, &change->after) ||
				 tree_entry_is_same_inode(&change->before, &left->change->before));
}

static bool spread_group(const struct group *group)
{
	bool spreads = false;

	for (size_t i = 0; i < group->count; i++) {
		const struct making_shared *one = &group->first[i], *left = group->first;
		while (*one->fate == FATE_OPEN && left < group->first + group->count) {
			if (goes_with(one, left)) {
				*one->fate = *left->fate;
				spreads = true;
			}
			left++;
		}
	}
	return spreads;
}

bool making_shared_spread(struct making *making)
{
	bool spreads = false;

	for (size_t i = 0; i < making->shared_count;) {
		struct group group = group_at(making, i);
		spreads = spread_group(&group) || spreads;
		i += group.count;
	}
	return spreads;
}

bool making_shared_left(const struct making *making, const struct tree_entry *found)
{
	const struct tree_change wanted = { .after = *found };
	const struct making_shared key = { .change = &wanted };
	const struct making_shared *any = bsearch(&key, making->shared, making->shared_count,
						  sizeof(key), by_inode);
	size_t first = any ? (size_t)(any - making->shared) : 0;

	while (first > 0 && any && by_inode(&making->shared[first - 1], &key) == 0)
		first--;
	for (size_t i = first; any && i < making->shared_count; i++) {
		if (by_inode(&making->shared[i], &key) != 0)
			break;
		if (is_left(&making->shared[i]))
			return true;
	}
	return false;
}
