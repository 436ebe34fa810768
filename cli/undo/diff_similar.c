/* Renames by content: see diff_similar.h. */
#include "cli/undo/diff_similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/diff_pair.h"

enum {
	COMPARED_BYTES_MAX = 1 << 24,
	TEXT_BYTES_MAX = 1 << 20, /* of texts that are compared by lines */
	PAIRS_MAX = 400,          /* likewise */
	SIMILAR = 50,             /* percent */
};

/* An entry whose other side another one took is dropped. */
static void drop_joined(struct diff_set *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++)
		if (set->files[i].new_path)
			set->files[kept++] = set->files[i];
	set->count = kept;
}

static void join(struct diff_file *gone, struct diff_file *made)
{
	made->old = gone->old;
	made->old_path = gone->old_path;
	gone->new_path = NULL;
}

/* ---- the same bytes ---- */

static bool is_same_content(const struct tree_records *records, const struct tree_entry *a,
			    const struct tree_entry *b)
{
	char *one = NULL, *other = NULL;
	size_t one_size, other_size;
	bool is_same = false;

	if (a->size_bytes != b->size_bytes || !a->size_bytes ||
	    (a->mode & S_IFMT) != (b->mode & S_IFMT))
		return false;
	if (!version_is_none(&a->version) && !version_is_none(&b->version))
		return version_equal(&a->version, &b->version);
	if (a->size_bytes > COMPARED_BYTES_MAX)
		return false;
	if (tree_entry_read(records, a, COMPARED_BYTES_MAX, &one, &one_size) == 0 &&
	    tree_entry_read(records, b, COMPARED_BYTES_MAX, &other, &other_size) == 0)
		is_same = one_size == other_size && memcmp(one, other, one_size) == 0;
	free(one);
	free(other);
	return is_same;
}

static int by_size(const void *a, const void *b)
{
	const struct diff_file *left = *(const struct diff_file *const *)a;
	const struct diff_file *right = *(const struct diff_file *const *)b;

	if (left->old->size_bytes != right->old->size_bytes)
		return left->old->size_bytes < right->old->size_bytes ? -1 : 1;
	return strcmp(left->old_path, right->old_path);
}

/* What was made with the bytes of something that is gone counts as renamed, too (cp and rm). */
static int find_same(const struct tree_records *records, struct diff_set *set)
{
	enum { SAME_SIZE_MAX = 16 };
	struct diff_file **gone = calloc(set->count + 1, sizeof(struct diff_file *));
	size_t count = 0;

	if (!gone)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++)
		if (!set->files[i].new &&S_ISREG(set->files[i].old->mode))
			gone[count++] = &set->files[i];
	qsort(gone, count, sizeof(struct diff_file *), by_size);
	for (size_t i = 0; i < set->count; i++) {
		struct diff_file *made = &set->files[i];
		size_t low = 0, high = count;
		if (made->old || !made->new)
			continue;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (gone[middle]->old->size_bytes < made->new->size_bytes)
				low = middle + 1;
			else
				high = middle;
		}
		for (high = low + SAME_SIZE_MAX; low < count && low < high; low++) {
			if (!gone[low]->old || !is_same_content(records, gone[low]->old, made->new))
				continue;
			join(gone[low], made);
			memmove(&gone[low], &gone[low + 1], (--count - low) * sizeof(*gone));
			break;
		}
	}
	free(gone);
	drop_joined(set);
	return 0;
}

/* ---- alike ---- */

/* A removed and a made entry. */
struct likeness {
	struct diff_file *gone, *made;
	unsigned percent;
};

static bool may_be_alike(const struct tree_entry *gone, const struct tree_entry *made)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the caller has both */
	uint64_t less = gone->size_bytes, more = made->size_bytes;

	if (less > more) {
		less = made->size_bytes;
		more = gone->size_bytes;
	}
	return S_ISREG(gone->mode) && S_ISREG(made->mode) && less && more <= TEXT_BYTES_MAX &&
	       less * 100 >= more * SIMILAR;
}

static int most_alike_first(const void *a, const void *b)
{
	const struct likeness *left = a, *right = b;

	if (left->percent != right->percent)
		return left->percent > right->percent ? -1 : 1;
	int order = strcmp(left->made->new_path, right->made->new_path);
	return order ? order : strcmp(left->gone->old_path, right->gone->old_path);
}

/* How alike two sides are, in percent; below 0: -ENOMEM.  A content that cannot be had is like
 * none. */
static int compare(const struct tree_records *records, const struct diff_file *gone,
		   const struct diff_file *made)
{
	const struct diff_file both = { .old_path = gone->old_path,
					.new_path = made->new_path,
					.old = gone->old,
					.new = made->new };
	struct diff_pair pair;
	int error = diff_pair_read(records, &both, &pair);
	int percent = error == 0 && !pair.pair.is_binary ? (int)pair.pair.similarity : 0;

	diff_pair_free(&pair);
	return error == -ENOMEM ? error : percent;
}

static int find_alike(const struct tree_records *records, struct diff_set *set)
{
	struct likeness *pairs = calloc(PAIRS_MAX, sizeof(*pairs));
	size_t count = 0, found = 0;
	int percent = 0;

	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++)
		for (size_t j = 0; !set->files[i].new &&j < set->count &&count <= PAIRS_MAX; j++)
			if (!set->files[j].old &&
			    may_be_alike(set->files[i].old, set->files[j].new) &&
			    count++ < PAIRS_MAX)
				pairs[count - 1] = (struct likeness){ &set->files[i],
								      &set->files[j], 0 };
	for (size_t i = 0; i < count && count <= PAIRS_MAX && percent >= 0; i++) {
		percent = compare(records, pairs[i].gone, pairs[i].made);
		pairs[i].percent = percent > 0 ? (unsigned)percent : 0;
		if (percent >= SIMILAR)
			pairs[found++] = pairs[i];
	}
	if (found)
		qsort(pairs, found, sizeof(*pairs), most_alike_first);
	for (size_t i = 0; i < found && percent >= 0; i++)
		if (pairs[i].gone->new_path && !pairs[i].made->old)
			join(pairs[i].gone, pairs[i].made);
	free(pairs);
	drop_joined(set);
	return percent < 0 ? percent : 0;
}

int diff_similar(const struct tree_records *records, struct diff_set *set)
{
	int error = find_same(records, set);
	return error < 0 ? error : find_alike(records, set);
}
