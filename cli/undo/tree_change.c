/* What a session changed between two points: see tree_change.h. */
#include "cli/undo/tree_change.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/git_path.h"
#include "cli/undo/tree_found.h"
#include "cli/undo/tree_inode.h"
#include "cli/undo/tree_moved.h"
#include "cli/undo/tree_state.h"
#include "cli/undo/tree_unseen.h"
#include "cli/undo/tree_walk.h"

/* A record is written before its call. */
#define SLACK_NS UINT64_C(2000000000)

/* What the states of both ends are read from. */
struct reading {
	struct tree_walk *walk; /* of the range */
	struct tree_walk *base; /* from the end to the range; NULL: the range has no end */
	uint64_t end_ns;        /* of the last record of all */
	struct tree_changes *changes;
	const struct found_list *list;
	bool list_moved, for_undo;
};

/* ---- is it as the session left it? ---- */

/* An external program may have set the modification time back.  Links and renames of the session set
 * ctime, too. */
static bool has_ctime(const struct tree_inode *inode, bool moved, const struct tree_entry *now)
{
	return moved || !inode->is_exact || inode->left->nlink != 1 || now->nlink != 1 ||
	       inode->left->ctime_ns == now->ctime_ns;
}

static bool has_state(const struct pack_state *left, const struct tree_entry *now)
{
	return left->size_bytes == now->size_bytes && left->mtime_ns == now->mtime_ns &&
	       left->mode == now->mode;
}

static bool has_owner(const struct pack_state *left, const struct tree_entry *now)
{
	return left->uid == now->uid && left->gid == now->gid;
}

static bool is_left_but_times(const struct tree_inode *inode, const struct tree_entry *now)
{
	return inode && inode->left && !inode->changed && now->exists && S_ISREG(now->mode) &&
	       inode->ino == now->ino && inode->left->size_bytes == now->size_bytes &&
	       inode->left->mode == now->mode && has_owner(inode->left, now);
}

/* The supervisor did not see its last close. */
static bool is_left_unseen(const struct tree_inode *inode, const struct tree_entry *now)
{
	return inode && inode->left && !inode->changed && now->exists && inode->ino == now->ino &&
	       inode->left->size_bytes == PACK_SIZE_UNKNOWN;
}

static enum tree_left left_of(const struct reading *reading, const struct tree_inode *inode,
			      bool moved, const struct tree_entry *now)
{
	if (reading->base)
		return TREE_AS_LEFT;
	if (!now->exists || (inode && inode->ino && inode->ino != now->ino))
		return TREE_CHANGED_SINCE;
	if ((now->mode & S_IFMT) == S_IFDIR)
		return TREE_AS_LEFT;
	/* Its writer was killed, or still writes: what is there is taken for the session's. */
	if (inode && inode->changed)
		return TREE_LEFT_OPEN;
	if (!inode || !inode->left)
		return (uint64_t)now->ctime_ns > reading->end_ns + SLACK_NS ? TREE_CHANGED_SINCE
									    : TREE_LEFT_OPEN;
	if (!has_state(inode->left, now))
		return TREE_CHANGED_SINCE;
	if (!has_owner(inode->left, now))
		return TREE_OWNER_DIFFERS;
	return has_ctime(inode, moved, now) ? TREE_AS_LEFT : TREE_CHANGED_SINCE;
}

/* ---- changes ---- */

static void note_records(struct tree_change *change, uint64_t first_ns, uint64_t last_ns,
			 uint32_t process, uint32_t records)
{
	if (!change->first_time_ns || first_ns < change->first_time_ns)
		change->first_time_ns = first_ns;
	if (last_ns >= change->last_time_ns) {
		change->last_time_ns = last_ns;
		change->process = process;
	}
	change->records += records;
}

static void note_node(struct tree_change *change, const struct tree_node *node)
{
	note_records(change, node->first_time_ns, node->last_time_ns, node->process, node->records);
	change->conflict = change->conflict || node->conflict;
}

