/* git's state in an undo: see git_state.h. */
#include "cli/undo/git_state.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/undo/file_history.h"
#include "cli/undo/git_index.h"
#include "cli/undo/git_lock.h"
#include "cli/undo/git_packed.h"
#include "cli/undo/git_unit.h"
#include "cli/undo/schedule_find.h"

enum { INDEX_BYTES_MAX = 1 << 30 };

static bool is_index(const char *below)
{
	return strcmp(below + git_find_worktree(below), "index") == 0;
}

/* ---- an index that was only refreshed ---- */

static int read_state(const struct making *making, const struct file_state *state,
		      const char *disk_path, char **ret_bytes, size_t *ret_size)
{
	const struct tree_entry entry = {
		.exists = true,
		.known = true,
		.mode = S_IFREG,
		.content = state ? TREE_KEPT : TREE_DISK,
		.disk_path = state ? NULL : disk_path,
		.record = state ? state->content : NULL,
	};

	if (state && (!state->known || !state->exists || !state->content))
		return -ENODATA;
	return tree_entry_read(making->records, &entry, INDEX_BYTES_MAX, ret_bytes, ret_size);
}

/* Do what the session left and what was found later have the same entries?  found: NULL: what is on
 * disk. */
static bool is_refreshed(const struct making *making, const struct file_state *left,
			 const struct file_state *found, const char *path)
{
	char *one = NULL, *other = NULL;
	size_t one_bytes = 0, other_bytes = 0;
	bool same = read_state(making, left, NULL, &one, &one_bytes) == 0 &&
		    read_state(making, found, path, &other, &other_bytes) == 0 &&
		    git_index_is_same(one, one_bytes, other, other_bytes);

	free(one);
	free(other);
	return same;
}

/* git status, which editors and prompts run, writes the files' new times into the index: that is no
 * change of git's state. */
static bool is_only_refreshed(const struct making *making, const struct tree_change *change)
{
	struct file_history history = { .count = 0 };
	const struct tree_entry *now = &change->after;
	bool same = (!now->exists || S_ISREG(now->mode)) &&
		    file_history_read(making->records, change->path, true, &history) == 0 &&
		    history.count;

	for (size_t i = 1; i < history.count && same; i++) {
		const struct file_change *one = &history.changes[i];
		const struct file_state *left = &history.changes[i - 1].after;
		if (one->record->time_ns > change->first_time_ns && !one->continues &&
		    !file_state_is(left, &one->before))
			same = is_refreshed(making, left, &one->before, change->path);
	}
	const struct file_state *last = same ? &history.changes[history.count - 1].after : NULL;
	if (same && now->exists)
		same = (last->known && last->state.ino == now->ino &&
			last->state.mtime_ns == now->mtime_ns) ||
		       is_refreshed(making, last, NULL, change->path);
	else if (same) /* the session removed it, not another program */
		same = last->known && !last->exists;
	file_history_free(&history);
	return same;
}

/* ---- a repository that the session made ---- */

/* Is there something that the session did not make? */
static bool has_unlisted(const struct making *making, const char *directory)
{
	char path[PATH_MAX];
	DIR *entries = opendir(directory);
	struct dirent *entry;
	struct stat stat;
	bool found = false;

	while (entries && !found && (entry = readdir(entries))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >=
		    (int)sizeof(path))
			break;
		const struct tree_change *change = making_find(making, path);
		/* What a renamed directory took along is in no list. */
		found = !change || (!change->moved_from && lstat(path, &stat) == 0 &&
				    S_ISDIR(stat.st_mode) && has_unlisted(making, path));
	}
	if (entries)
		(void)closedir(entries);
	return found;
}

static void judge_made(struct making *making, const struct git_unit *unit)
{
	const struct tree_change *change = making_find(making, unit->directory);

	if (making->options->force || !change || change->moved_from || !change->after.exists ||
	    !has_unlisted(making, unit->directory))
		return;
	unsigned char *fate = &making->fates[change - making->changes->changes];
	if (*fate == FATE_OPEN)
		*fate = FATE_LEFT + SCHEDULE_EXTERNAL;
}

/* ---- directories that come and go ---- */

/* git makes a directory of refs, logs or objects for what is to be in it, and removes an empty one: a person's git
 * may have done so behind the session's, and changed nothing by that. */
