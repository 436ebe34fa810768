/* The plan of an undo, made from changes: see schedule_make.h. */
#include "cli/undo/schedule_make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/git_unit.h"
#include "cli/undo/schedule_adjust.h"
#include "cli/undo/schedule_find.h"
#include "cli/undo/schedule_judge.h"
#include "cli/undo/schedule_links.h"
#include "cli/undo/schedule_stage.h"
#include "cli/undo/tree_entry.h"
#include "cli/undo/tree_memory.h"
#include "cli/undo/tree_state.h"

/* ---- a name ---- */

static bool is_object(const struct making *making, const struct tree_change *change)
{
	return making->git->classes[change - making->changes->changes] == GIT_OBJECT;
}

/* An object that was away is there again: a redo lets it stay, in a repository that was there before. */
static bool is_object_back(const struct making *making, enum schedule_verb verb,
			   const struct tree_change *change)
{
	const struct git_unit *unit = git_unit_of(making,
						  (size_t)(change - making->changes->changes));

	return verb == SCHEDULE_VERB_RESTORE && !change->after.exists && !change->moved_to &&
	       unit && !unit->is_made && is_object(making, change);
}

static int note(struct making *making, enum schedule_verb verb, const struct tree_change *change,
		const char *from)
{
	struct schedule_report *report = making->report;

	report->lines[report->line_count++] = (struct schedule_line){
		.verb = verb,
		.path = change->path,
		.from = from,
		.directory = S_ISDIR(verb == SCHEDULE_VERB_REMOVE ? change->after.mode
								  : change->before.mode),
		.is_object = is_object_back(making, verb, change),
	};
	return 0;
}

/* What has the name now goes.  ret_stays: it stays, and becomes what it was. */
static int make_leave(struct making *making, const struct tree_change *change, bool *ret_stays)
{
	char staged[SCHEDULE_STAGED_BYTES];
	const struct tree_entry *was = &change->before, *now = &change->after;

	*ret_stays = false;
	if (!now->exists)
		return 0;
	if (change->moved_from == change->path && !making_is_taken(making, change->path, false)) {
		*ret_stays = true; /* so do the directories */
		return 0;
	}
	if (change->moved_from) {
		if (making_carrier(making, change))
			return 0;
		schedule_stage_path(making, change, staged);
		return making_add(making, SCHEDULE_STAGE, change->path, staged, NULL, now);
	}
	*ret_stays = was->exists && !change->moved_to && S_ISDIR(was->mode) == S_ISDIR(now->mode) &&
		     !making_is_taken(making, change->path, false);
	if (*ret_stays || making_goes_along(making, change))
		return 0;
	if (!was->exists)
		(void)note(making, SCHEDULE_VERB_REMOVE, change, NULL);
	return making_add(making, S_ISDIR(now->mode) ? SCHEDULE_RMDIR : SCHEDULE_REMOVE,
			  change->path, NULL, NULL, now);
}

/* A copy of the path of the directory above; NULL: out of memory, or there is none. */
static char *directory_above(const struct making *making, const char *path)
{
	const char *end = strrchr(path, '/');

	return end && end > path
		       ? tree_memory_text(making->changes->walk->memory, path, (size_t)(end - path))
		       : NULL;
}

/* Does a directory above get another name? */
static bool is_below_moved(const struct making *making, const char *path)
{
	char above[PACK_PATH_BYTES_MAX + 1];

	if (!making->has_moved || strlen(path) >= sizeof(above))
		return making->has_moved;
	strcpy(above, path);
	for (char *slash; (slash = strrchr(above, '/')) && slash != above;) {
		*slash = '\0';
		const struct tree_change *change = making_find(making, above);
		if (change && (change->moved_from || change->moved_to))
			return true;
	}
	return false;
}

/* The extended attributes of what an undo removed: their records come just before.  NULL: none, or no memory. */
static const struct tree_attribute *attributes_of(const struct making *making,
						  const struct tree_record *removed)
{
	struct tree_attribute *attributes = NULL;

	for (size_t i = (size_t)(removed - making->records->records); i-- > 0;) {
		const struct tree_record *record = &making->records->records[i];
		if (record->operation != removed->operation || !(record->flags & PACK_GOING) ||
		    strcmp(record->path, removed->path) != 0)
			break;
		struct tree_attribute *one = tree_memory_get(making->changes->walk->memory,
							     sizeof(*one));
		if (!one)
			break;
		*one = (struct tree_attribute){ .next = attributes, .record = record };
		attributes = one;
	}
	return attributes;
}

/* How a directory was that an undo before removed: it took back the step alone that made it. */
static bool was_removed(const struct making *making, const char *directory,
			struct tree_entry *ret_was)
{
	const struct tree_records *records = making->records;
	const struct tree_record *last = NULL;

