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

/* What is behind the names of the file whose names begin at `first`. */
static const struct making_shared *behind_names(const struct making *making,
						const struct making_shared *first)
{
	const struct making_shared *end = making->shared + making->shared_count, *at = first;

	while (at < end && by_inode(first, at) == 0)
		at++;
	return at;
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

static bool spread_group(const struct making_shared *first, const struct making_shared *end)
{
	bool spreads = false;

	for (const struct making_shared *one = first; one < end; one++)
		for (const struct making_shared *left = first;
		     *one->fate == FATE_OPEN && left < end; left++)
			if (goes_with(one, left)) {
				*one->fate = *left->fate;
				spreads = true;
			}
	return spreads;
}

bool making_shared_spread(struct making *making)
{
	const struct making_shared *end = making->shared + making->shared_count, *next;
	bool spreads = false;

	for (const struct making_shared *first = making->shared; first < end; first = next) {
		next = behind_names(making, first);
		spreads = spread_group(first, next) || spreads;
	}
	return spreads;
}

bool making_shared_left(const struct making *making, const struct tree_entry *found)
{
	const struct tree_change wanted = { .after = *found };
	const struct making_shared key = { .change = &wanted };
	const struct making_shared *at = bsearch(&key, making->shared, making->shared_count,
						 sizeof(key), by_inode);

	if (!at)
		return false;
	while (at > making->shared && by_inode(at - 1, &key) == 0)
		at--;
	const struct making_shared *end = behind_names(making, at);
	while (at < end && !is_left(at))
		at++;
	return at < end;
}
