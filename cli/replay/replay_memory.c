/* What is known of sessions: see replay_memory.h. */
#include "cli/replay/replay_memory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/answer/delivery.h"
#include "tracker/path/path.h"

enum { LINES_MAX = 1 << 24 }; /* of one file */

/* ---- tables ---- */

void **memory_at(struct table *table, uint64_t key)
{
	key += key == 0;
	if (table->count * 2 >= table->capacity) {
		struct table grown = { .capacity = table->capacity ? table->capacity * 2 : 64,
				       .count = table->count };
		grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
		if (!grown.slots)
			return NULL;
		for (size_t i = 0; i < table->capacity; i++) {
			size_t at = table->slots[i].key % grown.capacity;
			while (table->slots[i].key && grown.slots[at].key)
				at = (at + 1) % grown.capacity;
			if (table->slots[i].key)
				grown.slots[at] = table->slots[i];
		}
		free(table->slots);
		*table = grown;
	}
	size_t at = key % table->capacity;
	while (table->slots[at].key && table->slots[at].key != key)
		at = (at + 1) % table->capacity;
	if (!table->slots[at].key) {
		table->slots[at].key = key;
		table->count++;
	}
	return &table->slots[at].value;
}

int memory_mark(struct table *table, uint64_t key)
{
	static char there;
	void **at = memory_at(table, key);

	if (!at)
		return -ENOMEM;
	int was_there = *at != NULL;
	*at = &there;
	return was_there;
}

static void *table_get(const struct table *table, uint64_t key)
{
	key += key == 0;
	if (!table->capacity)
		return NULL;
	for (size_t at = key % table->capacity; table->slots[at].key;
	     at = (at + 1) % table->capacity)
		if (table->slots[at].key == key)
			return table->slots[at].value;
	return NULL;
}

static void table_free(struct table *table, void (*free_value)(void *))
{
	for (size_t i = 0; free_value && i < table->capacity; i++)
		if (table->slots[i].value)
			free_value(table->slots[i].value);
	free(table->slots);
	*table = (struct table){ .slots = NULL };
}

uint64_t memory_mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t words[3] = { a, b, c };
	return XXH3_64bits(words, sizeof(words));
}

static void free_record_list(struct record *record)
{
	while (record) {
		struct record *next = record->next;
		free(record->lines);
		free(record->whole_lines);
		free(record->given);
		free(record);
		record = next;
	}
}

static void free_file(void *value)
{
	struct file *file = value;
	free_record_list(file->records);
	free(file);
}

static void free_searched(void *value)
{
	struct searched *searched = value;

	if (searched)
		free(searched->lines);
	free(searched);
}

static void free_session(struct session *session)
{
	table_free(&session->files, free_file);
	table_free(&session->by_base, NULL);
	table_free(&session->answers, NULL);
	table_free(&session->requests, free);
	table_free(&session->searches, free_searched);
	table_free(&session->scopes, free);
	segment_unmap(&session->segment);
	free(session->root);
	*session = (struct session){ .id = 0 };
}

struct session *memory_session(struct replay_memory *known, uint64_t id, bool *ret_new)
{
	struct session *oldest = &known->sessions[0];

	*ret_new = false;
	for (size_t i = 0; i < MEMORY_SESSIONS_MAX; i++) {
		struct session *session = &known->sessions[i];
		if (session->id == id) {
			session->used = ++known->tick;
			return session;
		}
		if (session->used < oldest->used)
			oldest = session;
	}
	free_session(oldest);
	oldest->id = id;
	oldest->used = ++known->tick;
	*ret_new = true;
	return oldest;
}

void memory_free(struct replay_memory *known)
{
	for (size_t i = 0; i < MEMORY_SESSIONS_MAX; i++)
		free_session(&known->sessions[i]);
}

struct scope *memory_scope(struct session *session, uint64_t id, bool *ret_new)
{
	void **at = memory_at(&session->scopes, id);

	*ret_new = false;
	if (!at || *at)
		return at ? *at : NULL;
	struct scope *scope = calloc(1, sizeof(*scope));
	if (scope) {
		*scope = (struct scope){ .id = id, .epoch = 1 };
		*at = scope;
		*ret_new = true;
	}
	return scope;
}

