/* What a session repeated: see replay.h. */
#include "cli/lib/replay.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/lib/command_line.h"
#include "cli/lib/line_diff.h"
#include "cli/lib/shown.h"
#include "cli/lib/tokens.h"
#include "tracker/decision.h"
#include "tracker/lines.h"
#include "tracker/notice.h"
#include "tracker/path.h"
#include "tracker/role.h"

enum {
	SESSIONS_MAX = 8,  /* that are remembered at a time */
	REQUESTS_MAX = 50, /* commands that a scope remembers */
	DIFF_HEADER_BYTES =
		410, /* of the line before a diff and its labels, without the path (cli/lib/answer_diff.c) */
	LINES_MAX = 1 << 24,
};

static const char *const CATEGORY_NAMES[][2] = {
#define REPLAY_CATEGORY(constant, word, text) { word, text },
	REPLAY_CATEGORIES(REPLAY_CATEGORY)
#undef REPLAY_CATEGORY
};

static const char *const SETTING_NAMES[][2] = {
#define REPLAY_SETTING(constant, word, text) { word, text },
	REPLAY_SETTINGS(REPLAY_SETTING)
#undef REPLAY_SETTING
};

const char *replay_category_name(enum replay_category category)
{
	return CATEGORY_NAMES[category][0];
}

const char *replay_category_text(enum replay_category category)
{
	return CATEGORY_NAMES[category][1];
}

const char *replay_setting_name(enum replay_setting setting)
{
	return SETTING_NAMES[setting][0];
}

const char *replay_setting_text(enum replay_setting setting)
{
	return SETTING_NAMES[setting][1];
}

/* ---- a table: keys that are hashes, each with a pointer or a mere number ---- */

struct table {
	struct table_slot {
		uint64_t key; /* 0: free */
		void *value;
	} * slots;
	size_t count, capacity;
};

/* The place of a key; made where it is not there.  NULL: no memory.  value: NULL where it is new. */
static void **table_at(struct table *table, uint64_t key)
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

static void *table_get(const struct table *table, uint64_t key)
{
	key += key == 0;
	for (size_t at = table->capacity ? key % table->capacity : 0;
	     table->capacity && table->slots[at].key; at = (at + 1) % table->capacity)
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

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t words[3] = { a, b, c };
	return XXH3_64bits(words, sizeof(words));
}

/* ---- what is known of a session ---- */

/* The moment at which something was given, in a scope's measures for one way. */
struct given {
	uint64_t epoch;      /* 0: forgotten */
	uint64_t generation; /* of the file */
	uint64_t request, bytes, time_ns;
	bool is_delivery; /* by a viewer, or a part by head, tail, sed -n, kept to the output's limit: what the tracker counts */
};

/* A line as it was given last: its text, and the index of its `given`. */
struct known_line {
	struct shown_line line;
	uint32_t given_at; /* from 1; 0: the line was not given */
};

struct answered {
	uint64_t version, notice_request, yield_until, epoch;
};

/* What one scope was given of one file by one way. */
struct record {
	struct record *next; /* of the same file */
	uint64_t scope_id;
	enum replay_way way;
	struct known_line *lines;
	size_t line_count, line_capacity;
	struct given *given;
	size_t given_count, given_capacity;
	/* As it was given whole last. */
	bool has_whole;
	uint64_t whole_version, whole_lines;
	struct given whole;
	struct answered notes[REPLAY_SETTING_COUNT]; /* of each setting, as if it were alone */
};

struct file {
	uint64_t base;       /* hash of its last name */
	uint64_t generation; /* rises with each change that is known, from 1 */
	uint64_t version;    /* as it was shown whole last; 0: not */
	bool is_read;
	struct file *same_base;
	struct record *records;
};

/* A command that was given. */
struct remembered {
	uint64_t output, inputs,
		number; /* number: in the order in which the scope remembers them */
	struct given given;
	struct answered note;
};

struct measure {
	uint64_t requests, bytes;
};

struct scope {
	uint64_t id;
	uint64_t epoch; /* from 1 */
	uint64_t remembered;
	struct measure measures[REPLAY_WAY_COUNT];
};

struct session {
	uint64_t id, used;
	uint64_t changes;      /* edits and commands that may have changed anything */
	struct table files;    /* by path: struct file */
	struct table by_base;  /* by last name: the first struct file */
	struct table answers;  /* answers that were given: a set */
	struct table requests; /* by scope, folder and words: struct remembered */
	struct table scopes;   /* by id: struct scope */
};

struct replay {
	const struct config *config;
	struct segment segment; /* settings alone, for roles and notices */
	struct segment_header *header;
	struct settings *settings;
	char *text;
	struct session sessions[SESSIONS_MAX];
	uint64_t tick;
	uint64_t limit_bytes; /* of one command's output */
	struct replay_sums *sums;
	struct shown shown;
};