static void judge_directory(struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	const struct tree_entry *was = &change->before, *now = &change->after;
	const struct git_unit *unit = git_unit_of(making, index);
	unsigned char *fate = &making->fates[index];
	enum git_class class = making->git->classes[index];
	char head[PATH_MAX];

	if (*fate != FATE_LEFT + SCHEDULE_EXTERNAL || !was->known ||
	    (class != GIT_STATE && class != GIT_LOG && class != GIT_OBJECT) || change->moved_from ||
	    change->moved_to ||
	    snprintf(head, sizeof(head), "%s/HEAD", unit->disk) >= (int)sizeof(head) ||
	    access(head, F_OK) < 0)
		return;
	if (was->exists && S_ISDIR(was->mode) && !now->exists)
		*fate = FATE_OPEN;
	else if (!was->exists && now->exists && S_ISDIR(now->mode))
		*fate = FATE_APART;
}

/* ---- another program's locks ---- */

/* Does another program hold a lock of another version control system?  It may do so for long: hg does
 * while a person writes the message. */
static bool is_locked(const struct making *making, const struct git_unit *unit)
{
	const struct git_locks *own = making->options->locks;
	char path[PATH_MAX];
	const char *lock;
	bool is = false;

	for (size_t i = 0; !is && (lock = git_find_other_lock(i)); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", unit->directory, lock) >=
		    (int)sizeof(path))
			continue;
		const struct tree_change *change = making_find(making, path);
		if (change)
			is = change->after.exists && change->left == TREE_CHANGED_SINCE &&
			     git_locks_has_other(own, path);
		else if (snprintf(path, sizeof(path), "%s/%s", unit->disk, lock) <
			 (int)sizeof(path))
			is = git_locks_has_other(own, path);
	}
	return is;
}

/* ---- objects ---- */

static bool have(struct git_objects *objects, const char *text, size_t length, size_t *ret_bytes)
{
	unsigned char oid[GIT_OID_BYTES_MAX];

	*ret_bytes = git_oid_read(text, length, oid);
	return !*ret_bytes || git_oid_is_null(oid, *ret_bytes) ||
	       git_objects_have(objects, oid, *ret_bytes);
}

/* Does git not ask packed-refs for a ref, because its own file will be there and names an object that exists?  line: of an
 * object, a space and the ref's name. */
static bool is_overridden(const struct making *making, const struct git_unit *unit,
			  struct git_objects *objects, const char *line, size_t length)
{
	char name[PATH_MAX], *text = NULL;
	const char *from = memchr(line, ' ', length);
	size_t size = 0, bytes = 0;

	if (!from || snprintf(name, sizeof(name), "%.*s", (int)(line + length - from) - 1,
			      from + 1) >= (int)sizeof(name))
		return false;
	name[strcspn(name, "\n")] = '\0';
	bool is = git_unit_read(making, unit, GIT_WANTED, name, &text, &size) == 0 &&
		  have(objects, text, size, &bytes) && bytes;
	free(text);
	return is;
}

/* Each line begins with an object; of a reflog, with two. */
static bool has_lines(const struct making *making, const struct git_unit *unit,
		      struct git_objects *objects, const char *text, size_t size, bool is_log)
{
	const char *end = text + size;
	size_t bytes;

	while (text < end) {
		const char *line = text;
		const char *next = memchr(line, '\n', (size_t)(end - line));
		text = next ? next + 1 : end;
		if (!have(objects, line, (size_t)(text - line), &bytes) &&
		    (is_log || !is_overridden(making, unit, objects, line, (size_t)(text - line))))
			return false;
		line += 2 * bytes + 1;
		if (is_log && bytes && line < text &&
		    !have(objects, line, (size_t)(text - line), &bytes))
			return false;
	}
	return true;
}

static bool has_entries(struct git_objects *objects, const char *bytes, size_t size)
{
	struct git_index *index = calloc(1, sizeof(*index));
	size_t oid_bytes = git_index_oid_bytes(bytes, size);
	bool has = true;

	if (!index || !oid_bytes || git_index_init(index, bytes, size, oid_bytes) < 0) {
		free(index);
		return true; /* not known */
	}
	while (has && git_index_next(index) > 0)
		has = index->mode == GIT_INDEX_SUBMODULE || index->flags & GIT_INDEX_INTENT ||
		      git_objects_have(objects, index->oid, oid_bytes);
	free(index);
	return has;
}