/* What a renamed directory brought along to a name that another thing had before: its name before;
 * NULL: nothing. */
static const char *brought_along(const struct reading *reading, const char *path)
{
	char above[PATH_MAX], was[PATH_MAX], now[PATH_MAX];
	const struct found *end = reading->list->items + reading->list->count;

	if (strlen(path) >= sizeof(above))
		return NULL;
	strcpy(above, path);
	for (char *slash; (slash = strrchr(above, '/')) && slash != above;) {
		*slash = '\0';
		const struct found *found = tree_found_at(reading->list, above);
		while (found && found < end && !found->from && strcmp(found->path, above) == 0)
			found++;
		if (!found || found == end || strcmp(found->path, above) != 0)
			continue;
		if (snprintf(was, sizeof(was), "%s%s", found->from_path, path + strlen(above)) >=
			    (int)sizeof(was) ||
		    !tree_names_current(&reading->walk->names, was, now, sizeof(now)) ||
		    strcmp(now, path) != 0)
			return NULL;
		return tree_memory_text(reading->walk->memory, was, strlen(was));
	}
	return NULL;
}

/* Did an external program change it between two steps? */
static bool crosses_external(const struct found *items, size_t count)
{
	bool crosses = false;

	for (size_t i = 0; i < count; i++) {
		const struct tree_node *node = items[i].from ? items[i].from : items[i].node;
		crosses = crosses || (node && node->crosses);
	}
	return crosses;
}

/* Something else has the name: a later step's, or an external program's. */
static void note_taken(const struct found *items, size_t count, struct tree_change *change)
{
	change->left = TREE_CHANGED_SINCE;
	for (size_t i = 0; i < count; i++)
		change->conflict = change->conflict || (items[i].node && items[i].node->taken);
}

/* What a later step changed by another name, which is gone, goes with the one that is left. */
static bool is_only_name(const struct tree_inode *inode, const struct tree_change *change)
{
	return inode && inode->other && change->after.exists && change->after.nlink <= 1 &&
	       !tree_entry_is_same_inode(&change->before, &change->after);
}

/* What is there at the end of the range against what the records say. */
static void judge_left(const struct reading *reading, const struct found *items, size_t count,
		       struct tree_change *change)
{
	char path[PATH_MAX];
	const struct tree_inode *inode = NULL;
	bool expected = false, moved = false;

	for (size_t i = 0; i < count; i++) {
		const struct tree_node *node = items[i].from ? items[i].from : items[i].node;
		if (items[i].gone) {
			expected = true;
			inode = items[i].gone->inode;
			moved = items[i].gone->moved;
		} else if (items[i].along_from) {
			expected = true;
			inode = NULL;
		} else if (items[i].from || (node && node->state != TREE_ABSENT &&
					     tree_node_current(node, path, sizeof(path)) &&
					     strcmp(path, change->path) == 0)) {
			expected = true;
			inode = node->inode;
			moved = node->moved;
		}
	}
	if (!expected && change->after.exists && !change->moved_from)
		change->moved_from = brought_along(reading, change->path);
	if (expected) {
		change->left = left_of(reading, inode, moved, &change->after);
		change->is_left_unseen = change->left == TREE_CHANGED_SINCE &&
					 is_left_unseen(inode, &change->after);
	} else if (!reading->base && change->after.exists && !change->moved_from) {
		note_taken(items, count, change);
	}
	if (!reading->base && crosses_external(items, count))
		change->left = TREE_CHANGED_SINCE;
	change->conflict = change->conflict || (expected && is_only_name(inode, change));
	if (!expected || reading->base || !inode || !inode->left)
		return;
	if (change->left != TREE_AS_LEFT) {
		change->is_left_but_times = change->left == TREE_CHANGED_SINCE &&
					    is_left_but_times(inode, &change->after);
		if (change->is_left_but_times)
			change->left_content = inode->left_content;
		return;
	}
	change->is_left_by_ctime = inode->left->ctime_ns == change->after.ctime_ns;
	if (!change->is_left_by_ctime)
		change->left_content = inode->left_content;
}

