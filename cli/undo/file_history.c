/* What became of one file: see file_history.h. */
#include "cli/undo/file_history.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/argument.h"

/* What a record means for the file. */
enum role {
	ROLE_FOUND,   /* `before` is what was there: CONTENT, REPLACED, REMOVED */
	ROLE_MADE,    /* nothing was there */
	ROLE_ARRIVED, /* a rename put another file in its place, or where nothing was */
	ROLE_LEFT,    /* AFTER */
	ROLE_GONE, /* an undo or redo renamed it: what it made of that name later may be the same again */
	ROLE_SET, /* METADATA */
};

struct event {
	const struct tree_record *record;
	enum role role;
};

struct events {
	struct event *items;
	size_t count;
};

static int add_event(struct events *events, const struct tree_record *record, enum role role)
{
	if ((events->count & (events->count - 1)) == 0) {
		size_t wanted = events->count ? 2 * events->count : 1;
		struct event *more = reallocarray(events->items, wanted, sizeof(*more));
		if (!more)
			return -ENOMEM;
		events->items = more;
	}
	events->items[events->count++] = (struct event){ record, role };
	return 0;
}

/* ---- its records, the youngest first ---- */

struct search {
	const struct tree_records *records;
	char name[PATH_MAX]; /* of the file at this point */
	bool follows, is_over;
	struct events *events;
};

/* Did the same call destroy what had the name?  Its record comes just before. */
static bool replaces(const struct search *search, size_t index)
{
	enum { NEAR = 4 };
	const struct tree_record *renamed = &search->records->records[index];

	for (size_t i = index; i > 0 && index - i < NEAR; i--) {
		const struct tree_record *record = &search->records->records[i - 1];
		if (record->kind == PACK_REPLACED && record->process == renamed->process &&
		    record->operation == renamed->operation &&
		    strcmp(record->path, search->name) == 0)
			return true;
	}
	return false;
}

/* The name before a rename; also of a directory above. */
static void follow(struct search *search, const struct tree_record *record)
{
	char name[PATH_MAX];
	size_t length = strlen(record->other);

	if (!search->follows) {
		search->is_over = true;
		return;
	}
	if (snprintf(name, sizeof(name), "%s%s", record->path, search->name + length) <
	    (int)sizeof(name))
		memcpy(search->name, name, sizeof(name));
	else
		search->is_over = true;
}

static int search_rename(struct search *search, size_t index)
{
	const struct tree_record *record = &search->records->records[index];

	if (record->other[0] == '/' && argument_is_below(search->name, record->other)) {
		bool is_itself = strcmp(search->name, record->other) == 0;
		if (is_itself && replaces(search, index))
			return add_event(search->events, record, ROLE_ARRIVED);
		follow(search, record);
	} else if (argument_is_below(search->name, record->path)) {
		if (record->operation && search->follows)
			return add_event(search->events, record, ROLE_GONE);
		/* What had this name before went elsewhere: it is another file. */
		search->is_over = true;
	}
	return 0;
}

static int search_one(struct search *search, size_t index)
{
	static const signed char ROLES[PACK_KIND_COUNT] = {
		[PACK_NONE] = -1,
		[PACK_REMOVED] = ROLE_FOUND,
		[PACK_REPLACED] = ROLE_FOUND,
		[PACK_RENAMED] = -1,
		[PACK_EXCHANGED] = -1,
		[PACK_CREATED] = ROLE_MADE,
		[PACK_CONTENT] = ROLE_FOUND,
		[PACK_METADATA] = ROLE_SET,
		[PACK_LINKED] = -1,
		[PACK_AFTER] = ROLE_LEFT,
		[PACK_OPEN] = -1,
		[PACK_EXCLUDED] = -1,
		[PACK_BOUNDARY] = -1,
	};
	const struct tree_record *record = &search->records->records[index];
	int role = record->kind < PACK_KIND_COUNT ? ROLES[record->kind] : -1;

	if (record->failed)
		return 0;
	if (record->kind == PACK_RENAMED)
		return search_rename(search, index);
	if (record->kind == PACK_EXCHANGED)
		search->is_over = search->is_over ||
				  argument_is_below(search->name, record->path) ||
				  argument_is_below(search->name, record->other);
	if (record->kind == PACK_LINKED && strcmp(search->name, record->other) == 0)
		return add_event(search->events, record, ROLE_ARRIVED);
	if (role < 0 || strcmp(search->name, record->path) != 0)
		return 0;
	return add_event(search->events, record, (enum role)role);
}

/* ---- changes, the oldest first ---- */

bool file_state_is(const struct file_state *one, const struct file_state *other)
{
	if (!one->known || !other->known || one->exists != other->exists)
		return false;
	return !one->exists ||
	       (one->state.ino == other->state.ino && one->state.dev == other->state.dev &&
		one->state.size_bytes == other->state.size_bytes &&
		one->state.mtime_ns == other->state.mtime_ns);
}

static bool holds(const struct tree_record *record)
{
	return record->held == PACK_INLINE || record->held == PACK_LINK ||
	       record->held == PACK_REFLINK || record->held == PACK_COPY;
}

