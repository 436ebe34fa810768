/* Which changes are made undone, and which are left: see schedule_make.h. */
#include "cli/undo/schedule_judge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/undo/git_path.h"
#include "cli/undo/merge_change.h"
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

/* ---- fates ---- */

static bool is_meant(const struct making *making, const char *path)
{
	char *const *paths = making->options->paths;

	for (; path && paths && *paths; paths++)
		if (argument_is_below(path, *paths))
			return true;
	return !making->options->paths;
}

/* A directory that must be there again for a path that is meant. */
static bool is_above_meant(const struct making *making, const struct tree_change *change)
{
	if (!change->before.exists || change->after.exists || !S_ISDIR(change->before.mode))
		return false;
	for (char *const *paths = making->options->paths; paths && *paths; paths++)
		if (argument_is_below(*paths, change->path))
			return true;
	return false;
}

static bool has_same_metadata(const struct tree_entry *was, const struct tree_entry *now)
{
	return was->mode == now->mode && was->uid == now->uid && was->gid == now->gid &&
	       !was->attributes;
}

static bool is_already(const struct making *making, const struct tree_change *change)
{
	const struct tree_entry *was = &change->before, *now = &change->after;

	if (change->moved_from || change->moved_to || !was->known || was->exists != now->exists ||
	    (was->content == TREE_LOST && was->lost == TREE_OPEN) ||
	    (was->exists && making_is_taken(making, change->path, true)))
		return false;
	if (!was->exists)
		return true;
	if (!has_same_metadata(was, now))
		return false;
	if (S_ISDIR(was->mode) || was->content == TREE_NO_CONTENT)
		return was->rdev == now->rdev;
	bool same_inode = tree_entry_is_same_inode(was, now);
	if ((same_inode || making->options->times) && !S_ISLNK(was->mode) &&
	    was->mtime_ns != now->mtime_ns)
		return false;
	if (same_inode && was->mtime_ns == now->mtime_ns)
		return was->size_bytes == now->size_bytes;
	/* Another file: it may not be one that has other names, or had. */
	return was->content == TREE_KEPT && was->nlink <= 1 && now->nlink <= 1 &&
	       making_has_content(making, was, change->path);
}

/* Can its content be read?  Asked before anything is done. */
static bool is_sound(const struct making *making, const struct tree_entry *wanted)
{
	int fd = wanted->content == TREE_KEPT ? tree_entry_open(making->records, wanted) : 0;

	if (wanted->content == TREE_KEPT && fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* git's objects that were made stay, but where their repository was not there before: a ref that is
 * left may need them, and what nothing needs git removes itself. */
static bool is_object_that_stays(const struct making *making, const struct tree_change *change)
{
	size_t length = git_path_objects(change->path);
	char directory[PATH_MAX];

	if (!length || length >= sizeof(directory) || !change->before.known ||
	    change->before.exists)
		return false;
	memcpy(directory, change->path, length);
	directory[length] = '\0';
	const struct tree_change *repository = making_find(making, directory);
	return !repository || !repository->before.known || repository->before.exists;
}

static unsigned fate_of(const struct making *making, const struct tree_change *change)
{
	bool force = making->options->force;

	if (!is_meant(making, change->path) && !is_above_meant(making, change) &&
	    (!change->moved_from || !is_meant(making, change->moved_from)) &&
	    (!change->moved_to || !is_meant(making, change->moved_to)))
		return FATE_APART;
	if (is_object_that_stays(making, change))
		return FATE_ALREADY;
	if (is_already(making, change))
		return FATE_ALREADY;
	if (!change->before.known || change->before.content == TREE_LOST)
		return FATE_LEFT + SCHEDULE_LOST;
	if (change->conflict && !force)
		return FATE_LEFT + SCHEDULE_CONFLICT;
	if (change->left == TREE_CHANGED_SINCE && !force)
		return FATE_LEFT + SCHEDULE_EXTERNAL;
	return is_sound(making, &change->before) ? FATE_OPEN : FATE_LEFT + SCHEDULE_DAMAGED;
}

static bool is_left(unsigned fate)
{
	return fate >= FATE_LEFT;
}

/* Both ends of a rename are left where one is; and what is below a directory that stays.  Returns
 * whether that changed something. */
static bool spread(struct making *making)
{
	const struct tree_changes *changes = making->changes;
	bool spreads = false;

	for (size_t i = 0; i < changes->count; i++) {
		const struct tree_change *change = &changes->changes[i];
		if (!change->moved_from)
			continue;
		const struct tree_change *was = making_find(making, change->moved_from);
		const struct tree_change *carrier = making_carrier(making, change);
		unsigned char *here = &making->fates[i];
		unsigned char *there = was ? &making->fates[was - changes->changes] : here;
		unsigned carried = carrier ? making->fates[carrier - changes->changes] : FATE_OPEN;
		unsigned left = is_left(*here)     ? *here
				: is_left(*there)  ? *there
				: is_left(carried) ? carried
						   : FATE_OPEN;
		if (left == FATE_OPEN || (is_left(*here) && is_left(*there)))
			continue;
		*here = is_left(*here) ? *here : (unsigned char)left;
		*there = is_left(*there) ? *there : (unsigned char)left;
		spreads = true;
	}
	return spreads;
}

static int report_left(struct making *making)
{
	struct schedule_report *report = making->report;

	report->left = calloc(making->changes->count + 1, sizeof(*report->left));
	if (!report->left)
		return -ENOMEM;
	for (size_t i = 0; i < making->changes->count; i++) {
		const struct tree_change *change = &making->changes->changes[i];
		report->same += making->fates[i] == FATE_ALREADY;
		if (is_left(making->fates[i]))
			report->left[report->left_count++] = (struct schedule_left){
				.path = change->path,
				.reason = (enum schedule_reason)(making->fates[i] - FATE_LEFT),
				.lost = change->before.known ? change->before.lost : TREE_MISSING,
			};
	}
	return 0;
}

/* What would be left for others' changes, merged where it can be. */
static int merge(struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	const struct schedule_options *options = making->options;
	struct merge_text text = { .size = 0 }, *now = &text;
	size_t conflicts = 0;
	unsigned fate = making->fates[index];

	if (fate != FATE_LEFT + SCHEDULE_EXTERNAL && fate != FATE_LEFT + SCHEDULE_CONFLICT)
		return 0;
	int error = merge_change(making->records, options->merge, change, options->merge_label, now,
				 &conflicts);
	if (error < 0)
		return error == -ENOMEM ? error : 0;
	size_t number = schedule_add_merged(making->plan, now);
	if (!number) {
		free(text.bytes);
		return -ENOMEM;
	}
	making->merges[index] = (struct making_merge){ number, conflicts };
	making->fates[index] = FATE_MERGE;
	return 0;
}

static int merge_all(struct making *making)
{
	int error = 0;

	making->merges = calloc(making->changes->count + 1, sizeof(*making->merges));
	if (!making->merges)
		return -ENOMEM;
	for (size_t i = 0; i < making->changes->count && error == 0; i++)
		error = merge(making, i);
	return error;
}

int making_judge(struct making *making)
{
	making->fates = calloc(making->changes->count + 1, 1);
	if (!making->fates)
		return -ENOMEM;
	for (size_t i = 0; i < making->changes->count; i++)
		making->has_moved = making->has_moved || making->changes->changes[i].moved_from;
	for (size_t i = 0; i < making->changes->count; i++)
		making->fates[i] = (unsigned char)fate_of(making, &making->changes->changes[i]);
	int error = making->options->merge ? merge_all(making) : 0;
	while (error == 0 && spread(making))
		;
	return error ? error : report_left(making);
}