/* What was there before, and has no node, may have gone along with a directory: it comes back with it. */
static int find_taken_along(const struct reading *reading, struct tree_change *change)
{
	char current[PATH_MAX];

	if (!tree_names_current(&reading->walk->names, change->path, current, sizeof(current)) ||
	    strcmp(current, change->path) == 0)
		return 0;
	change->moved_to = tree_memory_text(reading->walk->memory, current, strlen(current));
	return change->moved_to ? 0 : -ENOMEM;
}

static int change_of(struct reading *reading, const struct found *items, size_t count,
		     struct tree_change *ret_change)
{
	struct tree_change change = { .path = items->path };
	const struct tree_node *node = NULL;
	char current[PATH_MAX];
	int error;

	for (size_t i = 0; i < count; i++) {
		if (items[i].node) {
			node = items[i].node;
			note_node(&change, node);
		} else if (items[i].from) {
			change.moved_from = items[i].from_path;
			note_node(&change, items[i].from);
		} else if (items[i].along_from) {
			change.moved_from = items[i].along_from;
		} else if (items[i].along_to) {
			change.moved_to = items[i].along_to;
		} else {
			const struct tree_gone *gone = items[i].gone;
			note_records(&change, gone->first_time_ns, gone->last_time_ns,
				     gone->process, gone->records);
			change.conflict = change.conflict || gone->conflict;
		}
	}
	error = node ? tree_state_of_node(reading->walk, reading->base, node, &change.before)
		     : tree_state_at(reading->walk, reading->base, change.path, &change.before);
	if (error == 0)
		error = tree_state_of_base(reading->walk, reading->base, change.path,
					   &change.after);
	if (error < 0)
		return error;
	if (node && node->state != TREE_ABSENT &&
	    tree_node_current(node, current, sizeof(current))) {
		if (strcmp(current, change.path) != 0) {
			change.moved_to = tree_memory_text(reading->walk->memory, current,
							   strlen(current));
			error = change.moved_to ? 0 : -ENOMEM;
		} else {
			change.metadata = node->bytes ? 0 : node->metadata;
			change.same_content = !node->bytes;
			if (reading->for_undo && tree_found_is_elsewhere(reading->list, node))
				change.moved_from = change.moved_to = change.path;
		}
	}
	if (error == 0 && !node && !change.moved_to && change.before.exists)
		error = find_taken_along(reading, &change);
	judge_left(reading, items, count, &change);
	*ret_change = change;
	return error;
}

bool tree_change_is_nothing(const struct tree_change *change)
{
	return change->before.known && change->after.known && !change->before.exists &&
	       !change->after.exists && !change->moved_from && !change->moved_to;
}

static bool is_listed(const struct reading *reading, const struct tree_change *change)
{
	return !tree_change_is_nothing(change) ||
	       (reading->for_undo && git_path_is_ref(change->path));
}

/* git sets the time of an object that it would have to make: that keeps it from being pruned. */
static bool is_freshened_object(const struct tree_change *change)
{
	return change->metadata == 1U << PACK_TIMES && S_ISREG(change->before.mode) &&
	       git_path_objects(change->path);
}

static int collect(struct reading *reading)
{
	struct found_list list = { .count = 0 };
	struct tree_changes *changes = reading->changes;
	int error = tree_found_read(reading->walk, reading->for_undo, &list);
	if (error == 0 && reading->list_moved)
		error = tree_moved_find(reading->walk, reading->base, &list);
	tree_found_sort(&list);
	size_t same;

	/* cppcheck-suppress autoVariables ; used below this function alone */
	reading->list = &list;
	if (error == 0 && list.count) {
		changes->changes = calloc(list.count, sizeof(*changes->changes));
		error = changes->changes ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < list.count && error == 0; i += same) {
		for (same = 1; i + same < list.count &&
			       strcmp(list.items[i].path, list.items[i + same].path) == 0;
		     same++)
			;
		struct tree_change *change = &changes->changes[changes->count];
		error = change_of(reading, &list.items[i], same, change);
		if (error == 0 && is_listed(reading, change) && !is_freshened_object(change))
			changes->count++;
	}
	reading->list = NULL;
	free(list.items);
	return error;
}