uint64_t memory_path(const char *directory, const char *path, uint64_t *ret_base)
{
	char normal[PATH_MAX];

	if (path_normalize(directory, path, normal, sizeof(normal)) >= 0)
		path = normal;
	else
		path += strncmp(path, "./", 2) == 0 ? 2 : 0;
	const char *base = path_base(path);
	*ret_base = XXH3_64bits(base, strlen(base));
	return XXH3_64bits(path, strlen(path));
}

struct file *memory_file(struct session *session, const char *directory, const char *path,
			 bool makes)
{
	uint64_t base, key = memory_path(directory, path, &base);

	if (!makes)
		return table_get(&session->files, key);
	void **at = memory_at(&session->files, key), **first;
	if (!at || *at)
		return at ? *at : NULL;
	struct file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	*file = (struct file){ .base = base, .generation = 1 };
	*at = file;
	first = memory_at(&session->by_base, base);
	if (first) {
		file->same_base = *first;
		*first = file;
	}
	return file;
}

struct record *memory_record(struct file *file, uint64_t scope_id, enum replay_way way, bool makes)
{
	for (struct record *record = file->records; record; record = record->next)
		if (record->scope_id == scope_id && record->way == way)
			return record;
	struct record *record = makes ? calloc(1, sizeof(*record)) : NULL;
	if (record) {
		*record = (struct record){ .next = file->records,
					   .scope_id = scope_id,
					   .way = way };
		file->records = record;
	}
	return record;
}

/* ---- what was given, and whether that still counts ---- */

struct delivered_at memory_now(const struct scope *scope, enum replay_way way,
			       const struct file *file, uint64_t time_ns)
{
	return (struct delivered_at){ .epoch = scope->epoch,
				      .generation = file ? file->generation : 0,
				      .request = scope->measures[way].requests,
				      .bytes = scope->measures[way].bytes,
				      .time_ns = time_ns,
				      .is_delivery = true };
}

bool memory_is_current(const struct settings *settings, const struct delivered_at *given,
		       const struct delivered_at *now)
{
	bool is_timed = settings->window_age_s && given->time_ns && now->time_ns;

	return given->is_delivery && given->epoch == now->epoch &&
	       !(is_timed && now->time_ns < given->time_ns) &&
	       window_holds(settings, now->request - given->request, now->bytes - given->bytes,
			    is_timed ? now->time_ns - given->time_ns : 0);
}

static const struct memory_line *line_at(const struct record *record, uint64_t number)
{
	return record && number <= record->line_count && record->lines[number - 1].given_at
		       ? &record->lines[number - 1]
		       : NULL;
}

static bool same_line(const struct memory_line *known, const struct line_key *line)
{
	return known && known->line.hash == line->hash && known->line.bytes == line->bytes;
}

static bool is_known(const struct file *file, const struct scope *scope, uint64_t number,
		     const struct line_key *line, enum knowers who)
{
	for (const struct record *record = file->records; record; record = record->next) {
		const struct memory_line *known = line_at(record, number);
		if (!same_line(known, line))
			continue;
		if (who == ANY_SCOPE)
			return true;
		if (record->scope_id != scope->id)
			continue;
		if (who == THIS_SCOPE || record->given[known->given_at - 1].epoch == scope->epoch)
			return true;
	}
	return false;
}

bool memory_lines(const struct file *file, const struct scope *scope, const struct shown *shown,
		  enum knowers who)
{
	for (size_t i = 0; i < shown->count; i++)
		if (!is_known(file, scope, shown->first + i, &shown->lines[i], who))
			return false;
	return shown->count > 0;
}

bool memory_line_ranges(const struct settings *settings, const struct file *file,
			const struct record *record, const struct shown *shown,
			const struct delivered_at *now)
{
	for (size_t i = 0; i < shown->count; i++) {
		const struct memory_line *known = line_at(record, shown->first + i);
		if (!same_line(known, &shown->lines[i]))
			return false;
		const struct delivered_at *given = &record->given[known->given_at - 1];
		if (given->generation != file->generation ||
		    !memory_is_current(settings, given, now))
			return false;
	}
	return shown->count > 0;
}

