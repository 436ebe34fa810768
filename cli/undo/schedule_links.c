/* Hard links in the plan of an undo: see schedule_links.h. */
#include "cli/undo/schedule_links.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/schedule_judge.h"

int making_add_name(struct making *making, const char *path, const struct tree_entry *wanted,
		    size_t item)
{
	struct schedule_names *names = &making->names;

	if ((names->count & (names->count - 1)) == 0) {
		size_t capacity = names->count ? 2 * names->count : 1;
		struct schedule_name *grown = reallocarray(names->names, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		names->names = grown;
	}
	names->names[names->count++] = (struct schedule_name){ path, wanted, item };
	return 0;
}

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

	if (change && making->fates[change - making->changes->changes] == FATE_OPEN)
		return false;
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

/* The file of that number in the workspace, where it has the content that is wanted. */
static int link_found(struct making *making, const struct schedule_name *names, size_t count,
		      const FTSENT *entry)
{
	struct schedule_name key = { .wanted = &(
					     struct tree_entry){ .dev = entry->fts_statp->st_dev,
								 .ino = entry->fts_statp->st_ino },
				     .path = "" };
	char path[PACK_PATH_BYTES_MAX + 1];

	for (size_t i = 0, same; i < count; i += same) {
		for (same = 1; i + same < count && is_same_inode(&names[i], &names[i + same]);
		     same++)
			;
		if (!is_same_inode(&names[i], &key) || holder(&names[i], same) ||
		    !making_has_content(making, names[i].wanted, entry->fts_path))
			continue;
		if (!final_path(making, entry->fts_path, path, sizeof(path)))
			continue; /* it will not be there */
		return link_group(making, &names[i], same, path);
	}
	return 0;
}

static int search(struct making *making, const struct schedule_name *names, size_t count)
{
	char root[PACK_PATH_BYTES_MAX + 1];
	char *roots[] = { root, NULL };
	int error = 0;

	if (strlen(making->options->workspace) >= sizeof(root))
		return 0;
	strcpy(root, making->options->workspace);
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *entry; fts && error == 0 && (entry = fts_read(fts));)
		if (entry->fts_info == FTS_F && entry->fts_statp->st_nlink > 0)
			error = link_found(making, names, count, entry);
	if (fts)
		(void)fts_close(fts);
	return error;
}

int making_link(struct making *making)
{
	struct schedule_names *list = &making->names;
	bool searched = false;
	int error = 0;

	if (list->count)
		qsort(list->names, list->count, sizeof(*list->names), by_inode);
	for (size_t i = 0, same; i < list->count && error == 0; i += same) {
		const struct schedule_name *names = &list->names[i];
		for (same = 1; i + same < list->count && is_same_inode(names, &names[same]); same++)
			;
		const struct schedule_name *held = holder(names, same);
		searched = searched || (!held && names->wanted->nlink > same);
		error = link_group(making, names, same, held ? held->path : names->path);
	}
	/* Last: it has the better answer. */
	return error || !searched ? error : search(making, list->names, list->count);
}
