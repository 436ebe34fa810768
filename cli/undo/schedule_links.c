/* Hard links in the plan of an undo: see schedule_links.h. */
#include "cli/undo/schedule_links.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/argument.h"
#include "cli/undo/schedule_adjust.h"
#include "cli/undo/schedule_find.h"
#include "cli/undo/schedule_shared.h"
#include "cli/undo/tree_walk.h"
#include "tracker/content/pack_name.h"

static int by_inode(const void *a, const void *b)
{
	const struct schedule_name *left = a, *right = b;

	if (left->wanted->dev != right->wanted->dev)
		return left->wanted->dev < right->wanted->dev ? -1 : 1;
	if (left->wanted->ino != right->wanted->ino)
		return left->wanted->ino < right->wanted->ino ? -1 : 1;
	return strcmp(left->path, right->path);
}

static bool is_same_inode(const struct schedule_name *a, const struct schedule_name *b)
{
	return a->wanted->dev == b->wanted->dev && a->wanted->ino == b->wanted->ino;
}

/* The first name of a group that is this inode already; NULL: none is. */
static const struct schedule_name *holder(const struct schedule_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].item == SCHEDULE_NAME_HOLDS)
			return &names[i];
	return NULL;
}

/* Makes the names of a group links of `path`, but for the one that is made there. */
static int link_group(struct making *making, const struct schedule_name *names, size_t count,
		      const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i].item == SCHEDULE_NAME_HOLDS || strcmp(names[i].path, path) == 0)
			continue;
		uint64_t other = schedule_add_text(making->plan, path);
		struct schedule_item *item = &making->plan->items[names[i].item];
		if (!other)
			return -ENOMEM;
		bool is_new = item->kind == SCHEDULE_PUT || item->kind == SCHEDULE_LINK;
		item->kind = is_new ? SCHEDULE_LINK : SCHEDULE_RELINK;
		item->other = other;
	}
	return 0;
}

/* ---- names that no record is about ---- */

/* Where a file that no record is about is when the plan is done. */
static bool final_path(const struct making *making, const char *path, char *ret_path,
		       size_t capacity)
{
	const struct tree_change *change = making_find(making, path);

	if (change && making->fates[change - making->changes->changes] == FATE_OPEN) {
		/* what has the name now went along with a directory, and goes back with it: to a name that no
		 * record is about */
		bool moves = change->after.exists && change->moved_from &&
			     !making_find(making, change->moved_from);
		return moves &&
		       snprintf(ret_path, capacity, "%s", change->moved_from) < (int)capacity;
	}
	if (snprintf(ret_path, capacity, "%s", path) >= (int)capacity)
		return false;
	for (char *slash; (slash = strrchr(ret_path, '/')) && slash != ret_path;) {
		*slash = '\0';
		const struct tree_change *above = making_find(making, ret_path);
		if (!above || !above->moved_from)
			continue;
		size_t length = strlen(ret_path);
		bool open = making->fates[above - making->changes->changes] == FATE_OPEN;
		return snprintf(ret_path, capacity, "%s%s", open ? above->moved_from : above->path,
				path + length) < (int)capacity;
	}
	return snprintf(ret_path, capacity, "%s", path) < (int)capacity;
}

/* What a name should be whose file is one of those that lost names; NULL: it is none of them. */
static const struct tree_entry *wanted_of(const struct tree_entry *const *wanted, size_t count,
					  const struct stat *stat)
{
	size_t first = 0;

	while (count) {
		const struct tree_entry *middle = wanted[first + count / 2];
		if (middle->dev == stat->st_dev && middle->ino == stat->st_ino)
			return middle;
		bool is_behind = middle->dev != stat->st_dev ? middle->dev < stat->st_dev
							     : middle->ino < stat->st_ino;
		first += is_behind ? count / 2 + 1 : 0;
		count = is_behind ? count - count / 2 - 1 : count / 2;
	}
	return NULL;
}

/* Was it judged already that it is left as it is? */
static bool is_judged_left(const struct making *making, const char *path)
{
	const struct tree_change *change = making_find(making, path);

	return change && making->fates[change - making->changes->changes] >= FATE_LEFT;
}

/* A name keeps what it is, and what comes back is a file of its own: that is listed. */
static int note_left(struct making *making, const char *path, const struct tree_entry *wanted,
		     const struct tree_entry *found, enum schedule_reason reason)
{
	struct schedule_report *report = making->report;

	if (!wanted->creation_ns || found->creation_ns != wanted->creation_ns)
		return 0; /* its number may have been another file's */
	const char *name = tree_memory_text(making->changes->walk->memory, path, strlen(path));
	struct schedule_left *more = reallocarray(report->left, report->left_count + 1,
						  sizeof(*more));
	if (more)
		report->left = more;
	if (!more || !name)
		return -ENOMEM;
	more[report->left_count++] = (struct schedule_left){ .path = name, .reason = reason };
	return 0;
}

/* A name that no record is about, of a file that is wanted: it becomes what it was, and the others links
 * to it.  What an external program, or a later step, changed is left. */