struct line_key *memory_whole(const struct record *record, size_t *ret_count)
{
	size_t count = record->whole_lines ? record->whole_count : record->line_count;
	struct line_key *lines = malloc((count + 1) * sizeof(*lines));

	for (size_t i = 0; lines && i < count; i++)
		lines[i] = record->whole_lines ? record->whole_lines[i] : record->lines[i].line;
	*ret_count = count;
	return lines;
}

/* Before lines of another version are put among those of the last whole one. */
static int keep_whole(struct record *record, const struct shown *shown)
{
	bool differs = false;

	if (shown->whole) {
		free(record->whole_lines);
		record->whole_lines = NULL;
		return 0;
	}
	for (size_t i = 0; i < shown->count && !differs; i++) {
		const struct memory_line *known = line_at(record, shown->first + i);
		differs = !known || !same_line(known, &shown->lines[i]);
	}
	if (!record->has_whole || record->whole_lines || !differs)
		return 0;
	record->whole_lines = memory_whole(record, &record->whole_count);
	return record->whole_lines ? 0 : -ENOMEM;
}

int memory_deliver(struct record *record, const struct shown *shown,
		   const struct delivered_at *given)
{
	uint64_t end = shown->first - 1 + shown->count;

	if (!shown->count || end > LINES_MAX)
		return 0;
	if (keep_whole(record, shown) < 0)
		return -ENOMEM;
	if (record->given_count == record->given_capacity) {
		size_t capacity = record->given_capacity ? record->given_capacity * 2 : 4;
		struct delivered_at *grown = realloc(record->given, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		record->given = grown;
		record->given_capacity = capacity;
	}
	record->given[record->given_count++] = *given;
	if (end > record->line_capacity) {
		size_t capacity = record->line_capacity ? end + end / 4
							: end; /* most files are read once */
		struct memory_line *grown = realloc(record->lines, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		record->lines = grown;
		record->line_capacity = capacity;
	}
	for (; record->line_count < end; record->line_count++)
		record->lines[record->line_count] = (struct memory_line){ .given_at = 0 };
	for (size_t i = 0; i < shown->count; i++)
		record->lines[shown->first - 1 + i] = (struct memory_line){
			shown->lines[i], (uint32_t)record->given_count
		};
	/* A whole file has no lines beyond. */
	if (shown->whole)
		record->line_count = end;
	return 0;
}

void memory_forget(struct record *record)
{
	for (size_t i = 0; i < record->given_count; i++)
		record->given[i].epoch = 0;
	record->whole.epoch = 0;
}

/* ---- changes ---- */

void memory_change(struct session *session, struct file *file)
{
	session->changes++;
	if (file) {
		file->generation++;
		file->version = 0;
	}
}

void memory_run(struct session *session, const char *line)
{
	static const char SEPARATORS[] = " \t\n\r'\"`;|&<>(){}=,:$";

	session->changes++;
	for (const char *at = line; *at;) {
		at += strspn(at, SEPARATORS);
		size_t length = strcspn(at, SEPARATORS), start = length;
		while (start > 0 && at[start - 1] != '/')
			start--;
		uint64_t base = XXH3_64bits(at + start, length - start);
		for (struct file *file = table_get(&session->by_base, base); file;
		     file = file->same_base) {
			file->generation++;
			file->version = 0;
		}
		at += length;
	}
}

void memory_compare(struct session *session, struct file *file, const struct shown *shown)
{
	bool differs = shown->whole && file->version && file->version != shown->version;

	for (const struct record *record = file->records; !differs && record; record = record->next)
		for (size_t i = 0; !differs && i < shown->count; i++) {
			const struct memory_line *known = line_at(record, shown->first + i);
			differs = known && !same_line(known, &shown->lines[i]) &&
				  record->given[known->given_at - 1].generation == file->generation;
		}
	if (differs)
		memory_change(session, file);
	if (shown->whole)
		file->version = shown->version;
}