/* Will the part be there that a split index shares with others?  It lies beside it. */
static bool has_shared(const struct making *making, const struct git_unit *unit, const char *below,
		       const char *bytes, size_t size)
{
	unsigned char oid[GIT_OID_BYTES_MAX];
	char name[PATH_MAX], *shared = NULL;
	size_t oid_bytes = git_index_shared(bytes, size, oid), shared_size;
	int length = snprintf(name, sizeof(name), "%.*ssharedindex.", (int)git_find_worktree(below),
			      below);

	for (size_t i = 0; i < oid_bytes && length < (int)sizeof(name); i++)
		length += snprintf(name + length, sizeof(name) - (size_t)length, "%02x", oid[i]);
	bool has = !oid_bytes || length >= (int)sizeof(name) ||
		   git_unit_read(making, unit, GIT_WANTED, name, &shared, &shared_size) != -ENOENT;
	free(shared);
	return has;
}

/* What ORIG_HEAD and its like name git itself removes: the object may have been gone before. */
static bool names_objects(const char *below)
{
	const char *name = below + git_find_worktree(below);

	return strncmp(name, "refs/", 5) == 0 || strcmp(name, "HEAD") == 0;
}

/* Whether all exists that a file of git's state names: FATE_OPEN, or why it is left. */
static unsigned fate_by_names(const struct making *making, const struct git_unit *unit,
			      struct git_objects *objects, const struct tree_change *change,
			      const char *below)
{
	char *text = NULL;
	size_t size = 0;
	bool has = true, has_part = true, is_stash = strcmp(below, "logs/refs/stash") == 0;

	if (!S_ISREG(change->before.mode) ||
	    !(is_stash || is_index(below) || strcmp(below, "packed-refs") == 0 ||
	      names_objects(below)))
		return FATE_OPEN;
	if (tree_entry_read(making->records, &change->before, INDEX_BYTES_MAX, &text, &size) < 0)
		return FATE_LEFT + SCHEDULE_NO_OBJECTS;
	if (is_index(below)) {
		has = has_entries(objects, text, size);
		has_part = has_shared(making, unit, below, text, size);
	} else {
		has = has_lines(making, unit, objects, text, size, is_stash);
	}
	free(text);
	return !has_part ? FATE_LEFT + SCHEDULE_NO_SHARED
	       : !has    ? FATE_LEFT + SCHEDULE_NO_OBJECTS
			 : FATE_OPEN;
}

static bool is_head_of(const struct making *making, const struct git_unit *unit, const char *head,
		       const char *name)
{
	static const char SYMBOLIC[] = "ref: ";
	char *text = NULL;
	size_t size = 0;
	bool is = git_unit_read(making, unit, GIT_WANTED, head, &text, &size) == 0 &&
		  strncmp(text, SYMBOLIC, sizeof(SYMBOLIC) - 1) == 0;

	if (is) {
		text[strcspn(text, "\n")] = '\0';
		is = strcmp(text + sizeof(SYMBOLIC) - 1, name) == 0;
	}
	free(text);
	return is;
}

/* Will a worktree be on the branch? */
static bool is_checked_out(const struct making *making, const struct git_unit *unit,
			   const char *name)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool is = is_head_of(making, unit, "HEAD", name);

	for (size_t i = 0; i < making->changes->count && !is; i++) {
		const char *below = git_unit_of(making, i) == unit
					    ? git_unit_below(unit, making->changes->changes[i].path)
					    : "";
		size_t worktree = git_find_worktree(below);
		is = worktree && strcmp(below + worktree, "HEAD") == 0 &&
		     is_head_of(making, unit, below, name);
	}
	if (snprintf(path, sizeof(path), "%s/worktrees", unit->disk) >= (int)sizeof(path))
		return is;
	DIR *worktrees = is ? NULL : opendir(path);
	while (worktrees && !is && (entry = readdir(worktrees))) {
		(void)snprintf(path, sizeof(path), "worktrees/%s/HEAD", entry->d_name);
		is = is_head_of(making, unit, path, name);
	}
	if (worktrees)
		(void)closedir(worktrees);
	return is;
}

/* May a ref be left by itself?  Not where nothing would hold it any more: it was packed since. */
static bool may_stay(const struct making *making, const struct git_unit *unit,
		     const struct tree_change *change, const char *name)
{
	return strncmp(name, "refs/", 5) == 0 && strcmp(name, "refs/stash") != 0 &&
	       !is_checked_out(making, unit, name) &&
	       (change->after.exists || !git_unit_is_packed(making, unit, GIT_NOW, name) ||
		git_unit_is_packed(making, unit, GIT_WANTED, name));
}

/* A ref comes back where its object exists; and one that goes does where that exists which git finds in packed-refs
 * then.  One that nothing else depends on is left by itself. */
