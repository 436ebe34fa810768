/* What a patch is made of: see diff_set.h. */
#include "cli/undo/diff_set.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/argument.h"
#include "cli/undo/diff_similar.h"
#include "cli/undo/git_path.h"
#include "tracker/content/pack.h"

/* The set in the making. */
struct making {
	const struct tree_changes *changes;
	const struct tree_records *records;
	const struct diff_filter *filter;
	struct diff_set *set;
	bool *used; /* by change: it is a side of a rename */
	mode_t mask;
};

/* ---- what it is made of ---- */

const char *diff_omission_name(enum diff_omission why)
{
	static const char *const NAMES[DIFF_OMISSION_COUNT] = {
		[DIFF_EMPTY_DIRECTORY_MADE] = "empty_directory_made",
		[DIFF_EMPTY_DIRECTORY_REMOVED] = "empty_directory_removed",
		[DIFF_DIRECTORY_EMPTIED] = "directory_emptied",
		[DIFF_MODE] = "mode",
		[DIFF_OWNER] = "owner",
		[DIFF_TIMES] = "times",
		[DIFF_ATTRIBUTES] = "attributes",
		[DIFF_HARD_LINK] = "hard_link",
		[DIFF_SPECIAL] = "special",
		[DIFF_GIT] = "git",
		[DIFF_UNKNOWN] = "unknown",
		[DIFF_EXCLUDED] = "excluded",
	};
	return NAMES[why];
}

/* The path below the workspace; NULL: it does not lie there. */
static const char *below(const struct making *making, const char *path)
{
	size_t length = strlen(making->filter->workspace);

	if (strncmp(path, making->filter->workspace, length) != 0 || path[length] != '/')
		return length == 1 ? path + 1 : NULL;
	return path + length + 1;
}

int diff_set_omit(struct diff_set *set, enum diff_omission why, const char *path,
		  const char *format, ...)
{
	va_list list;
	char *text = NULL;
	struct diff_omitted *more = set->omitted;

	if ((set->omitted_count & (set->omitted_count - 1)) == 0) {
		size_t wanted = set->omitted_count ? 2 * set->omitted_count : 1;
		more = reallocarray(set->omitted, wanted, sizeof(*more));
		if (!more)
			return -ENOMEM;
		set->omitted = more;
	}
	va_start(list, format);
	int length = vasprintf(&text, format, list);
	va_end(list);
	char *copy = strdup(path);
	if (length < 0 || !copy) {
		free(length < 0 ? NULL : text);
		free(copy);
		return -ENOMEM;
	}
	more[set->omitted_count++] = (struct diff_omitted){ why, copy, text };
	/* cppcheck-suppress memleak ; the set has the copy now */
	return 0;
}

static int add_file(struct making *making, const struct tree_change *change, const char *old_path,
		    const struct tree_entry *old, const char *new_path,
		    const struct tree_entry *new)
{
	struct diff_set *set = making->set;
	struct diff_file *more = set->files;

	if ((set->count & (set->count - 1)) == 0) {
		size_t wanted = set->count ? 2 * set->count : 1;
		more = reallocarray(set->files, wanted, sizeof(*more));
		if (!more)
			return -ENOMEM;
		set->files = more;
	}
	more[set->count++] = (struct diff_file){
		.old_path = old_path, .new_path = new_path, .old = old, .new = new, .change = change
	};
	return 0;
}

static bool is_file(const struct tree_entry *entry)
{
	return entry->known && entry->exists && patch_mode(entry->mode);
}

static bool is_directory(const struct tree_entry *entry)
{
	return entry->known && entry->exists && S_ISDIR(entry->mode);
}

static bool is_wanted(const struct making *making, const struct tree_change *change)
{
	bool is_named = !making->filter->paths;

	/* as undo leaves them */
	if (git_path_objects(change->path) && !change->before.exists)
		return false;
	if (making->filter->wants && !making->filter->wants(change, making->filter->data))
		return false;
	for (char *const *path = making->filter->paths; path && *path && !is_named; path++)
		is_named = argument_is_below(change->path, *path) ||
			   (change->moved_from && argument_is_below(change->moved_from, *path)) ||
			   (change->moved_to && argument_is_below(change->moved_to, *path));
	return is_named;
}