static void free_record_list(struct record *record)
{
	while (record) {
		struct record *next = record->next;
		free(record->lines);
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

static void free_session(struct session *session)
{
	table_free(&session->files, free_file);
	table_free(&session->by_base, NULL);
	table_free(&session->answers, NULL);
	table_free(&session->requests, free);
	table_free(&session->scopes, free);
	*session = (struct session){ .id = 0 };
}

static struct session *session_of(struct replay *replay, uint64_t id)
{
	struct session *oldest = &replay->sessions[0];

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *session = &replay->sessions[i];
		if (session->id == id) {
			session->used = ++replay->tick;
			return session;
		}
		if (session->used < oldest->used)
			oldest = session;
	}
	free_session(oldest);
	oldest->id = id;
	oldest->used = ++replay->tick;
	replay->sums->sessions++;
	return oldest;
}

static struct scope *scope_of(struct replay *replay, struct session *session, uint64_t id)
{
	void **at = table_at(&session->scopes, id);

	if (!at)
		return NULL;
	if (!*at) {
		struct scope *scope = calloc(1, sizeof(*scope));
		if (!scope)
			return NULL;
		*scope = (struct scope){ .id = id, .epoch = 1 };
		*at = scope;
		replay->sums->scopes++;
	}
	return *at;
}

/* The key of a path: absolute where that can be told. */
static uint64_t path_hash(const char *directory, const char *path, size_t path_bytes,
			  uint64_t *ret_base)
{
	char given[PATH_MAX], normal[PATH_MAX];

	(void)snprintf(given, sizeof(given), "%.*s",
		       (int)(path_bytes < PATH_MAX ? path_bytes : PATH_MAX - 1), path);
	if (path_normalize(directory, given, normal, sizeof(normal)) < 0)
		(void)snprintf(normal, sizeof(normal), "%s",
			       strncmp(given, "./", 2) == 0 ? given + 2 : given);
	const char *base = path_base(normal);
	*ret_base = XXH3_64bits(base, strlen(base));
	return XXH3_64bits(normal, strlen(normal));
}

static struct file *file_of(struct session *session, const char *directory, const char *path,
			    size_t path_bytes, bool makes)
{
	uint64_t base, key = path_hash(directory, path, path_bytes, &base);

	if (!makes)
		return table_get(&session->files, key);
	void **at = table_at(&session->files, key), **first;
	if (!at || *at)
		return at ? *at : NULL;
	struct file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	*file = (struct file){ .base = base, .generation = 1 };
	*at = file;
	first = table_at(&session->by_base, base);
	if (first) {
		file->same_base = *first;
		*first = file;
	}
	return file;
}

static struct record *record_of(struct file *file, uint64_t scope_id, enum replay_way way,
				bool makes)
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

static struct given given_now(const struct scope *scope, enum replay_way way,
			      const struct file *file, uint64_t time_ns)
{
	return (struct given){ .epoch = scope->epoch,
			       .generation = file ? file->generation : 0,
			       .request = scope->measures[way].requests,
			       .bytes = scope->measures[way].bytes,
			       .time_ns = time_ns,
			       .is_delivery = true };
}

/* As delivery_is_current(). */
static bool is_current(const struct replay *replay, const struct given *given,
		       const struct given *now)
{
	const struct settings *settings = replay->settings;

	return given->is_delivery && given->epoch == now->epoch &&
	       now->request - given->request <= settings->window_requests &&
	       (!settings->window_bytes || now->bytes - given->bytes <= settings->window_bytes) &&
	       (!settings->window_age_s || !given->time_ns || !now->time_ns ||
		(now->time_ns >= given->time_ns &&
		 now->time_ns - given->time_ns <= settings->window_age_s * 1000000000u));
}

static const struct known_line *line_at(const struct record *record, uint64_t number)
{
	return record && number <= record->line_count && record->lines[number - 1].given_at
		       ? &record->lines[number - 1]
		       : NULL;
}

static bool same_line(const struct known_line *known, const struct shown_line *line)
{
	return known && known->line.hash == line->hash && known->line.bytes == line->bytes;
}

/* Which contexts' knowledge is asked. */
enum knowers { THIS_EPOCH, THIS_SCOPE, ANY_SCOPE };

static bool is_known(const struct file *file, const struct scope *scope, uint64_t number,
		     const struct shown_line *line, enum knowers who)
{
	for (const struct record *record = file->records; record; record = record->next) {
		const struct known_line *known = line_at(record, number);
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

static bool all_known(const struct file *file, const struct scope *scope, const struct shown *shown,
		      enum knowers who)
{
	for (size_t i = 0; i < shown->count; i++)
		if (!is_known(file, scope, shown->first + i, &shown->lines[i], who))
			return false;
	return shown->count > 0;
}

/* Do parts of the version that the file has now, all inside the window, make it up? */
static bool is_made_up(const struct replay *replay, const struct file *file,
		       const struct record *record, const struct shown *shown,
		       const struct given *now)
{
	for (size_t i = 0; i < shown->count; i++) {
		const struct known_line *known = line_at(record, shown->first + i);
		if (!same_line(known, &shown->lines[i]))
			return false;
		const struct given *given = &record->given[known->given_at - 1];
		if (given->generation != file->generation || !is_current(replay, given, now))
			return false;
	}
	return shown->count > 0;
}

static int remember_lines(struct record *record, const struct shown *shown,
			  const struct given *given)
{
	uint64_t end = shown->first - 1 + shown->count;

	if (!shown->count || end > LINES_MAX)
		return 0;
	if (record->given_count == record->given_capacity) {
		size_t capacity = record->given_capacity ? record->given_capacity * 2 : 4;
		struct given *grown = realloc(record->given, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		record->given = grown;
		record->given_capacity = capacity;
	}
	record->given[record->given_count++] = *given;
	if (end > record->line_capacity) {
		size_t capacity = end + end / 4;
		struct known_line *grown = realloc(record->lines, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		record->lines = grown;
		record->line_capacity = capacity;
	}
	for (; record->line_count < end; record->line_count++)
		record->lines[record->line_count] = (struct known_line){ .given_at = 0 };
	for (size_t i = 0; i < shown->count; i++)
		record->lines[shown->first - 1 + i] = (struct known_line){
			shown->lines[i], (uint32_t)record->given_count
		};
	/* A whole file has no lines beyond. */
	if (shown->whole)
		record->line_count = end;
	return 0;
}

static void forget_record(struct record *record)
{
	for (size_t i = 0; i < record->given_count; i++)
		record->given[i].epoch = 0;
	record->whole.epoch = 0;
}

/* ---- changes ---- */

static void note_change(struct session *session, struct file *file)
{
	session->changes++;
	if (file) {
		file->generation++;
		file->version = 0;
	}
}

/* A command that may do anything: files whose names are among its words may be others now. */
static void note_any_command(struct session *session, const char *line)
{
	static const char SEPARATORS[] = " \t\n\r'\"`;|&<>(){}=,:$";

	session->changes++;
	for (const char *at = line; *at;) {
		at += strspn(at, SEPARATORS);
		size_t length = strcspn(at, SEPARATORS), begin = length;
		while (begin > 0 && at[begin - 1] != '/')
			begin--;
		uint64_t base = XXH3_64bits(at + begin, length - begin);
		for (struct file *file = table_get(&session->by_base, base); file;
		     file = file->same_base) {
			file->generation++;
			file->version = 0;
		}
		at += length;
	}
}

/* A file that is shown as another one than it was: somebody changed it, whoever it was. */
static void notice_change(struct session *session, struct file *file, const struct shown *shown)
{
	bool differs = shown->whole && file->version && file->version != shown->version;

	for (const struct record *record = file->records; !differs && record; record = record->next)
		for (size_t i = 0; !differs && i < shown->count; i++) {
			const struct known_line *known = line_at(record, shown->first + i);
			differs = known && !same_line(known, &shown->lines[i]) &&
				  record->given[known->given_at - 1].generation == file->generation;
		}
	if (differs)
		note_change(session, file);
	if (shown->whole)
		file->version = shown->version;
}

/* ---- notices ---- */

static bool fits(const struct replay *replay, uint64_t bytes, const struct call *call)
{
	return bytes >= replay->settings->notice_min_bytes &&
	       bytes <= replay->settings->notice_max_bytes &&
	       !(call->output && memchr(call->output, '\0', call->output_bytes));
}

static uint64_t notice_bytes(const struct replay *replay, const char *path, uint64_t bytes,
			     uint64_t lines)
{
	struct content content = { .version = { .size_bytes = bytes }, .lines = lines };
	char notice[NOTICE_BYTES_MAX];
	int length = notice_render(&replay->segment, path, &content, notice, sizeof(notice));

	return length > 0 ? (uint64_t)length : UINT64_MAX;
}

/* As decision.c's is_insisted(). */
static bool is_insisted(const struct replay *replay, const struct answered *note, uint64_t version,
			const struct given *now)
{
	if (replay->settings->notice_yield != NOTICE_YIELD_INSIST || note->version != version ||
	    note->epoch != now->epoch)
		return false;
	return now->request <= note->yield_until ||
	       (note->notice_request &&
		now->request - note->notice_request <= replay->settings->notice_insist_requests);
}

/* What a repeat would have got: counts it.  place_bytes: of what would stand in its place.  Returns whether it would have been answered. */
static bool answer(struct replay *replay, struct replay_saving *saving, struct answered *note,
		   uint64_t version, const struct given *now, const struct call *call,
		   uint64_t place_bytes, bool is_fit)
{
	saving->repeats++;
	if (!is_fit) {
		saving->unfit++;
		return false;
	}
	if (is_insisted(replay, note, version, now)) {
		saving->yielded++;
		if (now->request > note->yield_until)
			*note = (struct answered){
				.version = version,
				.epoch = now->epoch,
				.notice_request = note->notice_request,
				.yield_until = now->request +
					       replay->settings->notice_insist_requests
			};
		return false;
	}
	if (place_bytes >= call->output_bytes) {
		saving->unfit++;
		return false;
	}
	*note = (struct answered){ .version = version,
				   .epoch = now->epoch,
				   .notice_request = now->request,
				   .yield_until = note->version == version ? note->yield_until
									   : 0 };
	uint64_t tokens = call->output ? tokens_estimate(call->output, call->output_bytes)
				       : tokens_of_bytes(call->output_bytes);
	uint64_t place = tokens_of_bytes(place_bytes);
	saving->answered++;
	saving->bytes += call->output_bytes - place_bytes;
	saving->tokens += tokens > place ? tokens - place : 0;
	return true;
}

/* ---- sums ---- */

static void add_to(struct replay_sum *sum, const struct call *call)
{
	sum->count++;
	sum->bytes += call->output_bytes;
	sum->tokens += call->output ? tokens_estimate(call->output, call->output_bytes)
				    : tokens_of_bytes(call->output_bytes);
}

/* Was this answer given before?  Notes it as given now.  ret_category: COUNT: it was not, as far as these keys tell. */
static int answer_before(struct session *session, const struct scope *scope, uint64_t answer_key,
			 enum replay_category *ret_category)
{
	/* A key for each of: to this scope in this epoch; to it at all; to anybody. */
	const uint64_t keys[3] = { mix(scope->id, scope->epoch, answer_key),
				   mix(scope->id, 0, answer_key), mix(0, 0, answer_key) };
	static const enum replay_category MEANS[3] = { REPLAY_IDENTICAL, REPLAY_COMPACTED,
						       REPLAY_OTHER_SCOPE };
	static char there;

	*ret_category = REPLAY_CATEGORY_COUNT;
	for (int i = 2; i >= 0; i--) {
		void **at = table_at(&session->answers, keys[i]);
		if (!at)
			return -ENOMEM;
		if (*at)
			*ret_category = MEANS[i];
		*at = &there;
	}
	return 0;
}

/* ---- reads ---- */

/* A read that is judged. */
struct read {
	struct session *session;
	struct scope *scope;
	struct file *file;
	enum replay_way way;
	const struct shown *shown;
	bool is_viewer; /* asked for the whole file, by a viewer or an own tool */
	bool has_lines; /* false: of a journal, which knows versions alone */
	const char *path;
};

static uint64_t old_lines(const struct record *record, struct shown_line **ret_lines)
{
	*ret_lines = malloc((record->line_count + 1) * sizeof(**ret_lines));
	for (size_t i = 0; *ret_lines && i < record->line_count; i++)
		(*ret_lines)[i] = record->lines[i].line;
	return record->line_count;
}

/* What the file would be as a diff against what the record holds; the file's own length where that is no shorter. */
static uint64_t diff_bytes(const struct record *record, const struct shown *shown)
{
	struct shown_line *lines;
	uint64_t count = old_lines(record, &lines);
	uint64_t bytes = lines ? line_diff_bytes(lines, count, shown->lines, shown->count)
			       : UINT64_MAX;

	free(lines);
	return bytes;
}

static bool whole_counts(const struct record *record, const struct scope *scope)
{
	return record && record->has_whole && record->whole.epoch == scope->epoch;
}

static int categorize(struct replay *replay, const struct read *read, const struct call *call)
{
	struct replay_sums *sums = replay->sums;
	const struct shown *shown = read->shown;
	uint64_t base;
	enum replay_category category;
	uint64_t key = mix(path_hash(call->directory, read->path, strlen(read->path), &base),
			   mix(shown->first, shown->count, shown->whole), shown->version);
	int error = answer_before(read->session, read->scope, key, &category);

	if (error < 0)
		return error;
	enum replay_category by_key = category;
	if (category != REPLAY_IDENTICAL) {
		const struct record *old = NULL;
		for (int way = 0; way < REPLAY_WAY_COUNT; way++) {
			const struct record *record = record_of(read->file, read->scope->id,
								(enum replay_way)way, false);
			if (whole_counts(record, read->scope) && shown->whole &&
			    record->whole_version != shown->version &&
			    (!old || record->whole.time_ns >= old->whole.time_ns))
				old = record;
		}
		if (all_known(read->file, read->scope, shown, THIS_EPOCH)) {
			category = REPLAY_COVERED;
		} else if (old) {
			category = REPLAY_CHANGED;
			uint64_t bytes = read->has_lines ? diff_bytes(old, shown) : UINT64_MAX;
			struct call as_diff = { .output_bytes = bytes < call->output_bytes
									? bytes
									: call->output_bytes };
			add_to(&sums->changed_as_diff, &as_diff);
		} else if (by_key == REPLAY_COMPACTED ||
			   all_known(read->file, read->scope, shown, THIS_SCOPE)) {
			category = REPLAY_COMPACTED;
		} else if (by_key == REPLAY_OTHER_SCOPE ||
			   all_known(read->file, read->scope, shown, ANY_SCOPE)) {
			category = REPLAY_OTHER_SCOPE;
		}
	}
	if (category != REPLAY_CATEGORY_COUNT)
		add_to(&sums->categories[category], call);
	return 0;
}

/* The decision made over.  Returns whether a notice would have been given. */
static bool decide(struct replay *replay, const struct read *read, struct record *record,
		   const struct given *now, const struct call *call)
{
	struct replay_saving(*savings)[REPLAY_WAY_COUNT] = replay->sums->savings;
	const struct shown *shown = read->shown;
	bool is_fit = fits(replay, shown->bytes, call);

	if (!read->is_viewer || !shown->whole)
		return false;
	if (record->has_whole && is_current(replay, &record->whole, now)) {
		bool same = record->whole_version == shown->version;
		enum replay_setting setting = same ? REPLAY_NOTICE : REPLAY_DIFF;
		uint64_t place_bytes = UINT64_MAX;
		if (same) {
			place_bytes = notice_bytes(replay, read->path, shown->bytes, shown->count);
		} else if (read->has_lines) {
			uint64_t diff = diff_bytes(record, shown);
			if (diff < UINT64_MAX - PATH_MAX * 4)
				place_bytes = diff + DIFF_HEADER_BYTES + 3 * strlen(read->path);
			is_fit = is_fit && decision_is_short(place_bytes, shown->bytes);
		}
		bool answered = answer(replay, &savings[setting][read->way],
				       &record->notes[setting], shown->version, now, call,
				       place_bytes, is_fit);
		return answered && same;
	}
	if (is_made_up(replay, read->file, record, shown, now))
		return answer(replay, &savings[REPLAY_RANGES][read->way],
			      &record->notes[REPLAY_RANGES], shown->version, now, call,
			      notice_bytes(replay, read->path, shown->bytes, shown->count), is_fit);
	return false;
}

static int judge(struct replay *replay, const struct read *read, const struct call *call)
{
	struct replay_sums *sums = replay->sums;
	const struct shown *shown = read->shown;
	struct measure *measure = &read->scope->measures[read->way];

	add_to(&sums->reads, call);
	if (!shown->whole)
		add_to(&sums->partial, call);
	if (read->file->is_read)
		add_to(&sums->again, call);
	read->file->is_read = true;
	notice_change(read->session, read->file, shown);
	int error = categorize(replay, read, call);
	struct record *record = record_of(read->file, read->scope->id, read->way, true);
	if (error < 0 || !record)
		return -ENOMEM;
	struct given now = given_now(read->scope, read->way, read->file, call->time_ns);
	bool noticed = decide(replay, read, record, &now, call);
	if (read->is_viewer && shown->whole && call->output_bytes <= replay->limit_bytes)
		sums->deliveries++;
	if (noticed) {
		/* What was given before stands as it was. */
		measure->bytes += notice_bytes(replay, read->path, shown->bytes, shown->count);
		return 0;
	}
	if (call->output)
		measure->bytes += call->output_bytes;
	now = given_now(read->scope, read->way, read->file, call->time_ns);
	now.is_delivery = call->output_bytes <= replay->limit_bytes;
	error = remember_lines(record, shown, &now);
	if (shown->whole) {
		now.is_delivery = now.is_delivery && read->is_viewer;
		record->has_whole = true;
		record->whole_version = shown->version;
		record->whole_lines = shown->count;
		record->whole = now;
	}
	return error;
}

/* ---- commands ---- */

/* What a command line was found to be. */
struct asked {
	struct command_line line;
	bool only_asks;  /* viewers and readers, and nothing beside them */
	bool only_reads; /* readers alone */
	size_t requests; /* viewers and readers in it */
	bool shows;      /* one of them, which shows lines of one file */
	bool is_viewer;
	const char *file; /* that it shows */
	struct shown_as as;
};

static const char *only_operand(char *const argv[])
{
	const char *found = NULL;

	for (size_t i = 1; argv[i]; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			continue;
		if (found)
			return NULL;
		found = argv[i];
	}
	return found;
}

/* Lines with numbers: `cat -n f`, `nl -ba f`. */
static bool shows_numbered(char *const argv[], struct asked *asked)
{
	bool is_cat = strcmp(argv[0], "cat") == 0 && argv[1] && strcmp(argv[1], "-n") == 0;
	bool is_nl = strcmp(argv[0], "nl") == 0 && argv[1] && strcmp(argv[1], "-ba") == 0;

	if (!(is_cat || is_nl) || !argv[2] || argv[3] || argv[2][0] == '-')
		return false;
	asked->file = argv[2];
	asked->as = (struct shown_as){ .form = SHOWN_NUMBERED, .asked_whole = true };
	return true;
}

/* One span that is told by its ends from the file's beginning. */
static bool shows_lines(const char *executable, char *const argv[], struct asked *asked)
{
	struct lines lines;

	if (!lines_parse(executable, argv, &lines) || lines.count != 1 ||
	    lines.asked[0].first.is_from_end)
		return false;
	asked->file = lines.file;
	asked->as = (struct shown_as){ .form = SHOWN_PLAIN, .from = lines.asked[0].first.number };
	/* `head -200 f` of a shorter file is all of it. */
	if (asked->as.from == 1)
		asked->as.total_lines = lines.asked[0].last.is_from_end
						? 0
						: lines.asked[0].last.number;
	return true;
}

static int ask(const struct replay *replay, const struct call *call, struct asked *ret_asked)
{
	struct asked *asked = ret_asked;
	char executable[PATH_MAX];

	*asked = (struct asked){ .requests = 0 };
	int error = command_line_parse(call->command, call->directory, &asked->line);
	if (error < 0)
		return error;
	const struct command_line *line = &asked->line;
	asked->only_asks = asked->only_reads = !line->complex && line->count > 0;
	for (size_t i = 0; i < line->count && !line->complex; i++) {
		char **argv = line->commands[i];
		struct invocation invocation;
		/* The system's own program of that name. */
		(void)snprintf(executable, sizeof(executable), "%s%s",
			       strchr(argv[0], '/') ? "" : "/usr/bin/", argv[0]);
		role_invocation(&replay->segment, executable, argv, &invocation);
		bool viewer = invocation.role == ROLE_VIEWER,
		     reader = invocation.role == ROLE_READER;
		asked->requests += viewer || reader;
		asked->only_asks = asked->only_asks && (viewer || reader);
		asked->only_reads = asked->only_reads && reader;
		if (line->count > 1 || line->globs || !(viewer || reader))
			continue;
		if (viewer) {
			asked->file = only_operand(argv);
			asked->is_viewer = asked->shows = asked->file != NULL;
			asked->as = (struct shown_as){ .form = SHOWN_PLAIN, .asked_whole = true };
		} else {
			asked->shows = shows_numbered(argv, asked) ||
				       shows_lines(executable, argv, asked);
		}
	}
	/* What runs in a pipe is a request all the same, whatever it is. */
	if (line->complex)
		asked->requests = 1;
	return 0;
}

static bool is_never(const struct replay *replay, const struct command_line *line)
{
	char words[4096];
	const char *glob = NULL;

	while ((glob = segment_text(&replay->segment, replay->settings->requests_never, glob)))
		for (size_t i = 0; i < line->count; i++) {
			size_t used = 0;
			for (size_t k = 0; line->commands[i][k] && used < sizeof(words); k++)
				used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
							 k ? " " : "", line->commands[i][k]);
			if (path_glob(glob, words, false))
				return true;
		}
	return false;
}

/* A number that changes when an input may have: of files that are named, their generations; where a folder may be read, or what is read cannot
 * be told, everything that may have changed anything. */
static uint64_t inputs_of(const struct session *session, const struct command_line *line)
{
	static const char *const WIDE[] = { "ls", "find", "bfs", "tree", "du", "rg", "ugrep" };
	uint64_t inputs = 1;

	for (size_t i = 0; i < line->count; i++) {
		char **argv = line->commands[i];
		bool wide = line->globs, named = false;
		for (size_t k = 0; k < sizeof(WIDE) / sizeof(WIDE[0]); k++)
			wide = wide || strcmp(path_base(argv[0]), WIDE[k]) == 0;
		for (size_t k = 1; argv[k]; k++) {
			uint64_t base;
			if (argv[k][0] == '-' && strpbrk(argv[k], "rRd"))
				wide = true;
			const struct file *file = table_get(
				&session->files,
				path_hash(line->directory, argv[k], strlen(argv[k]), &base));
			named = named || file;
			inputs = mix(inputs, file ? file->generation : 0, k);
		}
		if (wide || !named)
			inputs = mix(inputs, session->changes, 0);
	}
	return inputs;
}

/* A command of readers: remembered, and answered where it is asked for again. */
static int judge_request(struct replay *replay, struct session *session, struct scope *scope,
			 const struct asked *asked, uint64_t key, const struct call *call)
{
	struct replay_saving *saving = &replay->sums->savings[REPLAY_REQUESTS][REPLAY_COMMANDS];
	struct given now = given_now(scope, REPLAY_COMMANDS, NULL, call->time_ns);
	uint64_t output = XXH3_64bits(call->output, call->output_bytes);
	uint64_t inputs = inputs_of(session, &asked->line);
	void **at = table_at(&session->requests, mix(scope->id, key, 1));

	if (!at)
		return -ENOMEM;
	struct remembered *request = *at;
	if (request && is_current(replay, &request->given, &now) && request->output == output &&
	    request->inputs == inputs && scope->remembered - request->number < REQUESTS_MAX) {
		uint64_t place = asked->requests *
				 notice_bytes(replay, call->command, call->output_bytes, 1);
		bool is_fit = replay->settings->requests_enable == REQUESTS_ENABLE_YES &&
			      !is_never(replay, &asked->line);
		if (answer(replay, saving, &request->note, output, &now, call, place, is_fit)) {
			scope->measures[REPLAY_COMMANDS].bytes -= call->output_bytes - place;
			return 0;
		}
	}
	if (!request) {
		request = calloc(1, sizeof(*request));
		if (!request)
			return -ENOMEM;
		*at = request;
	}
	request->output = output;
	request->inputs = inputs;
	request->given = now;
	request->given.is_delivery = !call->failed && call->output_bytes <= replay->limit_bytes &&
				     !shown_is_cut(call->output, call->output_bytes);
	request->number = scope->remembered++;
	return 0;
}

/* A command or another tool by its words, in its folder. */
static int judge_words(struct replay *replay, struct session *session, struct scope *scope,
		       uint64_t key, const struct call *call)
{
	static char there;
	struct replay_sums *sums = replay->sums;
	enum replay_category category;

	add_to(&sums->commands, call);
	void **at = table_at(&session->answers, mix(key, 2, 2));
	if (!at)
		return -ENOMEM;
	if (*at)
		add_to(&sums->commands_again, call);
	*at = &there;
	if (!call->output_bytes)
		return 0;
	uint64_t output = XXH3_64bits(call->output, call->output_bytes);
	int error = answer_before(session, scope, mix(key, output, 3), &category);
	if (error == 0 && category == REPLAY_IDENTICAL)
		add_to(&sums->commands_identical, call);
	return error;
}

static const char *content_of(const struct call *call, size_t *ret_bytes)
{
	*ret_bytes = call->content ? call->content_bytes : call->output_bytes;
	return call->content ? call->content : call->output;
}

static int judge_command(struct replay *replay, struct session *session, struct scope *scope,
			 const struct call *call)
{
	struct measure *measure = &scope->measures[REPLAY_COMMANDS];
	struct asked asked;
	size_t bytes;
	const char *content = content_of(call, &bytes);
	size_t length = strlen(call->command);
	uint64_t base;
	int known = 0;

	while (length && strchr(" \t\r\n", call->command[length - 1]))
		length--;
	uint64_t key = mix(XXH3_64bits(call->command, length),
			   path_hash(call->directory, ".", 1, &base), 4);
	int error = ask(replay, call, &asked);
	measure->requests += asked.requests;
	if (error == 0 && asked.shows && !call->failed && content)
		known = shown_read(&replay->shown, &asked.as, content, bytes);
	if (known > 0) {
		struct shown *shown = &replay->shown;
		if (!asked.as.asked_whole)
			shown->whole = asked.as.from == 1 && asked.as.total_lines &&
				       shown->count < asked.as.total_lines;
		struct read read = { .session = session,
				     .scope = scope,
				     .file = file_of(session, asked.line.directory, asked.file,
						     strlen(asked.file), true),
				     .way = REPLAY_COMMANDS,
				     .shown = shown,
				     .is_viewer = asked.is_viewer,
				     .has_lines = true,
				     .path = asked.file };
		struct call within = *call;
		within.directory = asked.line.directory;
		error = read.file ? judge(replay, &read, &within) : -ENOMEM;
	} else if (error == 0 && known == 0) {
		if (asked.requests)
			measure->bytes += call->output_bytes;
		error = judge_words(replay, session, scope, key, call);
	} else if (error == 0) {
		error = known;
	}
	if (error == 0 && asked.only_reads && call->output_bytes)
		error = judge_request(replay, session, scope, &asked, key, call);
	if (!asked.only_asks)
		note_any_command(session, call->command);
	command_line_free(&asked.line);
	return error;
}

/* ---- the agent's own tools ---- */

static int judge_own(struct replay *replay, struct session *session, struct scope *scope,
		     const struct call *call)
{
	struct shown_as as = { .form = call->numbered ? SHOWN_NUMBERED : SHOWN_ANY,
			       .from = call->from,
			       .asked_whole = !call->from && !call->to,
			       .total_lines = call->total_lines };
	size_t bytes;
	const char *content = content_of(call, &bytes);
	struct shown *shown = &replay->shown;
	bool is_edit = call->kind == CALL_EDIT;

	if (is_edit && call->path && !call->failed)
		note_change(session, file_of(session, call->directory, call->path,
					     strlen(call->path), true));
	/* What an edit says is only understood where it has numbers. */
	if (is_edit)
		as = (struct shown_as){ .form = SHOWN_NUMBERED };
	int known = content && !(call->failed && !is_edit) ? shown_read(shown, &as, content, bytes)
							   : 0;
	if (known < 0)
		return known;
	const char *path = known && shown->path ? shown->path : call->path;
	size_t path_bytes = known && shown->path ? shown->path_bytes : path ? strlen(path) : 0;
	if (!known || !path || path_bytes >= PATH_MAX) {
		/* The file that a window shows after an edit is not known by then, so any may have changed. */
		session->changes += is_edit;
		return 0;
	}
	char name[PATH_MAX];
	(void)snprintf(name, sizeof(name), "%.*s", (int)path_bytes, path);
	struct file *file = file_of(session, call->directory, name, path_bytes, true);
	if (!file)
		return -ENOMEM;
	if (is_edit) {
		/* Its lines are known from now on; nobody asked for them. */
		struct record *record = record_of(file, scope->id, REPLAY_OWN_TOOLS, true);
		if (!call->path && !call->failed)
			note_change(session, file);
		struct given now = given_now(scope, REPLAY_OWN_TOOLS, file, call->time_ns);
		now.is_delivery = false;
		return record ? remember_lines(record, shown, &now) : -ENOMEM;
	}
	scope->measures[REPLAY_OWN_TOOLS].requests++;
	struct read read = { .session = session,
			     .scope = scope,
			     .file = file,
			     .way = REPLAY_OWN_TOOLS,
			     .shown = shown,
			     .is_viewer = as.asked_whole,
			     .has_lines = true,
			     .path = name };
	return judge(replay, &read, call);
}

/* ---- journals, and what is forgotten ---- */

static int judge_given(struct replay *replay, struct session *session, struct scope *scope,
		       const struct call *call)
{
	struct shown shown = { .first = 1,
			       .whole = true,
			       .version = call->version.low ^ call->version.high,
			       .bytes = call->version.size_bytes };
	struct call sized = *call;
	struct read read = { .session = session,
			     .scope = scope,
			     .file = file_of(session, NULL, call->path, strlen(call->path), true),
			     .way = call->own ? REPLAY_OWN_TOOLS : REPLAY_COMMANDS,
			     .shown = &shown,
			     .is_viewer = true,
			     .path = call->path };

	sized.output_bytes = call->version.size_bytes;
	scope->measures[read.way].requests += call->own;
	return read.file ? judge(replay, &read, &sized) : -ENOMEM;
}

static int forget(struct replay *replay, struct session *session, const struct call *call)
{
	if (!call->path)
		replay->sums->compactions++;
	for (size_t i = 0; i < session->scopes.capacity; i++) {
		struct scope *scope = session->scopes.slots[i].value;
		if (scope && (!call->scope || scope->id == call->scope) && !call->path)
			scope->epoch++;
	}
	struct file *file = call->path ? file_of(session, call->directory, call->path,
						 strlen(call->path), false)
				       : NULL;
	for (struct record *record = file ? file->records : NULL; record; record = record->next)
		if (!call->scope || record->scope_id == call->scope)
			forget_record(record);
	return 0;
}

int replay_call(const struct call *call, void *data)
{
	struct replay *replay = data;
	struct session *session = session_of(replay, call->session);

	if (call->kind == CALL_FORGOTTEN)
		return forget(replay, session, call);
	struct scope *scope = scope_of(replay, session, call->scope);
	if (!scope)
		return -ENOMEM;
	/* An edit of several files has one output. */
	if (call->output || call->kind == CALL_RAN)
		add_to(&replay->sums->outputs, call);
	switch (call->kind) {
	case CALL_COMMAND:
		return judge_command(replay, session, scope, call);
	case CALL_READ:
	case CALL_EDIT:
		return judge_own(replay, session, scope, call);
	case CALL_OTHER:
		return call->command
			       ? judge_words(replay, session, scope,
					     mix(XXH3_64bits(call->command, strlen(call->command)),
						 5, 5),
					     call)
			       : 0;
	case CALL_GIVEN:
		return call->path ? judge_given(replay, session, scope, call) : 0;
	case CALL_RAN:
		scope->measures[REPLAY_COMMANDS].requests++;
		return 0;
	case CALL_WROTE:
		scope->measures[REPLAY_COMMANDS].bytes += call->output_bytes;
		replay->sums->outputs.bytes += call->output_bytes;
		replay->sums->outputs.tokens += tokens_of_bytes(call->output_bytes);
		return 0;
	default:
		return 0;
	}
}

/* ---- the whole ---- */

void replay_add(struct replay_sums *total, const struct replay_sums *sums)
{
	uint64_t *to = (uint64_t *)(void *)total;
	const uint64_t *from = (const uint64_t *)(const void *)sums;

	_Static_assert(sizeof(*sums) % sizeof(uint64_t) == 0, "numbers alone");
	for (size_t i = 0; i < sizeof(*sums) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

void replay_begin(struct replay *replay, const char *agent, struct replay_sums *sums)
{
	const struct settings *settings = replay->settings;

	replay->sums = sums;
	replay->limit_bytes = SETTINGS_MAX_OUTPUT_BYTES;
	for (uint64_t i = 0; agent && i < settings->profile_count; i++) {
		const char *name = segment_text(&replay->segment, settings->profiles[i].name, NULL);
		if (name && strcmp(name, agent) == 0)
			replay->limit_bytes = settings->profiles[i].max_output_bytes;
	}
}

int replay_new(const struct config *config, struct replay **ret_replay,
	       struct config_error *ret_error)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	size_t used = 0;
	int error = -ENOMEM;

	if (!replay)
		return -ENOMEM;
	replay->config = config;
	replay->header = calloc(1, sizeof(*replay->header));
	replay->settings = calloc(1, sizeof(*replay->settings));
	replay->text = calloc(1, SETTINGS_TEXT_BYTES_MAX);
	if (replay->header && replay->settings && replay->text)
		error = config_pack(config, replay->settings, replay->text, SETTINGS_TEXT_BYTES_MAX,
				    &used, ret_error);
	if (error < 0) {
		replay_free(replay);
		return error;
	}
	(void)snprintf(replay->header->nonce, sizeof(replay->header->nonce), "seen-%016d", 0);
	replay->segment = (struct segment){ .header = replay->header,
					    .settings = replay->settings,
					    .text = replay->text,
					    .text_bytes = SETTINGS_TEXT_BYTES_MAX };
	*ret_replay = replay;
	return 0;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		free_session(&replay->sessions[i]);
	shown_free(&replay->shown);
	free(replay->header);
	free(replay->settings);
	free(replay->text);
	free(replay);
}