/* ---- the range ---- */

/* The index of the first record behind the range.  Operations that came behind its last record are
 * behind it, too: they have no place in the packs of the session's processes. */
static size_t first_behind(const struct tree_records *records, const struct tree_range *range)
{
	size_t end = records->count;

	if (range->to_place) {
		end = 0;
		while (end < records->count && (records->records[end].operation != 0 ||
						records->records[end].place < range->to_place))
			end++;
		while (end > 0 && records->records[end - 1].operation != 0)
			end--;
	}
	while (range->to_time_ns && end > 0 &&
	       records->records[end - 1].time_ns >= range->to_time_ns)
		end--;
	return end;
}

static bool is_in_range(const struct tree_record *record, const struct tree_range *range)
{
	return record->time_ns >= range->from_time_ns;
}

/* The index of the first record of the range, and of the first behind it. */
static void bounds(const struct tree_records *records, const struct tree_range *range,
		   size_t *ret_first, size_t *ret_end)
{
	size_t end = first_behind(records, range), first = 0;

	/* An operation has the place of the packs that it came behind: what is before the first
	 * record of the range is not of it. */
	if (range->from_operation)
		while (first < end && records->records[first].operation != range->from_operation)
			first++;
	else if (range->from_place)
		while (first < end && (records->records[first].operation != 0 ||
				       records->records[first].place < range->from_place))
			first++;
	*ret_first = first;
	*ret_end = end;
}

static enum tree_selection selection_of(const struct tree_record *record,
					const struct tree_range *range)
{
	return !is_in_range(record, range) ? TREE_NEUTRAL
	       : range->select             ? range->select(record, range->data)
					   : TREE_SELECTED;
}

bool tree_range_selects(const struct tree_records *records, const struct tree_range *range,
			const struct tree_record *record)
{
	size_t first, end, index = (size_t)(record - records->records);

	bounds(records, range, &first, &end);
	return index >= first && index < end && selection_of(record, range) == TREE_SELECTED;
}

static int step_back(struct tree_walk *walk, const struct tree_record *record,
		     const struct tree_range *range)
{
	enum tree_selection selection = selection_of(record, range);

	if (selection != TREE_SELECTED)
		return tree_walk_pass(walk, record, selection == TREE_OTHER);
	int error = tree_walk_back(walk, record);
	if (error == 0 && record->kind == PACK_AFTER)
		tree_unseen_note(walk, record);
	return error;
}

/* Files that were mapped and closed before the point, by programs that went on behind it. */
static int note_mapped(const struct tree_records *records, size_t first,
		       const struct tree_range *range, struct tree_walk *walk)
{
	int error = 0;

	for (size_t i = 0; i < first && error == 0; i++) {
		const struct tree_record *record = &records->records[i];
		bool is_mapped = record->kind == PACK_AFTER && record->flags & PACK_MAPPED &&
				 !(record->flags & PACK_NO_NAME);
		if (is_mapped && record->time_ns < range->from_time_ns &&
		    range->lives_until(record, range->data) >= range->from_time_ns)
			error = tree_unseen_mapped(walk, record);
	}
	return error;
}

void tree_later_init(const struct tree_records *records, struct tree_later *ret_later)
{
	*ret_later = (struct tree_later){ .at = records->count };
}

void tree_later_free(struct tree_later *later)
{
	tree_walk_free(later->walk);
	later->walk = NULL;
}