static struct file_state state_of(const struct tree_record *record)
{
	return (struct file_state){ .known = true,
				    .exists = true,
				    .state = record->before,
				    .content = holds(record) ? record : NULL };
}

/* What the writer of a file left under another name, before it was renamed. */
static const struct tree_record *left_elsewhere(const struct tree_records *records,
						const struct tree_record *renamed)
{
	struct file_state wanted = state_of(renamed);

	for (size_t i = (size_t)(renamed - records->records); i > 0; i--) {
		const struct tree_record *record = &records->records[i - 1];
		if (record->kind != PACK_AFTER || !holds(record))
			continue;
		struct file_state state = state_of(record);
		if (file_state_is(&wanted, &state))
			return record;
	}
	return NULL;
}

static int add_change(struct file_history *history, const struct tree_record *record,
		      const struct file_state *before)
{
	if ((history->count & (history->count - 1)) == 0) {
		size_t wanted = history->count ? 2 * history->count : 1;
		struct file_change *more = reallocarray(history->changes, wanted, sizeof(*more));
		if (!more)
			return -ENOMEM;
		history->changes = more;
	}
	history->changes[history->count++] = (struct file_change){ .record = record,
								   .before = *before };
	return 0;
}

/* The one that was added last; NULL: there is none, or `error`. */
static struct file_change *last_of(const struct file_history *history, int error)
{
	return history->count && error == 0 ? &history->changes[history->count - 1] : NULL;
}

static int note_arrived(const struct tree_records *records, struct file_history *history,
			const struct tree_record *record)
{
	const struct file_state nothing = { .known = true };
	struct file_change *last = last_of(history, 0);
	int error = 0;

	if (!last || last->record->kind != PACK_REPLACED) {
		error = add_change(history, record, &nothing);
		last = last_of(history, error);
	}
	if (last) {
		last->after = state_of(record);
		last->after.content = left_elsewhere(records, record);
	}
	return error;
}

static int note_left(struct file_history *history, const struct tree_record *record)
{
	const struct file_state unknown = { .known = false };
	struct file_state state = state_of(record);
	struct file_change *last = last_of(history, 0);
	int error = 0;

	if (!last)
		return 0;
	const struct file_state *before = &last->after;
	if (!state.content && before->known && before->exists &&
	    before->state.ino == state.state.ino &&
	    before->state.size_bytes == state.state.size_bytes)
		state.content = before->content; /* its metadata was set */
	if (before->known && !file_state_is(before, &state) && state.content != before->content) {
		error = add_change(history, record, &unknown);
		last = last_of(history, error);
		if (last)
			last->continues = true;
	}
	if (last)
		last->after = state;
	return error;
}

static int note_event(const struct tree_records *records, struct file_history *history,
		      const struct event *event)
{
	const struct tree_record *record = event->record;
	const struct file_state state = state_of(record), nothing = { .known = true };
	struct file_change *last = last_of(history, 0);
	int error = 0;

	switch (event->role) {
	case ROLE_FOUND:
		error = add_change(history, record, &state);
		last = last_of(history, error);
		if (last && record->kind == PACK_REMOVED)
			last->after = nothing;
		break;
	case ROLE_MADE:
		error = add_change(history, record, &nothing);
		break;
	case ROLE_GONE:
		error = add_change(history, record, &(struct file_state){ .known = false });
		last = last_of(history, error);
		if (last)
			last->after = nothing;
		break;
	case ROLE_ARRIVED:
		error = note_arrived(records, history, record);
		break;
	case ROLE_LEFT:
		error = note_left(history, record);
		break;
	case ROLE_SET:
		/* Set by another one than left it: what its AFTER tells is no writer's. */
		if (last && last->after.known && !file_state_is(&last->after, &state))
			error = add_change(history, record, &state);
		break;
	}
	return error;
}

/* What one record does not hold, its neighbour may. */
static void fill_in(struct file_history *history)
{
	for (size_t i = 1; i < history->count; i++) {
		struct file_state *left = &history->changes[i - 1].after;
		struct file_state *found = &history->changes[i].before;
		if (!file_state_is(left, found))
			continue;
		if (!left->content)
			left->content = found->content;
		if (!found->content)
			found->content = left->content;
	}
}

int file_history_read(const struct tree_records *records, const char *path, bool follows,
		      struct file_history *ret_history)
{
	struct events events = { .count = 0 };
	struct search search = { .records = records, .follows = follows, .events = &events };
	int error = 0;

	*ret_history = (struct file_history){ .count = 0 };
	search.is_over = snprintf(search.name, sizeof(search.name), "%s", path) >=
			 (int)sizeof(search.name);
	for (size_t i = records->count; i > 0 && error == 0 && !search.is_over; i--)
		error = search_one(&search, i - 1);
	for (size_t i = events.count; i > 0 && error == 0; i--)
		error = note_event(records, ret_history, &events.items[i - 1]);
	free(events.items);
	if (error == 0)
		fill_in(ret_history);
	return error;
}

void file_history_free(struct file_history *history)
{
	free(history->changes);
	*history = (struct file_history){ .count = 0 };
}