static int judge_objects(struct making *making, struct git_unit *unit, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	const char *below = git_unit_below(unit, change->path);
	unsigned char oid[GIT_OID_BYTES_MAX];
	size_t bytes = !change->before.exists && names_objects(below)
			       ? git_unit_value(making, unit, GIT_WANTED, below, oid)
			       : 0;

	if (!change->before.exists && !bytes)
		return 0;
	struct git_objects *objects = git_unit_objects(making, unit);
	if (!objects)
		return -ENOMEM;
	unsigned fate = !bytes ? fate_by_names(making, unit, objects, change, below)
			: git_objects_have(objects, oid, bytes) ? FATE_OPEN
								: FATE_LEFT + SCHEDULE_NO_OBJECTS;
	if (fate != FATE_OPEN && may_stay(making, unit, change, below))
		fate = FATE_LEFT + SCHEDULE_NO_OBJECT;
	making->fates[index] = (unsigned char)fate;
	return 0;
}

/* ---- the unit ---- */

static bool is_member(const struct making *making, size_t index)
{
	const struct git_unit *unit = git_unit_of(making, index);
	enum git_class class = making->git->classes[index];

	return unit && (class == GIT_STATE || class == GIT_SETTINGS || class == GIT_SHARED ||
			class == GIT_OTHER || unit->is_made);
}

/* An object is the same whichever git made it, and when: that another one needed it again is no change. */
static unsigned fate_of_object(const struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	const struct tree_entry *was = &change->before, *now = &change->after;
	unsigned fate = making->fates[index];

	if (fate != FATE_LEFT + SCHEDULE_EXTERNAL || !S_ISREG(was->mode) || change->moved_from ||
	    change->moved_to)
		return fate;
	/* Nothing of its content is to come back.  Where it was packed or pruned since, its refs are judged by that. */
	if (was->content != TREE_KEPT)
		return !now->exists || (S_ISREG(now->mode) && change->metadata == 1U << PACK_TIMES)
			       ? FATE_APART
			       : fate;
	if (!now->exists)
		return making_is_sound(making, was) ? FATE_OPEN : fate;
	return S_ISREG(now->mode) && making_has_content(making, was, change->path) ? FATE_ALREADY
										   : fate;
}

/* Is it a loose object, or a pack: of these alone git sets the time when it needs what they hold? */
static bool is_named_by_content(const char *below)
{
	static const char OBJECTS[] = "objects/", PACK[] = "objects/pack/pack-";
	unsigned char oid[GIT_OID_BYTES_MAX];
	char hex[2 * GIT_OID_BYTES_MAX + 1];
	const char *name = below + sizeof(OBJECTS) - 1;
	size_t length = strlen(below);

	if (strncmp(below, PACK, sizeof(PACK) - 1) == 0)
		return strcmp(below + length - strlen(".pack"), ".pack") == 0;
	return length > sizeof(OBJECTS) + 3 && name[2] == '/' &&
	       snprintf(hex, sizeof(hex), "%.2s%s", name, name + 3) < (int)sizeof(hex) &&
	       git_oid_read(hex, strlen(hex), oid);
}

/* In a repository that the session made its objects go, too, where a person's git needed them again and did nothing else:
 * git ls-files and git fsck of a sparse index do so. */
static bool is_made_object(const struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];

	return making->fates[index] == FATE_LEFT + SCHEDULE_EXTERNAL && change->is_left_but_times &&
	       change->before.known && !change->before.exists && !change->moved_from &&
	       !change->moved_to &&
	       is_named_by_content(git_unit_below(git_unit_of(making, index), change->path)) &&
	       making_has_left_content(making, change);
}

/* Objects that were made stay: a ref that is left may need them, and what nothing needs git removes
 * itself.  Another program's lock stays also by force: git_lock.h waits for git's, and what belongs to
 * another is left. */
static void judge_staying(struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	const struct git_unit *unit = git_unit_of(making, index);
	unsigned char *fate = &making->fates[index];
	enum git_class class = making->git->classes[index];
	bool is_made = change->before.known && !change->before.exists;

	if (!unit || *fate == FATE_APART)
		return;
	if (class == GIT_OBJECT && !unit->is_made)
		*fate = is_made && !change->moved_from
				? FATE_ALREADY
				: (unsigned char)fate_of_object(making, index);
	if (class == GIT_OBJECT && unit->is_made && is_made_object(making, index))
		*fate = FATE_OPEN;
	if (class == GIT_LOCK && change->left == TREE_CHANGED_SINCE && *fate != FATE_ALREADY)
		*fate = unit->is_other && change->after.exists ? FATE_LEFT + SCHEDULE_EXTERNAL
							       : FATE_APART;
	if (class == GIT_SHARED && *fate == FATE_LEFT + SCHEDULE_EXTERNAL && change->after.exists)
		*fate = is_made ? FATE_OPEN : FATE_APART;
}