static int walk_until(const struct tree_records *records, size_t end, struct tree_later *later)
{
	int error = later->at < end ? -EINVAL : 0;

	if (error == 0 && end < later->at && !later->walk) {
		later->walk = tree_walk_new();
		error = later->walk ? 0 : -ENOMEM;
	}
	while (error == 0 && later->at > end)
		error = tree_walk_back(later->walk, &records->records[--later->at]);
	return error;
}

/* later: of the records from `end` on. */
static int read_range(const struct tree_records *records, size_t first, size_t end,
		      const struct tree_range *range, struct tree_later *later,
		      struct tree_changes *ret_changes)
{
	struct reading reading = { .walk = tree_walk_new(),
				   .changes = ret_changes,
				   .list_moved = range->list_moved,
				   .for_undo = range->for_undo };
	int error = reading.walk ? walk_until(records, end, later) : -ENOMEM;

	*ret_changes = (struct tree_changes){ .walk = reading.walk };
	reading.base = ret_changes->base = later->walk;
	ret_changes->borrows_base = true;
	for (size_t i = end; i > first && error == 0; i--)
		error = step_back(reading.walk, &records->records[i - 1], range);
	if (error == 0 && range->from_time_ns && range->lives_until)
		error = note_mapped(records, first, range, reading.walk);
	if (error == 0 && range->from_time_ns)
		error = tree_unseen_mark(reading.walk, range->from_time_ns);
	for (size_t i = 0; i < records->count && !reading.base; i++)
		if (records->records[i].time_ns > reading.end_ns)
			reading.end_ns = records->records[i].time_ns;
	if (error == 0)
		error = collect(&reading);
	ret_changes->records = reading.walk ? reading.walk->records : 0;
	return error;
}

int tree_changes_read(const struct tree_records *records, const struct tree_range *range,
		      struct tree_changes *ret_changes)
{
	struct tree_later later;
	size_t first, end;

	tree_later_init(records, &later);
	bounds(records, range, &first, &end);
	int error = read_range(records, first, end, range, &later, ret_changes);
	ret_changes->base = later.walk;
	ret_changes->borrows_base = false;
	return error;
}

int tree_changes_between(const struct tree_records *records, size_t first, size_t end,
			 struct tree_later *later, struct tree_changes *ret_changes)
{
	const struct tree_range range = { .list_moved = true };

	return read_range(records, first, end, &range, later, ret_changes);
}

int tree_changes_disk(const struct tree_changes *changes, const char *path, int64_t time_ns,
		      struct tree_entry *ret_entry, enum tree_left *ret_left, bool *ret_conflict)
{
	int error = tree_state_of_base(changes->walk, NULL, path, ret_entry);
	const struct pack_state state = { .dev = ret_entry->dev,
					  .ino = ret_entry->ino,
					  .creation_ns = ret_entry->creation_ns };
	const struct tree_inode *inode = tree_inode_find(changes->walk, &state);

	*ret_left = TREE_CHANGED_SINCE;
	*ret_conflict = inode && inode->other;
	if (state.creation_ns > time_ns) {
		/* Its number was another file's then. It may be what an undo made in the place of that: of
		 * such a file it is not on record when it was made. */
		ret_entry->exists = inode != NULL;
		return error;
	}
	if (inode && inode->object && inode->left)
		*ret_left = !has_state(inode->left, ret_entry)   ? TREE_CHANGED_SINCE
			    : !has_owner(inode->left, ret_entry) ? TREE_OWNER_DIFFERS
								 : TREE_AS_LEFT;
	else if (inode && inode->object && inode->changed && state.creation_ns &&
		 inode->creation_ns == state.creation_ns) /* left open: taken for the session's */
		*ret_left = TREE_AS_LEFT;
	return error;
}

void tree_changes_free(struct tree_changes *changes)
{
	free(changes->changes);
	tree_walk_free(changes->walk);
	if (!changes->borrows_base)
		tree_walk_free(changes->base);
	*changes = (struct tree_changes){ .count = 0 };
}
