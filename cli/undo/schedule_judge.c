/* Which changes are made undone, and which are left: see schedule_make.h. */
#include "cli/undo/schedule_judge.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/argument.h"
#include "cli/undo/git_lock.h"
#include "cli/undo/git_log.h"
#include "cli/undo/git_state.h"
#include "cli/undo/git_unit.h"
#include "cli/undo/merge_change.h"
#include "cli/undo/schedule_find.h"
#include "cli/undo/schedule_shared.h"

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

/* Of two states of one file with the same size and time: is the content the same? */
static bool may_have_content(const struct making *making, const struct tree_change *change)
{
	const struct tree_entry *was = &change->before;

	return was->content == TREE_KEPT   ? making_has_content(making, was, change->path)
	       : was->content == TREE_LOST ? was->ctime_ns == change->after.ctime_ns
					   : true;
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
	/* A command may have set the time back behind what it wrote. */
	if (same_inode && was->mtime_ns == now->mtime_ns)
		return was->size_bytes == now->size_bytes && may_have_content(making, change);
	/* Another file: it may not be one that has other names, or had. */
	return was->content == TREE_KEPT && was->nlink <= 1 && now->nlink <= 1 &&
	       making_is_alike(making, was, now, change->path);
}

/* Only its metadata was changed, so that its content is nowhere else; another program removed it. */
static bool is_removed_since(const struct tree_change *change)
{
	return change->before.known && change->before.lost == TREE_GONE && !change->after.exists &&
	       change->left == TREE_CHANGED_SINCE;
}

/* Is it to go, and is it not known whether it is there?  What is to come says so itself, where it cannot. */
static bool is_unreadable(const struct tree_change *change)
{
	return !change->before.exists && !change->after.known;
}

static unsigned fate_of(const struct making *making, const struct tree_change *change)
{
	bool force = making->options->force;

	if (!is_meant(making, change->path) && !is_above_meant(making, change) &&
	    (!change->moved_from || !is_meant(making, change->moved_from)) &&
	    (!change->moved_to || !is_meant(making, change->moved_to)))
		return FATE_APART;
	if (git_locks_has(making->options->locks, change->path))
		return FATE_ALREADY;
	if (is_unreadable(change))
		return FATE_LEFT + SCHEDULE_LOST;
	if (is_already(making, change))
		return FATE_ALREADY;
	/* What it was may be known of another name alone, which a later step gave it. */
	if (change->conflict && !force)
		return FATE_LEFT + SCHEDULE_CONFLICT;
	if (!change->before.known || change->before.content == TREE_LOST)
		return FATE_LEFT +
		       (!force && is_removed_since(change) ? SCHEDULE_EXTERNAL : SCHEDULE_LOST);
	if (!force &&
	    (change->left == TREE_CHANGED_SINCE || !making_has_left_content(making, change)))
		return FATE_LEFT + SCHEDULE_EXTERNAL;
	if (!force && change->left == TREE_OWNER_DIFFERS)
		return FATE_LEFT + SCHEDULE_OWNER;
	return making_is_sound(making, &change->before) ? FATE_OPEN : FATE_LEFT + SCHEDULE_DAMAGED;
}

static bool is_left(unsigned fate)
{
	return fate >= FATE_LEFT;
}

/* What is left in a renamed directory goes back with it: then what had that name before is left, too.  Returns whether
 * that changed something. */
static bool spread_along(struct making *making, size_t index)
{
	char path[PACK_PATH_BYTES_MAX + 1];
	const struct tree_change *change = &making->changes->changes[index];

	if (!is_left(making->fates[index]) || !change->after.exists || change->moved_from ||
	    !making_destination(making, change->path, path))
		return false;
	const struct tree_change *was = making_find(making, path);
	unsigned char *there = was ? &making->fates[was - making->changes->changes] : NULL;
	if (!there || *there != FATE_OPEN)
		return false;
	*there = making->fates[index];
	return true;
}

/* Both ends of a rename are left where one is; and what is below a directory that stays.  Returns
 * whether that changed something. */