int git_state_judge(struct making *making)
{
	const struct tree_changes *changes = making->changes;
	int error = git_units_read(making, &making->git);

	for (size_t i = 0; i < changes->count && error == 0; i++) {
		const struct tree_change *change = &changes->changes[i];
		struct git_unit *unit = git_unit_of(making, i);
		if (unit && making->fates[i] == FATE_LEFT + SCHEDULE_EXTERNAL &&
		    is_index(git_unit_below(unit, change->path)) &&
		    is_only_refreshed(making, change))
			making->fates[i] = making_is_sound(making, &change->before)
						   ? FATE_OPEN
						   : FATE_LEFT + SCHEDULE_DAMAGED;
		if (unit) {
			judge_directory(making, i);
			error = git_packed_judge(making, i);
		}
		judge_staying(making, i);
	}
	for (size_t i = 0; error == 0 && i < making->git->count; i++) {
		struct git_unit *unit = &making->git->units[i];
		if (unit->is_made)
			judge_made(making, unit);
		unit->is_left = unit->is_other && is_locked(making, unit);
	}
	for (size_t i = 0; i < changes->count && error == 0; i++) {
		struct git_unit *unit = git_unit_of(making, i);
		if (unit && making->git->classes[i] == GIT_STATE && making->fates[i] == FATE_OPEN)
			error = judge_objects(making, unit, i);
	}
	return error;
}

/* Settings and the shared part of a split index may be left alone, in a repository that was there before.
 * But no index comes back whose shared part is gone, and does not. */
static bool is_apart(const struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	enum git_class class = making->git->classes[index];

	return !git_unit_of(making, index)->is_made &&
	       (class == GIT_SETTINGS ||
		(class == GIT_SHARED &&
		 (change->after.exists || (change->before.known && !change->before.exists))));
}

/* Does a member leave all? */
static bool leaves_all(const struct making *making, size_t index)
{
	unsigned fate = making->fates[index];

	return fate >= FATE_LEFT && fate != FATE_LEFT + SCHEDULE_NO_OBJECT &&
	       !is_apart(making, index);
}

/* Are the refs of one, by a symbolic link, those of the other? */
static bool shares_refs(const struct git_unit *unit, const struct git_unit *other)
{
	char path[PATH_MAX], refs[PATH_MAX];
	size_t length = strlen(other->disk);

	return snprintf(path, sizeof(path), "%s/refs", unit->disk) < (int)sizeof(path) &&
	       realpath(path, refs) && strncmp(refs, other->disk, length) == 0 &&
	       strcmp(refs + length, "/refs") == 0;
}

/* Is one left because the other is?  What the session made in a repository that it made: a submodule's, for
 * example; the git directory in one of another version control system, as in .jj, goes with that; and HEAD goes with its refs. */
static bool goes_with(const struct git_unit *unit, const struct git_unit *other)
{
	if (unit == other || !other->is_left)
		return false;
	bool is_below = argument_is_below(unit->directory, other->directory);
	bool is_above = argument_is_below(other->directory, unit->directory);
	return (is_below && unit->is_made && other->is_made) ||
	       ((is_below || is_above) && (unit->is_other || other->is_other)) ||
	       shares_refs(unit, other) || shares_refs(other, unit);
}

static void spread_to_units(struct git_units *units)
{
	bool spreads;

	do {
		spreads = false;
		for (size_t i = 0; i < units->count; i++)
			for (size_t j = 0; j < units->count && !units->units[i].is_left; j++)
				if (goes_with(&units->units[i], &units->units[j]))
					units->units[i].is_left = spreads = true;
	} while (spreads);
}

bool git_state_spread(struct making *making)
{
	struct git_units *units = making->git;
	size_t count = making->changes->count;
	bool spreads = false;

	for (size_t i = 0; i < count && units->count; i++)
		if (is_member(making, i) && leaves_all(making, i))
			git_unit_of(making, i)->is_left = true;
	spread_to_units(units);
	for (size_t i = 0; i < count && units->count; i++)
		if (is_member(making, i) && git_unit_of(making, i)->is_left &&
		    making->fates[i] == FATE_OPEN) {
			making->fates[i] = FATE_LEFT + SCHEDULE_UNIT;
			spreads = true;
		}
	return spreads;
}