/* ---- what a patch cannot carry ---- */

/* What the mode becomes where the patch is applied. */
static uint32_t applied_mode(const struct making *making, const struct tree_entry *old,
			     const struct tree_entry *new)
{
	uint32_t wanted = patch_mode(new->mode);

	if (old && patch_mode(old->mode) == wanted)
		return old->mode & 07777;
	return (wanted & 0111 ? 0777 : 0666) & ~making->mask;
}

static int omit_metadata(struct making *making, const struct tree_change *change, const char *path,
			 const struct tree_entry *old, const struct tree_entry *new)
{
	struct diff_set *set = making->set;
	uint32_t mode = new->mode & 07777;
	bool is_link = S_ISLNK(new->mode);
	int error = 0;

	if (!is_link && (S_ISDIR(new->mode) ? old && (old->mode & 07777) != mode
					    : applied_mode(making, old, new) != mode))
		error = diff_set_omit(set, DIFF_MODE, path, "mode %04o", mode);
	if (error == 0 && old && (old->uid != new->uid || old->gid != new->gid))
		error = diff_set_omit(set, DIFF_OWNER, path, "owner %u:%u, was %u:%u", new->uid,
				      new->gid, old->uid, old->gid);
	if (error == 0 && old && (change->metadata & 1U << PACK_TIMES) &&
	    old->mtime_ns != new->mtime_ns)
		error = diff_set_omit(set, DIFF_TIMES, path, "times");
	if (error == 0 && (change->metadata & (1U << PACK_ATTRIBUTE | 1U << PACK_NO_ATTRIBUTE)))
		error = diff_set_omit(set, DIFF_ATTRIBUTES, path, "extended attributes");
	if (error == 0 && !old && S_ISREG(new->mode) && new->nlink > 1)
		error = diff_set_omit(set, DIFF_HARD_LINK, path, "hard link, one of %u names",
				      new->nlink);
	return error;
}

/* Is there a file by any name below a directory, before or after? */
static bool has_files(const struct making *making, const char *directory, bool is_after)
{
	const struct tree_changes *changes = making->changes;
	size_t length = strlen(directory), low = 0, high = changes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(changes->changes[middle].path, directory) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < changes->count; low++) {
		const struct tree_change *change = &changes->changes[low];
		if (strncmp(change->path, directory, length) != 0)
			break;
		if (change->path[length] == '/' &&
		    is_file(is_after ? &change->after : &change->before))
			return true;
	}
	return false;
}

/* On disk. */
static bool is_without_files(const char *path, int depth)
{
	DIR *directory = opendir(path);
	bool is_empty = directory != NULL && depth < PATH_MAX / 2;
	struct dirent *entry;

	while (is_empty && (entry = readdir(directory))) {
		char inner[PATH_MAX];
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		is_empty = entry->d_type == DT_DIR &&
			   snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name) <
				   (int)sizeof(inner) &&
			   is_without_files(inner, depth + 1);
	}
	if (directory)
		(void)closedir(directory);
	return is_empty;
}

static int omit_directory(struct making *making, const struct tree_change *change, const char *path)
{
	bool before = is_directory(&change->before), after = is_directory(&change->after);
	bool is_open = making->filter->is_open;

	if (after && !before && !change->moved_from && !has_files(making, change->path, true) &&
	    (!is_open || is_without_files(change->path, 0)))
		return diff_set_omit(making->set, DIFF_EMPTY_DIRECTORY_MADE, path,
				     "empty directory, made");
	if (before && !after && !change->moved_to && !has_files(making, change->path, false))
		return diff_set_omit(making->set, DIFF_EMPTY_DIRECTORY_REMOVED, path,
				     "empty directory, removed");
	if (before && after && !change->moved_from)
		return omit_metadata(making, change, path, &change->before, &change->after);
	return 0;
}