static int add_found(struct making *making, const char *path, const struct tree_entry *wanted)
{
	struct schedule_names *names = &making->names;
	char final[PACK_PATH_BYTES_MAX + 1];
	struct tree_entry found;
	size_t count = names->count;
	enum tree_left left;
	bool conflict;

	if (is_judged_left(making, path) || !final_path(making, path, final, sizeof(final)))
		return 0; /* or it will not be there */
	int error = tree_changes_disk(making->changes, path, wanted->ctime_ns, &found, &left,
				      &conflict);
	if (error < 0 || !found.exists)
		return error;
	const char *name = tree_memory_text(making->changes->walk->memory, final, strlen(final));
	if (!name)
		return -ENOMEM;
	conflict = (conflict && !making->options->force) || making_shared_left(making, &found);
	if (left == TREE_AS_LEFT && !conflict)
		error = making_adjust(making, name, wanted, &found, path);
	else if (found.mtime_ns != wanted->mtime_ns || !making_has_content(making, wanted, path))
		return note_left(making, path, wanted, &found,
				 left == TREE_AS_LEFT         ? SCHEDULE_CONFLICT
				 : left == TREE_OWNER_DIFFERS ? SCHEDULE_OWNER
							      : SCHEDULE_EXTERNAL);
	return error || names->count > count
		       ? error
		       : making_add_name(making, name, wanted, SCHEDULE_NAME_HOLDS);
}

static int search_below(struct making *making, const struct tree_entry *const *wanted, size_t count,
			const char *directory)
{
	char root[PACK_PATH_BYTES_MAX + 1];
	char *roots[] = { root, NULL };
	uint32_t part;
	int error = 0;

	if (strlen(directory) >= sizeof(root))
		return 0;
	strcpy(root, directory);
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *entry; fts && error == 0 && (entry = fts_read(fts));) {
		const struct tree_entry *one = entry->fts_info == FTS_F &&
							       entry->fts_statp->st_nlink > 0
						       ? wanted_of(wanted, count, entry->fts_statp)
						       : NULL;
		if (one)
			error = add_found(making, entry->fts_path, one);
		else if (entry->fts_info == FTS_D && pack_is_files_name(entry->fts_name, &part))
			/* a store may have links to the very file: a home directory has it below it */
			(void)fts_set(fts, entry, FTS_SKIP);
	}
	if (fts)
		(void)fts_close(fts);
	return error;
}

static int rank_of(unsigned char byte)
{
	return byte == '/' ? 1 : byte ? byte + 1 : 0;
}

/* What is below a directory follows it at once. */
static int by_directory(const void *a, const void *b)
{
	const char *left = *(const char *const *)a, *right = *(const char *const *)b;

	while (*left && *left == *right) {
		left++;
		right++;
	}
	return rank_of((unsigned char)*left) - rank_of((unsigned char)*right);
}

/* In the workspace, and where the session moved things out of it to. */
static int search(struct making *making, const struct tree_entry *const *wanted, size_t count)
{
	const struct tree_records *records = making->records;
	const char **roots = calloc(records->count + 1, sizeof(*roots)), *last = NULL;
	size_t root_count = 0;
	int error = 0;

	if (!roots)
		return -ENOMEM;
	roots[root_count++] = making->options->workspace;
	for (size_t i = 0; i < records->count; i++)
		if (records->records[i].flags & PACK_OTHER_EXTERNAL)
			roots[root_count++] = records->records[i].other;
	qsort(roots, root_count, sizeof(*roots), by_directory);
	for (size_t i = 0; i < root_count && error == 0; i++) {
		if (last && argument_is_below(roots[i], last))
			continue;
		last = roots[i];
		error = search_below(making, wanted, count, last);
	}
	free(roots);
	return error;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct schedule_left *)a)->path,
		      ((const struct schedule_left *)b)->path);
}

/* How many names from the first on are of one inode. */
static size_t group_size(const struct schedule_names *list, size_t first)
{
	size_t count = 1;

	while (first + count < list->count &&
	       is_same_inode(&list->names[first], &list->names[first + count]))
		count++;
	return count;
}

/* Files that have other names than those the records are about: they may be on disk. */
static int search_others(struct making *making)
{
	const struct schedule_names *list = &making->names;
	const struct tree_entry **wanted = calloc(list->count + 1, sizeof(*wanted));
	size_t count = 0;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0, same; i < list->count; i += same) {
		same = group_size(list, i);
		if (!holder(&list->names[i], same) && list->names[i].wanted->nlink > same)
			wanted[count++] = list->names[i].wanted;
	}
	int error = count ? search(making, wanted, count) : 0;
	if (making->report->left_count)
		qsort(making->report->left, making->report->left_count,
		      sizeof(*making->report->left), by_path);
	free(wanted);
	return error;
}

int making_link(struct making *making)
{
	struct schedule_names *list = &making->names;

	if (!list->count)
		return 0;
	qsort(list->names, list->count, sizeof(*list->names), by_inode);
	int error = search_others(making);
	qsort(list->names, list->count, sizeof(*list->names), by_inode);
	for (size_t i = 0, same; i < list->count && error == 0; i += same) {
		const struct schedule_name *names = &list->names[i];
		same = group_size(list, i);
		const struct schedule_name *held = holder(names, same);
		error = link_group(making, names, same, held ? held->path : names->path);
	}
	return error;
}
