/* Reflogs in an undo: see git_log.h. */
#include "cli/undo/git_log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/undo/git_unit.h"
#include "cli/undo/schedule_find.h"

enum { LOG_BYTES_MAX = 1 << 30, HEX_BYTES = 2 * GIT_OID_BYTES_MAX + 1 };

static const char NAME[] = "logs/";

/* The ref that a log is of: "worktrees/w/HEAD" of "worktrees/w/logs/HEAD". */
static bool ref_of(const char *below, char *ret_name, size_t capacity)
{
	size_t worktree = git_find_worktree(below);

	if (strncmp(below + worktree, NAME, sizeof(NAME) - 1) != 0)
		return false;
	return snprintf(ret_name, capacity, "%.*s%s", (int)worktree, below,
			below + worktree + sizeof(NAME) - 1) < (int)capacity;
}

/* ---- its text ---- */

struct log_text {
	char *bytes;
	size_t size, capacity;
	bool failed; /* no memory */
};

static void append(struct log_text *text, const char *bytes, size_t size)
{
	if (size == 0)
		return;
	if (text->failed || text->size + size > text->capacity) {
		size_t capacity = 2 * (text->size + size);
		char *grown = text->failed ? NULL : realloc(text->bytes, capacity);
		text->failed = !grown;
		if (!grown)
			return;
		text->bytes = grown;
		text->capacity = capacity;
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
}

static const char *next_line(const char *line, const char *end)
{
	const char *found = memchr(line, '\n', (size_t)(end - line));

	return found ? found + 1 : end;
}

static bool has_line(const char *text, size_t size, const char *line, size_t length)
{
	const char *at = text;

	while ((at = memmem(at, size - (size_t)(at - text), line, length))) {
		if (at == text || at[-1] == '\n')
			return true;
		at++;
	}
	return false;
}

/* Are both objects of an entry there? */
static bool is_whole(struct git_objects *objects, const char *line, const char *end)
{
	unsigned char oid[GIT_OID_BYTES_MAX];

	for (int i = 0; i < 2; i++) {
		size_t bytes = line < end ? git_oid_read(line, (size_t)(end - line), oid) : 0;
		if (!bytes ||
		    !(git_oid_is_null(oid, bytes) || git_objects_have(objects, oid, bytes)))
			return false;
		line += 2 * bytes + 1;
	}
	return true;
}

/* All entries that there are, behind those of before that are not there any more. */
static void join(struct log_text *text, struct git_objects *objects, const char *was,
		 size_t was_size, const char *now, size_t now_size)
{
	const char *end = was + was_size;

	if (was_size > now_size || memcmp(was, now, was_size) != 0)
		for (const char *line = was; line < end; line = next_line(line, end)) {
			const char *next = next_line(line, end);
			if (!has_line(now, now_size, line, (size_t)(next - line)) &&
			    is_whole(objects, line, next))
				append(text, line, (size_t)(next - line));
		}
	append(text, now, now_size);
}

static void hex_of(const unsigned char *oid, size_t bytes, size_t width, char *ret_hex)
{
	ret_hex[0] = '\0';
	for (size_t i = 0; i < width; i++)
		(void)snprintf(ret_hex + 2 * i, HEX_BYTES - 2 * i, "%02x", bytes ? oid[i] : 0);
}

/* Whose entry it is: as of the one before it, which git wrote by the repository's configuration.  free() it;
 * NULL: no memory. */
static char *person_of(const struct log_text *text, size_t width)
{
	const char *end = text->bytes + text->size, *line = end, *close = NULL;
	size_t skip = 2 * (2 * width + 1);

	if (text->size > 1)
		for (line = end - 1; line > text->bytes && line[-1] != '\n';)
			line--;
	if ((size_t)(end - line) > skip)
		close = memchr(line + skip, '>', (size_t)(end - line) - skip);
	return close ? strndup(line + skip, (size_t)(close + 1 - line) - skip)
		     : strdup("seen <seen>");
}

struct log_change {
	unsigned char old_oid[GIT_OID_BYTES_MAX], new_oid[GIT_OID_BYTES_MAX];
	size_t old_bytes, new_bytes; /* 0: none */
};

static void append_entry(struct log_text *text, const struct log_change *change,
			 const char *message)
{
	enum { SECONDS_OF_MINUTE = 60, MINUTES_OF_HOUR = 60 };
	char old_hex[HEX_BYTES], new_hex[HEX_BYTES], *line = NULL;
	size_t width = change->new_bytes ? change->new_bytes : change->old_bytes;
	char *person = text->failed ? NULL : person_of(text, width);
	time_t now = time(NULL);
	struct tm local = { .tm_gmtoff = 0 };

	(void)localtime_r(&now, &local);
	long zone = local.tm_gmtoff / SECONDS_OF_MINUTE, minutes = labs(zone);
	hex_of(change->old_oid, change->old_bytes, width, old_hex);
	hex_of(change->new_oid, change->new_bytes, width, new_hex);
	int length = person ? asprintf(&line, "%s %s %s %lld %c%02ld%02ld\t%s\n", old_hex, new_hex,
				       person, (long long)now, zone < 0 ? '-' : '+',
				       minutes / MINUTES_OF_HOUR, minutes % MINUTES_OF_HOUR,
				       message)
			    : -1;
	if (length < 0)
		text->failed = true;
	else
		append(text, line, (size_t)length);
	free(person);
	if (length >= 0)
		free(line);
}

/* ---- a HEAD that is on no branch ---- */

static const char CHECKOUT[] = "\tcheckout: moving from ";

/* The last entry of a checkout; its length; 0: there is none. */
static size_t last_checkout(const char *text, size_t size, const char **ret_line)
{
	const char *end = text + size;
	size_t length = 0;

	for (const char *line = text; line < end; line = next_line(line, end)) {
		size_t bytes = (size_t)(next_line(line, end) - line);
		if (!memmem(line, bytes, CHECKOUT, sizeof(CHECKOUT) - 1))
			continue;
		*ret_line = line;
		length = bytes;
	}
	return length;
}

/* git status takes from the last checkout in the log what HEAD was detached at, and `git checkout -` where
 * it was before: the last one of then comes again, as git wrote it. */
static void append_checkout(struct log_text *text, struct git_objects *objects,
			    struct log_change *values, const char *was, size_t was_size)
{
	const char *wanted = NULL, *last = NULL;
	size_t length = last_checkout(was, was_size, &wanted);

	if (!length || (last_checkout(text->bytes, text->size, &last) == length &&
			memcmp(last, wanted, length) == 0))
		return;
	struct log_change moved = *values;
	size_t hex_bytes = 2 * git_oid_read(wanted, length, moved.new_oid);
	if (hex_bytes == 0 || length <= hex_bytes + 1)
		return;
	wanted += hex_bytes + 1;
	length -= hex_bytes + 1;
	moved.new_bytes = git_oid_read(wanted, length, moved.new_oid);
	if (!moved.new_bytes || !git_objects_have(objects, moved.new_oid, moved.new_bytes))
		return;
	const char *tab = memchr(wanted, '\t', length);
	char *message = strndup(tab + 1, (size_t)(wanted + length - tab - 1));
	if (!message) {
		text->failed = true;
		return;
	}
	message[strcspn(message, "\n")] = '\0';
	append_entry(text, &moved, message);
	free(message);
	memcpy(values->old_oid, moved.new_oid, sizeof(moved.new_oid));
	values->old_bytes = moved.new_bytes;
}

/* Will it be on no branch? */
static bool is_detached(const struct making *making, const struct git_unit *unit, const char *name)
{
	char *text = NULL;
	size_t size = 0;
	bool is = strcmp(name + git_find_worktree(name), "HEAD") == 0 &&
		  git_unit_read(making, unit, GIT_WANTED, name, &text, &size) == 0 &&
		  strncmp(text, "ref:", 4) != 0;

	free(text);
	return is;
}

/* ---- fates ---- */

/* Does a ref get another value?  Also one that names another branch with the same object. */
static bool is_changed(const struct making *making, struct git_unit *unit, const char *name,
		       struct log_change *ret_change)
{
	char *texts[2] = { NULL, NULL };
	size_t sizes[2] = { 0, 0 };

	ret_change->old_bytes = git_unit_value(making, unit, GIT_NOW, name, ret_change->old_oid);
	ret_change->new_bytes = git_unit_value(making, unit, GIT_WANTED, name, ret_change->new_oid);
	bool changed = ret_change->old_bytes != ret_change->new_bytes ||
		       memcmp(ret_change->old_oid, ret_change->new_oid, ret_change->new_bytes) != 0;
	for (int side = 0; side < 2 && !changed; side++)
		(void)git_unit_read(making, unit, side ? GIT_WANTED : GIT_NOW, name, &texts[side],
				    &sizes[side]);
	/* A ref that only moved to or from packed-refs is the same. */
	if (!changed && texts[0] && texts[1])
		changed = sizes[0] != sizes[1] || memcmp(texts[0], texts[1], sizes[0]) != 0;
	free(texts[0]);
	free(texts[1]);
	return changed;
}

/* What the log will hold.  changed: its ref gets another value. */
static void write_text(struct making *making, struct git_unit *unit, struct log_text *text,
		       struct git_objects *objects, const char *name, const struct merge_text *was,
		       const struct merge_text *now, struct log_change *values, bool changed)
{
	join(text, objects, was->bytes ? was->bytes : "", was->size, now->bytes, now->size);
	size_t joined = text->size;
	if (was->bytes && is_detached(making, unit, name))
		append_checkout(text, objects, values, was->bytes, was->size);
	if (changed || text->size != joined)
		append_entry(text, values, making->options->log_message);
}
static bool is_same_text(const struct log_text *text, const struct merge_text *now)
{
	return text->size == now->size &&
	       (text->size == 0 || memcmp(text->bytes, now->bytes, now->size) == 0);
}

/* changed: the log's ref gets another value. */
static int append_to(struct making *making, struct git_unit *unit, size_t index, const char *name,
		     struct log_change *values, bool changed)
{
	const struct tree_change *change = &making->changes->changes[index];
	struct git_objects *objects = git_unit_objects(making, unit);
	struct log_text text = { .size = 0 };
	struct merge_text was = { .bytes = NULL }, now = { .bytes = NULL };
	int error = objects ? tree_entry_read(making->records, &change->after, LOG_BYTES_MAX,
					      &now.bytes, &now.size)
			    : -ENOMEM;

	if (error < 0)
		return error == -ENOMEM ? error : 0;
	if (change->before.known && change->before.exists)
		(void)tree_entry_read(making->records, &change->before, LOG_BYTES_MAX, &was.bytes,
				      &was.size);
	write_text(making, unit, &text, objects, name, &was, &now, values, changed);
	bool is_same = !text.failed && is_same_text(&text, &now);
	free(was.bytes);
	free(now.bytes);
	const struct merge_text merged = { .bytes = text.bytes, .size = text.size };
	error = text.failed ? -ENOMEM
		: is_same   ? 0
			    : making_add_merged(making, index, &merged, SCHEDULE_VERB_APPEND, 0);
	if (is_same || error < 0)
		free(text.bytes);
	return error;
}

/* A log that stays keeps the directories above it. */
static void keep_above(struct making *making, const char *path)
{
	char above[PACK_PATH_BYTES_MAX + 1];

	if (strlen(path) >= sizeof(above))
		return;
	strcpy(above, path);
	for (char *slash; (slash = strrchr(above, '/')) && slash != above;) {
		*slash = '\0';
		const struct tree_change *change = making_find(making, above);
		unsigned char *fate = change ? &making->fates[change - making->changes->changes]
					     : NULL;
		if (fate && *fate == FATE_OPEN && !change->before.exists && !change->moved_from)
			*fate = FATE_ALREADY;
	}
}

/* Does a log that stays as it is lack what it held before?  So it does where what it holds cannot be read. */
static bool lacks_entries(const struct making *making, const struct tree_change *change)
{
	struct merge_text was = { .bytes = NULL }, now = { .bytes = NULL };
	bool lacks = change->before.known && change->before.exists;

	if (lacks && change->after.exists &&
	    tree_entry_read(making->records, &change->before, LOG_BYTES_MAX, &was.bytes,
			    &was.size) == 0 &&
	    tree_entry_read(making->records, &change->after, LOG_BYTES_MAX, &now.bytes,
			    &now.size) == 0) {
		const char *line = was.bytes, *end = was.bytes + was.size;
		for (lacks = false; line < end && !lacks; line = next_line(line, end))
			lacks = !has_line(now.bytes, now.size, line,
					  (size_t)(next_line(line, end) - line));
	}
	free(was.bytes);
	free(now.bytes);
	return lacks;
}

static int judge(struct making *making, struct git_unit *unit, size_t index)
{
	const struct tree_change *change = &making->changes->changes[index];
	unsigned char *fate = &making->fates[index];
	char name[PATH_MAX], renamed[PACK_PATH_BYTES_MAX + 1];
	struct log_change values = { .old_bytes = 0 };

	/* In a repository that gets another name, what the log will be is a change of that name. */
	if (*fate == FATE_APART || making_destination(making, change->path, renamed) ||
	    !ref_of(git_unit_below(unit, change->path), name, sizeof(name)) ||
	    S_ISDIR(change->after.exists ? change->after.mode : change->before.mode))
		return 0;
	bool changed = is_changed(making, unit, name, &values);
	bool is_there = values.new_bytes || strcmp(name + git_find_worktree(name), "HEAD") == 0;
	/* what another name has now comes back with that name's change */
	bool stays_away = !change->after.exists && !is_there && !change->moved_to;
	if (unit->is_left || stays_away) {
		*fate = unit->is_left && lacks_entries(making, change) ? FATE_LEFT + SCHEDULE_UNIT
								       : FATE_ALREADY;
	} else if (change->moved_from || change->moved_to || !change->after.exists || !is_there ||
		   (!values.new_bytes && !change->before.exists)) {
		return 0; /* it goes with its ref, or comes back with it, as in git */
	} else {
		*fate = FATE_ALREADY;
		int error = values.new_bytes
				    ? append_to(making, unit, index, name, &values, changed)
				    : 0;
		if (error < 0)
			return error;
	}
	if (change->after.exists)
		keep_above(making, change->path);
	return 0;
}

/* ---- what is no log ---- */

/* Is it as git writes it?  What cannot be read may be. */
static bool is_log_text(const struct making *making, const struct tree_entry *entry)
{
	unsigned char oid[GIT_OID_BYTES_MAX];
	char *text = NULL;
	size_t size = 0;
	bool is = true;

	if (!entry->known || !entry->exists || S_ISDIR(entry->mode))
		return true;
	if (!S_ISREG(entry->mode))
		return false;
	if (tree_entry_read(making->records, entry, LOG_BYTES_MAX, &text, &size) == 0 && size) {
		size_t hex_bytes = 2 * git_oid_read(text, size, oid);
		is = hex_bytes && size > hex_bytes &&
		     git_oid_read(text + hex_bytes + 1, size - hex_bytes - 1, oid);
	}
	free(text);
	return is;
}

static bool is_log(const struct making *making, const struct tree_change *change)
{
	const char *name = change->moved_to ? change->moved_to : change->moved_from;
	const struct tree_change *other = name ? making_find(making, name) : NULL;

	if (name && (!other || S_ISDIR(other->after.mode | other->before.mode) ||
		     making->git->classes[other - making->changes->changes] != GIT_LOG))
		return false;
	return is_log_text(making, &change->before) && is_log_text(making, &change->after);
}

int git_log_judge(struct making *making)
{
	const size_t count = making->changes->count;
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		struct git_unit *unit = git_unit_of(making, i);
		if (unit && making->git->classes[i] == GIT_LOG &&
		    !is_log(making, &making->changes->changes[i]))
			unit->has_other_files = true;
	}
	for (size_t i = 0; i < count && error == 0; i++) {
		struct git_unit *unit = git_unit_of(making, i);
		if (unit && making->git->classes[i] == GIT_LOG && !unit->is_made &&
		    !unit->has_other_files)
			error = judge(making, unit, i);
	}
	return error;
}
