/* Transcripts in databases: see transcript_store.h. */
#include "cli/agents/transcript_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/agents/transcript_rows.h"

/* Of a row that was written so lately the time may be that of a later write, too. */
enum { RECENT_MS = 50 };

/* A message, or a part of one. */
struct item {
	uint64_t id;
	int64_t written_ms;
	uint64_t data; /* hash */
	bool is_part;
	bool is_summary; /* all before it is left out */
	bool is_there;   /* in this reading */
	bool is_changed;
	bool is_reported;   /* in this generation */
	struct entry entry; /* while it is to be reported */
};

/* A session of the agent's. */
struct stored {
	struct stored *next;
	uint64_t id;
	struct findings *findings;
	struct item *items; /* in the order of the conversation */
	size_t count, capacity;
	/* raised when a reported item is taken back: the session is reported anew then */
	uint64_t generation;
	bool begins; /* the next report follows no reported item */
};

struct transcript_store {
	struct conversations *conversations;
	uint64_t profiles;
	int64_t since_ms;
	int64_t now_ms; /* before the reading began */
	struct stored *sessions;
};

/* A reading of a session's rows. */
struct reading {
	struct stored *session;
	size_t at; /* the place of the next item */
	int64_t now_ms;
};

struct transcript_store *transcript_store_new(struct conversations *conversations,
					      uint64_t profiles, uint64_t since_ns)
{
	struct transcript_store *store = calloc(1, sizeof(*store));
	if (store)
		*store = (struct transcript_store){ .conversations = conversations,
						    .profiles = profiles,
						    .since_ms = (int64_t)(since_ns / 1000000) };
	return store;
}

void transcript_store_free(struct transcript_store *store)
{
	for (struct stored *session = store ? store->sessions : NULL, *next; session;
	     session = next) {
		next = session->next;
		free(session->items);
		free(session);
	}
	free(store);
}

/* ---- a session's rows ---- */

static struct stored *find_session(struct transcript_store *store, uint64_t id)
{
	struct stored *session = store->sessions;

	while (session && session->id != id)
		session = session->next;
	if (session || !(session = calloc(1, sizeof(*session))))
		return session;
	session->id = id;
	session->findings = conversations_findings(store->conversations, store->profiles);
	session->next = store->sessions;
	store->sessions = session;
	return session;
}

/* The item of a row, moved or made at its place in the order.  NULL: no memory. */
static struct item *place_item(struct stored *session, size_t at, uint64_t id)
{
	size_t found = at;

	while (found < session->count && session->items[found].id != id)
		found++;
	if (found == session->count && session->count == session->capacity) {
		size_t larger = session->capacity ? 2 * session->capacity : 64;
		struct item *grown = realloc(session->items, larger * sizeof(*grown));
		if (!grown)
			return NULL;
		session->items = grown;
		session->capacity = larger;
	}
	struct item item = { .id = id, .written_ms = INT64_MIN };
	if (found < session->count)
		item = session->items[found];
	else
		session->count++;
	memmove(&session->items[at + 1], &session->items[at], (found - at) * sizeof(item));
	session->items[at] = item;
	return &session->items[at];
}

static int read_row(const struct transcript_row *row, void *data)
{
	struct reading *reading = data;
	struct item *item = place_item(reading->session, reading->at++,
				       entry_hash(row->id, strlen(row->id)));
	size_t length;

	if (!item)
		return -EAGAIN;
	item->is_there = true;
	item->is_part = row->is_part;
	if (row->written_ms == item->written_ms && row->written_ms < reading->now_ms - RECENT_MS)
		return 0;
	const char *text = transcript_row_data(row, &length);
	uint64_t hash = text ? entry_hash(text, length) : 0;
	item->written_ms = row->written_ms;
	if (!text || hash == item->data)
		return 0;
	item->data = hash;
	item->is_changed = true;
	entry_done(&item->entry);
	entry_of_row(text, length, row->is_part, &item->entry);
	item->is_summary = item->entry.begins;
	item->entry.begins = false;
	return 0;
}

/* All of a session that its model has: not what lies before the last summary, nor what was taken
 * back (`last`: a message's id; empty: nothing was).  Returns 0, or a negative errno. */