/* The directory of a file that is gone is still there, and holds none. */
static int omit_emptied(struct making *making, const char *path)
{
	char directory[PATH_MAX];
	struct stat stat;
	const char *slash = strrchr(path, '/'), *name;

	if (!making->filter->is_open || !slash || slash - path >= (long)sizeof(directory))
		return 0;
	memcpy(directory, path, (size_t)(slash - path));
	directory[slash - path] = '\0';
	name = below(making, directory);
	if (!name || lstat(directory, &stat) < 0 || !S_ISDIR(stat.st_mode) ||
	    !is_without_files(directory, 0))
		return 0;
	for (size_t i = 0; i < making->set->omitted_count; i++)
		if (strcmp(making->set->omitted[i].path, name) == 0)
			return 0;
	return diff_set_omit(making->set, DIFF_DIRECTORY_EMPTIED, name,
			     "directory, still there without a file");
}

/* ---- renames ---- */

static struct tree_change *find_change(const struct tree_changes *changes, const char *path)
{
	size_t low = 0, high = changes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(changes->changes[middle].path, path);
		if (order == 0)
			return &changes->changes[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool is_same_type(const struct tree_entry *a, const struct tree_entry *b)
{
	return (a->mode & S_IFMT) == (b->mode & S_IFMT);
}

/* Length of the git directory's path, if what lies in it is not for the patch; else 0. */
static size_t git_omitted(const struct making *making, const char *path)
{
	return making->filter->omits_git ? git_path_directory(path) : 0;
}

/* A file that was renamed, and is nowhere else: both of its names are one entry. */
static int add_renames(struct making *making)
{
	const struct tree_changes *changes = making->changes;

	for (size_t i = 0; i < changes->count; i++) {
		const struct tree_change *to = &changes->changes[i];
		const struct tree_change *from = to->moved_from
							 ? find_change(changes, to->moved_from)
							 : NULL;
		if (!from || !is_wanted(making, to) || to->before.exists || from->after.exists ||
		    !is_file(&from->before) || !is_file(&to->after) ||
		    !is_same_type(&from->before, &to->after) ||
		    making->used[from - changes->changes])
			continue;
		const char *old = below(making, from->path), *new = below(making, to->path);
		if (!old || !new || git_omitted(making, old) || git_omitted(making, new))
			continue;
		making->used[i] = making->used[from - changes->changes] = true;
		int error = add_file(making, to, old, &from->before, new, &to->after);
		if (error == 0)
			error = omit_metadata(making, to, new, &from->before, &to->after);
		if (error == 0)
			error = omit_emptied(making, from->path);
		if (error < 0)
			return error;
	}
	return 0;
}

/* ---- all changes ---- */

static int add_unknown(struct making *making, const char *path, const struct tree_entry *entry,
		       const char *when)
{
	return diff_set_omit(making->set, DIFF_UNKNOWN, path, "%s not known: %s", when,
			     entry->known || entry->lost
				     ? tree_lost_text(entry->lost)
				     : "it changed while no process was observed");
}

static bool is_lost(const struct tree_entry *entry)
{
	return !entry->known || (is_file(entry) && entry->content == TREE_LOST);
}

static bool is_special(const struct tree_entry *entry)
{
	return entry->known && entry->exists && !is_file(entry) && !is_directory(entry);
}

/* What is no file: directories, and what has no content. */
static int add_others(struct making *making, const struct tree_change *change, const char *path)
{
	const struct tree_entry *before = &change->before, *after = &change->after;
	int error = 0;

	if (is_special(before) || is_special(after))
		error = diff_set_omit(making->set, DIFF_SPECIAL, path,
				      is_special(after) ? "special file, made or changed"
							: "special file, removed");
	if (error == 0 && (is_directory(before) || is_directory(after)))
		error = omit_directory(making, change, path);
	return error;
}

/* One entry, or, where its type changed, two. */
static int add_entries(struct making *making, const struct tree_change *change, const char *path)
{
	const struct tree_entry *before = is_file(&change->before) ? &change->before : NULL;
	const struct tree_entry *after = is_file(&change->after) ? &change->after : NULL;
	int error = 0;

	if (before && after && is_same_type(before, after))
		return add_file(making, change, path, before, path, after);
	if (before)
		error = add_file(making, change, path, before, path, NULL);
	if (error == 0 && after)
		error = add_file(making, change, path, NULL, path, after);
	return error;
}

/* Once for each of git's directories. */
static int omit_git(struct making *making, const char *path, size_t length)
{
	char directory[PATH_MAX];

	(void)snprintf(directory, sizeof(directory), "%.*s", (int)length, path);
	for (size_t i = 0; i < making->set->omitted_count; i++)
		if (making->set->omitted[i].why == DIFF_GIT &&
		    strcmp(making->set->omitted[i].path, directory) == 0)
			return 0;
	return diff_set_omit(making->set, DIFF_GIT, directory,
			     "git's own state changed; git takes no patch of it");
}

static int add_change(struct making *making, const struct tree_change *change)
{
	const struct tree_entry *before = &change->before, *after = &change->after;
	const char *path = below(making, change->path);

	if (!path || !*path)
		return 0;
	size_t git = git_omitted(making, path);
	if (git)
		return omit_git(making, path, git);
	int error = add_others(making, change, path);
	if (error == 0 && is_lost(before))
		return add_unknown(making, path, before, "what it was is");
	if (error == 0 && is_lost(after))
		return add_unknown(making, path, after, "what it became is");
	if (error == 0)
		error = add_entries(making, change, path);
	if (error == 0 && is_file(after))
		error = omit_metadata(
			making, change, path,
			is_file(before) && is_same_type(before, after) ? before : NULL, after);
	if (error == 0 && is_file(before) && !after->exists)
		error = omit_emptied(making, change->path);
	return error;
}

/* By names; of one name what is removed comes first. */
static int by_path(const void *a, const void *b)
{
	const struct diff_file *left = a, *right = b;

	if (left->is_last_first != right->is_last_first)
		return left->is_last_first ? -1 : 1;
	int order = strcmp(left->new_path, right->new_path);
	return order ? order : (left->new != NULL) - (right->new != NULL);
}

static int by_omitted_path(const void *a, const void *b)
{
	const struct diff_omitted *left = a, *right = b;
	int order = strcmp(left->path, right->path);

	return order ? order : (int)left->why - (int)right->why;
}

/* Files of a directory where there is a file now go first. */
static void mark_obstacles(struct diff_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		size_t length = strlen(set->files[i].new_path);
		if (set->files[i].old || !set->files[i].new)
			continue;
		for (size_t j = i + 1; j < set->count; j++) {
			struct diff_file *inner = &set->files[j];
			if (strncmp(inner->new_path, set->files[i].new_path, length) != 0)
				break;
			if (!inner->new && inner->new_path[length] == '/')
				inner->is_last_first = true;
		}
	}
}

static void sort(struct diff_set *set)
{
	if (set->count) {
		qsort(set->files, set->count, sizeof(*set->files), by_path);
		mark_obstacles(set);
		qsort(set->files, set->count, sizeof(*set->files), by_path);
	}
	if (set->omitted_count)
		qsort(set->omitted, set->omitted_count, sizeof(*set->omitted), by_omitted_path);
}

int diff_set_make(const struct tree_changes *changes, const struct tree_records *records,
		  const struct diff_filter *filter, struct diff_set *ret_set)
{
	struct making making = {
		.changes = changes, .records = records, .filter = filter, .set = ret_set
	};
	int error = 0;

	*ret_set = (struct diff_set){ .files = NULL };
	making.mask = umask(0);
	(void)umask(making.mask);
	making.used = calloc(changes->count + 1, sizeof(*making.used));
	if (!making.used)
		return -ENOMEM;
	error = add_renames(&making);
	for (size_t i = 0; i < changes->count && error == 0; i++)
		if (!making.used[i] && is_wanted(&making, &changes->changes[i]))
			error = add_change(&making, &changes->changes[i]);
	if (error == 0)
		error = diff_similar(records, ret_set);
	if (error == 0)
		sort(ret_set);
	free(making.used);
	return error;
}

void diff_set_free(struct diff_set *set)
{
	for (size_t i = 0; i < set->omitted_count; i++) {
		free(set->omitted[i].path);
		free(set->omitted[i].text);
	}
	free(set->omitted);
	free(set->files);
	*set = (struct diff_set){ .files = NULL };
}
