/* What is asked of the changes of a plan: see schedule_find.h. */
#include "cli/undo/schedule_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tracker/content/version.h"

static int compare(const void *path, const void *change)
{
	return strcmp(path, ((const struct tree_change *)change)->path);
}

const struct tree_change *making_find(const struct making *making, const char *path)
{
	return making->changes->count
		       ? bsearch(path, making->changes->changes, making->changes->count,
				 sizeof(struct tree_change), compare)
		       : NULL;
}

const struct tree_change *making_carrier(const struct making *making,
					 const struct tree_change *change)
{
	char path[PACK_PATH_BYTES_MAX + 1];

	if (strlen(change->path) >= sizeof(path))
		return NULL;
	strcpy(path, change->path);
	for (char *slash; (slash = strrchr(path, '/')) && slash != path;) {
		*slash = '\0';
		const struct tree_change *above = making_find(making, path);
		if (!above || !above->moved_from)
			continue;
		size_t length = strlen(above->moved_from);
		bool along = strncmp(change->moved_from, above->moved_from, length) == 0 &&
			     strcmp(change->moved_from + length, change->path + strlen(path)) == 0;
		return along ? above : NULL;
	}
	return NULL;
}

bool making_destination(const struct making *making, const char *path, char *ret_path)
{
	const struct tree_change *above = NULL;

	if (!making->has_moved || strlen(path) > PACK_PATH_BYTES_MAX)
		return false;
	strcpy(ret_path, path);
	for (char *slash; !above && (slash = strrchr(ret_path, '/')) && slash != ret_path;) {
		*slash = '\0';
		above = making_find(making, ret_path);
		above = above && above->moved_from ? above : NULL;
	}
	return above && making->fates[above - making->changes->changes] == FATE_OPEN &&
	       snprintf(ret_path, PACK_PATH_BYTES_MAX + 1, "%s%s", above->moved_from,
			path + strlen(above->path)) <= PACK_PATH_BYTES_MAX;
}

bool making_goes_along(const struct making *making, const struct tree_change *change)
{
	char path[PACK_PATH_BYTES_MAX + 1];
	const struct tree_change *wanted = S_ISDIR(change->after.mode) &&
							   making_destination(making, change->path,
									      path)
						   ? making_find(making, path)
						   : NULL;

	return wanted && making->fates[wanted - making->changes->changes] == FATE_OPEN &&
	       !wanted->moved_to && wanted->before.exists && S_ISDIR(wanted->before.mode) &&
	       (!wanted->after.exists || making_is_taken(making, wanted->path, false));
}

bool making_is_taken(const struct making *making, const char *path, bool left)
{
	char above[PACK_PATH_BYTES_MAX + 1];

	if (!making->has_moved || strlen(path) >= sizeof(above))
		return false;
	strcpy(above, path);
	for (char *slash; (slash = strrchr(above, '/')) && slash != above;) {
		*slash = '\0';
		const struct tree_change *change = making_find(making, above);
		if (change && (change->moved_from || change->moved_to) && change->after.exists &&
		    (left || making->fates[change - making->changes->changes] == FATE_OPEN))
			return true;
	}
	return false;
}

/* ---- contents ---- */

/* The same for what was kept without being read: by a hard link, which may be this very file. */
static bool has_kept_content(const struct making *making, const struct tree_entry *wanted, int fd,
			     const struct stat *stat)
{
	struct content kept_content, content;
	struct stat kept_stat;
	int kept = tree_entry_open(making->records, wanted);

	if (kept < 0)
		return false;
	bool same = fstat(kept, &kept_stat) == 0 && kept_stat.st_dev == stat->st_dev &&
		    kept_stat.st_ino == stat->st_ino;
	if (!same)
		same = content_of_descriptor(fd, wanted->size_bytes, &content) == 0 &&
		       content_of_descriptor(kept, wanted->size_bytes, &kept_content) == 0 &&
		       version_equal(&content.version, &kept_content.version);
	(void)close(kept);
	return same;
}

bool making_has_content(const struct making *making, const struct tree_entry *wanted,
			const char *path)
{
	struct content content;
	struct stat stat;
	bool same = false;

	if (S_ISLNK(wanted->mode)) {
		char target[PACK_PATH_BYTES_MAX + 1], *kept;
		ssize_t length = readlink(path, target, sizeof(target));
		size_t size;
		if (length < 0 ||
		    tree_entry_read(making->records, wanted, sizeof(target), &kept, &size) < 0)
			return false;
		same = (size_t)length == size && memcmp(target, kept, size) == 0;
		free(kept);
		return same;
	}
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
	    (uint64_t)stat.st_size == wanted->size_bytes) {
		if (version_is_none(&wanted->version))
			same = has_kept_content(making, wanted, fd, &stat);
		else
			same = content_of_descriptor(fd, (uint64_t)stat.st_size, &content) == 0 &&
			       version_equal(&content.version, &wanted->version);
	}
	(void)close(fd);
	return same;
}

bool making_has_left_content(const struct making *making, const struct tree_change *change)
{
	const struct tree_record *left = change->left_content;

	if (!left || !S_ISREG(change->after.mode) || !left->before.size_bytes)
		return true;
	const struct tree_entry entry = { .mode = left->before.mode,
					  .size_bytes = left->before.size_bytes,
					  .content = TREE_KEPT,
					  .version = left->version,
					  .record = left };
	return making_has_content(making, &entry, change->path);
}

/* Those of the security modules are the kernel's. */
static bool has_attributes(const char *path)
{
	static const char SECURITY[] = "security.";
	enum { NAMES_BYTES_MAX = 4096 };
	char names[NAMES_BYTES_MAX];
	ssize_t length = llistxattr(path, names, sizeof(names));
	bool has = length < 0 && errno == ERANGE;

	for (ssize_t at = 0; at < length && !has; at += (ssize_t)strlen(names + at) + 1)
		has = strncmp(names + at, SECURITY, sizeof(SECURITY) - 1) != 0;
	return has;
}

bool making_is_alike(const struct making *making, const struct tree_entry *wanted,
		     const struct tree_entry *found, const char *path)
{
	return (tree_entry_is_same_inode(wanted, found) || !has_attributes(path)) &&
	       making_has_content(making, wanted, path);
}

bool making_is_sound(const struct making *making, const struct tree_entry *wanted)
{
	int fd = wanted->content == TREE_KEPT ? tree_entry_open(making->records, wanted) : 0;

	if (wanted->content == TREE_KEPT && fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

int making_add_merged(struct making *making, size_t index, const struct merge_text *text,
		      enum schedule_verb verb, size_t conflicts)
{
	size_t number = schedule_add_merged(making->plan, text);

	if (!number)
		return -ENOMEM;
	making->merges[index] = (struct making_merge){ number, conflicts, verb, 0 };
	making->fates[index] = FATE_MERGE;
	return 0;
}