static int read_rows(const struct transcript_store *store, struct transcript_rows *rows,
		     struct stored *session, const char *last)
{
	struct reading reading = { .session = session, .now_ms = store->now_ms };
	return transcript_rows_each(rows, last, read_row, &reading);
}

/* ---- reporting its items ---- */

/* Where what the model has begins. */
static size_t first_of(const struct stored *session)
{
	for (size_t i = session->count; i-- > 0;)
		if (session->items[i].is_there && session->items[i].is_summary)
			return i;
	return 0;
}

/* Is a reported item not there any more? */
static bool is_taken_back(const struct stored *session, size_t first)
{
	for (size_t i = 0; i < session->count; i++)
		if (session->items[i].is_reported && (!session->items[i].is_there || i < first))
			return true;
	return false;
}

static void report_item(const struct transcript_store *store, struct stored *session,
			struct item *item, const char *directory, bool is_side)
{
	struct entry entry = item->entry;
	uint64_t words[] = { session->generation, item->id };
	bool is_old = item->written_ms < store->since_ms && !session->begins;

	entry.id = entry_hash((const char *)words, sizeof(words));
	entry.begins = session->begins;
	entry.is_side = is_side;
	entry.directory = directory;
	for (unsigned i = 0; i < entry.call_count; i++)
		entry.calls[i].id = item->id;
	for (unsigned i = 0; i < entry.result_count; i++)
		entry.results[i].call = item->id;
	if (entry.is_known) {
		conversations_add(session->findings, &entry, is_old);
		session->begins = false;
	}
	item->is_reported = true;
	item->is_changed = false;
}

/* All items are to be reported anew. */
static void forget_items(struct stored *session)
{
	for (size_t i = 0; i < session->count; i++) {
		session->begins = session->begins || session->items[i].is_reported;
		entry_done(&session->items[i].entry);
	}
	session->count = 0;
	session->generation++;
}

/* Keeps what was there. */
static void complete_items(struct stored *session)
{
	size_t kept = 0;

	for (size_t i = 0; i < session->count; i++) {
		entry_done(&session->items[i].entry);
		if (session->items[i].is_there)
			session->items[kept++] = session->items[i];
	}
	session->count = kept;
}

static int read_session(struct transcript_store *store, struct transcript_rows *rows,
			const struct transcript_session *row)
{
	struct stored *session = find_session(store, entry_hash(row->id, strlen(row->id)));
	json_t *revert = NULL;

	if (!session || !session->findings)
		return -EAGAIN;
	if (row->revert)
		revert = json_loads(row->revert, 0, NULL);
	const char *last = json_string_value(json_object_get(revert, "messageID"));
	for (size_t i = 0; i < session->count; i++)
		session->items[i].is_there = false;
	int status = read_rows(store, rows, session, last ? last : "");
	size_t first = first_of(session);
	if (status == 0 && is_taken_back(session, first)) {
		forget_items(session);
		status = read_rows(store, rows, session, last ? last : "");
		first = first_of(session);
	}
	json_decref(revert);
	if (status < 0) {
		/* Half of it would be reported as if the rest had been taken back. */
		forget_items(session);
		return status;
	}
	for (size_t i = first; i < session->count; i++) {
		struct item *item = &session->items[i];
		if (item->is_there && (item->is_changed || !item->is_reported))
			report_item(store, session, item, row->directory, row->parent != NULL);
	}
	complete_items(session);
	return 0;
}

static int64_t wall_clock_ms(void)
{
	struct timespec now = { .tv_sec = 0 };
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void transcript_store_read(struct transcript_store *store, const char *path)
{
	char error[TRANSCRIPT_ROWS_ERROR_BYTES];
	struct transcript_session session;
	struct transcript_rows *rows;

	store->now_ms = wall_clock_ms();
	if (transcript_rows_open(path, ROWS_OF_LIVE, store->since_ms, &rows, error) < 0)
		return;
	while (transcript_rows_session(rows, &session) > 0 &&
	       read_session(store, rows, &session) == 0)
		;
	transcript_rows_close(rows);
}