static bool spread(struct making *making)
{
	const struct tree_changes *changes = making->changes;
	bool spreads = false;

	for (size_t i = 0; i < changes->count; i++) {
		const struct tree_change *change = &changes->changes[i];
		spreads = spread_along(making, i) || spreads;
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

/* ---- places ---- */

/* Does what has a name now stay there? */
static bool stays(const struct making *making, const char *path)
{
	const struct tree_change *change = making_find(making, path);

	return !change || making->fates[change - making->changes->changes] != FATE_OPEN;
}

/* Does something stay in a directory that is to make room?  What is renamed away takes all below it along. */
static bool keeps_something(const struct making *making, const char *directory)
{
	char root[PACK_PATH_BYTES_MAX + 1];
	char *roots[] = { root, NULL };
	bool keeps = false;

	if (strlen(directory) >= sizeof(root))
		return true;
	strcpy(root, directory);
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *entry; fts && !keeps && (entry = fts_read(fts));) {
		if (entry->fts_level == FTS_ROOTLEVEL || entry->fts_info == FTS_DP)
			continue;
		const struct tree_change *change = making_find(making, entry->fts_path);
		keeps = stays(making, entry->fts_path);
		if (change && change->moved_from)
			(void)fts_set(fts, entry, FTS_SKIP);
	}
	if (fts)
		(void)fts_close(fts);
	return keeps;
}

/* What was renamed stays where it is, where the directory that has its name cannot go.  Returns whether that changed
 * something. */
static bool spread_occupied(struct making *making)
{
	const struct tree_changes *changes = making->changes;
	bool spreads = false;

	for (size_t i = 0; i < changes->count; i++) {
		const struct tree_change *change = &changes->changes[i];
		if (making->fates[i] != FATE_OPEN || !change->moved_to || change->moved_from ||
		    !change->after.exists || !S_ISDIR(change->after.mode) ||
		    making_goes_along(making, change) || !keeps_something(making, change->path))
			continue;
		making->fates[i] = FATE_LEFT + SCHEDULE_OCCUPIED;
		spreads = true;
	}
	return spreads;
}

static enum schedule_reason reason_of(const struct making *making, size_t index)
{
	unsigned reason = making->fates[index] - FATE_LEFT;

	return reason == SCHEDULE_EXTERNAL && making->changes->changes[index].is_left_unseen
		       ? SCHEDULE_UNSEEN
		       : (enum schedule_reason)reason;
}

/* A directory that was made does not go where something in it is left; nor does the one that it is in.  What is below
 * comes behind it in the list. */
static void leave_above(struct making *making)
{
	char above[PACK_PATH_BYTES_MAX + 1];

	for (size_t i = making->changes->count; i-- > 0;) {
		const struct tree_change *change = &making->changes->changes[i];
		if (!is_left(making->fates[i]) ||
		    (!change->after.exists && !is_unreadable(change)) ||
		    strlen(change->path) >= sizeof(above))
			continue;
		strcpy(above, change->path);
		*strrchr(above, '/') = '\0';
		const struct tree_change *directory = making_find(making, above);
		unsigned char *fate = directory
					      ? &making->fates[directory - making->changes->changes]
					      : NULL;
		if (fate && *fate == FATE_OPEN && !directory->before.exists &&
		    !directory->moved_from && !making_is_taken(making, above, false))
			*fate = FATE_LEFT + SCHEDULE_WITHIN;
	}
}

static int report_left(struct making *making)
{
	struct schedule_report *report = making->report;

	report->left = calloc(making->changes->count + 1, sizeof(*report->left));
	if (!report->left)
		return -ENOMEM;
	for (size_t i = 0; i < making->changes->count; i++) {
		const struct tree_change *change = &making->changes->changes[i];
		report->same += making->fates[i] == FATE_ALREADY && !tree_change_is_nothing(change);
		if (is_left(making->fates[i]))
			report->left[report->left_count++] = (struct schedule_left){
				.path = change->path,
				.reason = reason_of(making, i),
				.lost = is_unreadable(change)  ? change->after.lost
					: change->before.known ? change->before.lost
							       : TREE_MISSING,
			};
	}
	return 0;
}

/* What would be left for others' changes, merged where it can be.  git's files are no texts of a person. */
static int merge(struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	const struct schedule_options *options = making->options;
	struct merged_file file;
	unsigned fate = making->fates[index];

	if ((fate != FATE_LEFT + SCHEDULE_EXTERNAL && fate != FATE_LEFT + SCHEDULE_CONFLICT) ||
	    git_unit_of(making, index))
		return 0;
	int error = merge_change(making->records, options->merge, change, options->merge_label,
				 &file);
	if (error < 0)
		return error == -ENOMEM ? error : 0;
	error = making_add_merged(making, index, &file.text, SCHEDULE_VERB_MERGE, file.conflicts);
	if (error == 0)
		making->merges[index].mode = file.mode;
	else
		free(file.text.bytes);
	return error;
}

static int merge_all(struct making *making)
{
	int error = 0;

	for (size_t i = 0; i < making->changes->count && error == 0; i++)
		error = merge(making, i);
	return error;
}

int making_judge(struct making *making)
{
	making->fates = calloc(making->changes->count + 1, 1);
	making->merges = calloc(making->changes->count + 1, sizeof(*making->merges));
	if (!making->fates || !making->merges)
		return -ENOMEM;
	for (size_t i = 0; i < making->changes->count; i++)
		making->has_moved = making->has_moved || making->changes->changes[i].moved_from;
	for (size_t i = 0; i < making->changes->count; i++)
		making->fates[i] = (unsigned char)fate_of(making, &making->changes->changes[i]);
	int error = git_state_judge(making);
	if (error == 0 && making->options->merge)
		error = merge_all(making);
	error = error ? error : making_shared_read(making);
	for (bool spreads = true; error == 0 && spreads;) {
		bool shared = making_shared_spread(making);
		bool occupied = making->has_moved && spread_occupied(making);
		spreads = spread(making) || git_state_spread(making) || shared || occupied;
	}
	if (error == 0)
		error = git_log_judge(making);
	if (error < 0)
		return error;
	leave_above(making);
	return report_left(making);
}