	for (size_t i = making->options->number > 1 ? records->count : 0; i-- > 0 && !last;) {
		const struct tree_record *record = &records->records[i];
		if (!record->failed && pack_is_change(record->kind) &&
		    (strcmp(record->path, directory) == 0 || strcmp(record->other, directory) == 0))
			last = record;
	}
	if (!last || !last->operation || last->kind != PACK_REMOVED ||
	    !S_ISDIR(last->before.mode) || is_below_moved(making, directory))
		return false;
	*ret_was = (struct tree_entry){
		.exists = true,
		.known = true,
		.mode = last->before.mode,
		.uid = last->before.uid,
		.gid = last->before.gid,
		.mtime_ns = last->before.mtime_ns,
		.attributes = attributes_of(making, last),
	};
	return true;
}

/* git removes the directory of objects that it has packed.  One that comes back needs it, as the directory
 * above is. */
static int find_wanted(const struct making *making, bool is_object, const char *directory,
		       struct tree_entry *ret_wanted)
{
	if (was_removed(making, directory, ret_wanted))
		return 0;
	*ret_wanted = (struct tree_entry){ .exists = false };
	const char *objects = is_object ? directory_above(making, directory) : NULL;
	if (!objects)
		return is_object ? -ENOMEM : 0;
	return tree_state_of_base(making->changes->walk, NULL, objects, ret_wanted);
}

static int make_directory(struct making *making, bool is_object, const char *directory,
			  const struct tree_entry *wanted)
{
	struct schedule_report *report = making->report;
	size_t capacity = 2 * making->changes->count + 1 + ++making->made_count;
	struct schedule_line *more = reallocarray(report->lines, capacity, sizeof(*more));

	if (!more)
		return -ENOMEM;
	report->lines = more;
	more[report->line_count++] = (struct schedule_line){
		.verb = SCHEDULE_VERB_RESTORE,
		.path = directory,
		.directory = true,
		.is_object = is_object,
	};
	return making_new(making, directory, wanted);
}

/* What comes back needs the directory that it was in, which no change may be about. */
static int make_above(struct making *making, bool is_object, const char *path)
{
	size_t length = (size_t)(strrchr(path, '/') - path);
	struct tree_entry there, wanted;

	if (length == 0 || (making->above && strncmp(making->above, path, length) == 0 &&
			    (!making->above[length] || making->above[length] == '/')))
		return 0;
	const char *directory = directory_above(making, path);
	if (!directory)
		return -ENOMEM;
	const struct tree_change *own = making_find(making, directory);
	bool comes = own && making->fates[own - making->changes->changes] == FATE_OPEN;
	int error = comes ? 0 : tree_state_of_base(making->changes->walk, NULL, directory, &there);
	if (error == 0 && !comes && !there.exists) {
		error = find_wanted(making, is_object, directory, &wanted);
		if (error < 0 || !wanted.exists)
			return error;
		error = make_above(making, false, directory);
		if (error == 0)
			error = make_directory(making, is_object, directory, &wanted);
	}
	making->above = directory;
	return error;
}

/* What the items from one on do to a name. */
static enum schedule_verb verb_of(const struct schedule *plan, size_t first)
{
	enum schedule_verb verb = SCHEDULE_VERB_META;

	for (size_t i = first; i < plan->count; i++)
		if (plan->items[i].kind != SCHEDULE_META &&
		    plan->items[i].kind != SCHEDULE_ATTRIBUTE)
			verb = SCHEDULE_VERB_RESTORE;
	return verb;
}

/* What had the name before is there again. */
static int make_arrive(struct making *making, const struct tree_change *change, bool stays)
{
	char staged[SCHEDULE_STAGED_BYTES];
	const struct tree_entry *was = &change->before;
	size_t items = making->plan->count;
	int error = 0;

	if (!was->exists)
		return 0;
	const struct tree_change *from = change->moved_to ? making_find(making, change->moved_to)
							  : NULL;
	if (!stays)
		error = make_above(making, is_object(making, change), change->path);
	if (error < 0)
		return error;
	if (!change->moved_to || stays) {
		error = stays ? making_adjust(making, change->path, was, &change->after,
					      change->path)
			      : making_new(making, change->path, was);
		bool is_noted = !change->moved_to || making->plan->count > items;
		return error || !is_noted
			       ? error
			       : note(making, verb_of(making->plan, items), change, NULL);
	}
	if (!from || !from->after.exists)
		return 0;
	if (!making_carrier(making, from)) {
		schedule_stage_path(making, from, staged);
		error = making_add(making, SCHEDULE_PLACE, change->path, staged, NULL,
				   &from->after);
		if (from != change)
			(void)note(making, SCHEDULE_VERB_RENAME, change, from->path);
	} else if (from != change) {
		(void)note(making, SCHEDULE_VERB_RESTORE, change, NULL);
	}
	const size_t adjustments = making->plan->count;
	if (error == 0)
		error = making_adjust(making, change->path, was, &from->after, from->path);
	/* it has had its name all the time */
	if (from == change && making->plan->count > adjustments)
		(void)note(making, verb_of(making->plan, adjustments), change, NULL);
	for (; items < making->plan->count; items++)
		making->plan->items[items].found.ctime_ns = 0;
	return error;
}

/* What gets a content that was made for it keeps all else. */
static int make_merged(struct making *making, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	const struct making_merge *merge = &making->merges[index];
	const struct merge_text *text = &making->plan->merged[merge->number - 1];
	bool in_place = change->after.nlink > 1;
	struct tree_entry wanted = change->after;

	wanted.mode = merge->mode ? merge->mode : wanted.mode;
	int error = making_add(making, in_place ? SCHEDULE_WRITE : SCHEDULE_SWAP, change->path,
			       NULL, &wanted, &change->after);

	if (error < 0)
		return error;
	struct schedule_item *item = &making->plan->items[making->plan->count - 1];
	item->flags = SCHEDULE_MERGED;
	item->content_place = merge->number;
	item->content_operation = 0;
	item->wanted.size_bytes = text->size;
	(void)note(making, merge->verb, change, NULL);
	making->report->lines[making->report->line_count - 1].conflicts = merge->conflicts;
	return 0;
}

/* ---- the order ---- */

enum phase { PHASE_LEAVE, PHASE_ARRIVE, PHASE_LINK, PHASE_WRITE, PHASE_ATTRIBUTE, PHASE_META };

static int phase_of(const struct schedule_item *item)
{
	switch (item->kind) {
	case SCHEDULE_REMOVE:
	case SCHEDULE_RMDIR:
	case SCHEDULE_STAGE:
		return PHASE_LEAVE;
	case SCHEDULE_LINK:
	case SCHEDULE_RELINK:
		return PHASE_LINK;
	case SCHEDULE_WRITE: /* names that go, or become another file, are compared before */
		return PHASE_WRITE;
	case SCHEDULE_ATTRIBUTE:
		return PHASE_ATTRIBUTE;
	case SCHEDULE_META:
		return PHASE_META;
	default:
		return PHASE_ARRIVE;
	}
}

static int by_order(const void *a, const void *b, void *data)
{
	const struct schedule *plan = data;
	const struct schedule_item *left = a, *right = b;
	int phase = phase_of(left);

	if (phase != phase_of(right))
		return phase - phase_of(right);
	int order = strcmp(schedule_text(plan, left->path), schedule_text(plan, right->path));
	if (order == 0) /* PLACE, then SWAP */
		return (left->kind > right->kind) - (left->kind < right->kind);
	return phase == PHASE_LEAVE || phase == PHASE_META ? -order : order;
}

static int make(struct making *making)
{
	const struct tree_changes *changes = making->changes;
	bool stays;

	making->report->lines = calloc(2 * changes->count + 1, sizeof(*making->report->lines));
	int error = making->report->lines ? making_judge(making) : -ENOMEM;
	for (size_t i = 0; i < changes->count && error == 0; i++) {
		if (making->fates[i] == FATE_MERGE)
			error = make_merged(making, i);
		if (making->fates[i] != FATE_OPEN)
			continue;
		error = make_leave(making, &changes->changes[i], &stays);
		if (error == 0)
			error = make_arrive(making, &changes->changes[i], stays);
	}
	return error ? error : making_link(making);
}

int schedule_make(const struct tree_records *records, const struct tree_changes *changes,
		  const struct schedule_options *options, struct schedule *ret_plan,
		  struct schedule_report *ret_report)
{
	struct making making = { .records = records,
				 .changes = changes,
				 .options = options,
				 .plan = ret_plan,
				 .report = ret_report };

	*ret_plan = (struct schedule){ .head = { .magic = OPERATION_MAGIC,
						 .state = OPERATION_STARTED,
						 .number = options->number } };
	*ret_report = (struct schedule_report){ .line_count = 0 };
	(void)tree_entry_shortage();
	int error = make(&making);
	/* What could not be read now would count as lost, and a redo that leaves it is never asked for it again. */
	int shortage = tree_entry_shortage();
	error = error ? error : shortage;
	free(making.fates);
	free(making.merges);
	free(making.shared);
	git_units_free(making.git);
	free(making.names.names);
	if (error == 0 && ret_plan->count)
		qsort_r(ret_plan->items, ret_plan->count, sizeof(*ret_plan->items), by_order,
			ret_plan);
	return error ? error : schedule_resolve(ret_plan, records);
}

void schedule_report_free(struct schedule_report *report)
{
	free(report->lines);
	free(report->left);
	*report = (struct schedule_report){ .line_count = 0 };
}
