/* Transcripts in databases: see transcript_store.h. */
#include "cli/agents/transcript_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/sqlite.h"

enum {
	VALUE_BYTES_MAX = 64 << 20,
	/* Of a row that was written so lately the time may be that of a later write, too. */
	RECENT_MS = 50,
};

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
	struct stored *sessions;
};

/* What a reading works with. */
struct reading {
	struct transcript_store *store;
	sqlite3 *database;
	sqlite3_stmt *messages, *parts;
	int64_t now_ms;
};

static const struct sqlite *sqlite; /* loaded by the first reading */

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

/* ---- the database ---- */

/* A reader of a database in another mode would keep its writer waiting. */
static bool is_write_ahead(const char *path)
{
	enum { VERSIONS_AT = 18, WRITE_AHEAD = 2 }; /* https://www.sqlite.org/fileformat2.html */
	unsigned char versions[2] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	bool is = pread(fd, versions, sizeof(versions), VERSIONS_AT) == sizeof(versions) &&
		  versions[0] == WRITE_AHEAD && versions[1] == WRITE_AHEAD;
	(void)close(fd);
	return is;
}

/* Nothing is made that a writer did not make: without these no writer has it open. */
static bool has_writer(const char *path)
{
	static const char *const BESIDE[] = { "-wal", "-shm" };
	char name[PATH_MAX + 8];
	struct stat stat;

	for (size_t i = 0; i < sizeof(BESIDE) / sizeof(BESIDE[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", path, BESIDE[i]);
		if (fstatat(AT_FDCWD, name, &stat, 0) < 0 || !stat.st_size)
			return false;
	}
	return true;
}

static sqlite3 *open_database(const char *path)
{
	char name[3 * PATH_MAX + 64] = "file:";
	size_t at = strlen(name);
	sqlite3 *database = NULL;

	for (; *path && at < 3 * PATH_MAX; path++)
		at += (size_t)snprintf(name + at, 4, strchr("%?#", *path) ? "%%%02X" : "%c", *path);
	(void)snprintf(name + at, sizeof(name) - at, "?mode=ro&readonly_shm=1");
	if (sqlite->open_v2(name, &database,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK) {
		(void)sqlite->close(database);
		return NULL;
	}
	(void)sqlite->busy_timeout(database, 0);
	(void)sqlite->db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite->db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite->db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite->limit(database, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	return database;
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *text)
{
	sqlite3_stmt *statement = NULL;
	(void)sqlite->prepare_v3(database, text, -1, 0, &statement, NULL);
	return statement;
}

static uint64_t hash_of(sqlite3_stmt *row, int column)
{
	const void *text = sqlite->column_text(row, column);
	return text ? entry_hash(text, (size_t)sqlite->column_bytes(row, column)) : 0;
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

/* A row: id, when it was written, data. */
static bool read_row(const struct reading *reading, struct stored *session, size_t at,
		     sqlite3_stmt *row, bool is_part)
{
	struct item *item = place_item(session, at, hash_of(row, 0));
	int64_t written_ms = sqlite->column_int64(row, 1);

	if (!item)
		return false;
	item->is_there = true;
	item->is_part = is_part;
	if (written_ms == item->written_ms && written_ms < reading->now_ms - RECENT_MS)
		return true;
	const char *data = (const char *)sqlite->column_text(row, 2);
	size_t length = (size_t)sqlite->column_bytes(row, 2);
	uint64_t hash = data ? entry_hash(data, length) : 0;
	item->written_ms = written_ms;
	if (!data || hash == item->data)
		return true;
	item->data = hash;
	item->is_changed = true;
	entry_done(&item->entry);
	entry_of_row(data, length, is_part, &item->entry);
	item->is_summary = item->entry.begins;
	item->entry.begins = false;
	return true;
}

/* All of a session that its model has: not what lies before the last summary, nor what was taken
 * back (`last`: a message's id; empty: nothing was).  Returns 0, or -EAGAIN. */
static int read_rows(const struct reading *reading, struct stored *session, sqlite3_stmt *row,
		     const char *last)
{
	sqlite3_stmt *messages = reading->messages, *parts = reading->parts;
	size_t at = 0;
	int status;

	(void)sqlite->reset(messages);
	(void)sqlite->bind_text(messages, 1, (const char *)sqlite->column_text(row, 0), -1,
				SQLITE_TRANSIENT);
	while ((status = sqlite->step(messages)) == SQLITE_ROW) {
		const char *id = (const char *)sqlite->column_text(messages, 0);
		if (!id || (*last && strcmp(id, last) == 0))
			break;
		if (!read_row(reading, session, at++, messages, false))
			return -EAGAIN;
		(void)sqlite->reset(parts);
		(void)sqlite->bind_text(parts, 1, id, -1, SQLITE_TRANSIENT);
		int part_status;
		while ((part_status = sqlite->step(parts)) == SQLITE_ROW)
			if (!read_row(reading, session, at++, parts, true))
				return -EAGAIN;
		if (part_status != SQLITE_DONE)
			return -EAGAIN;
	}
	return status == SQLITE_DONE || status == SQLITE_ROW ? 0 : -EAGAIN;
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

/* One session.  row: id, the one that it works for, directory, what was taken back. */
static int read_session(const struct reading *reading, sqlite3_stmt *row)
{
	struct stored *session = find_session(reading->store, hash_of(row, 0));
	json_t *revert = NULL;

	if (!session || !session->findings)
		return -EAGAIN;
	const char *text = (const char *)sqlite->column_text(row, 3);
	if (text)
		revert = json_loads(text, 0, NULL);
	const char *last = json_string_value(json_object_get(revert, "messageID"));
	for (size_t i = 0; i < session->count; i++)
		session->items[i].is_there = false;
	int status = read_rows(reading, session, row, last ? last : "");
	size_t first = first_of(session);
	if (status == 0 && is_taken_back(session, first)) {
		forget_items(session);
		status = read_rows(reading, session, row, last ? last : "");
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
			report_item(reading->store, session, item,
				    (const char *)sqlite->column_text(row, 2),
				    sqlite->column_type(row, 1) != SQLITE_NULL);
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

/* In one transaction, so that all rows are of the same moment. */
static void read_sessions(struct reading *reading)
{
	sqlite3_stmt *sessions = prepare(reading->database,
					 "SELECT id, parent_id, directory, revert FROM session "
					 "WHERE time_updated >= ?1");

	reading->messages = prepare(reading->database,
				    "SELECT id, time_updated, data FROM message "
				    "WHERE session_id = ?1 ORDER BY time_created, id");
	reading->parts = prepare(reading->database, "SELECT id, time_updated, data FROM part "
						    "WHERE message_id = ?1 ORDER BY id");
	if (sessions && reading->messages && reading->parts &&
	    sqlite->exec(reading->database, "BEGIN", NULL, NULL, NULL) == SQLITE_OK) {
		(void)sqlite->bind_int64(sessions, 1, reading->store->since_ms);
		while (sqlite->step(sessions) == SQLITE_ROW && read_session(reading, sessions) == 0)
			;
	}
	(void)sqlite->finalize(sessions);
	(void)sqlite->finalize(reading->messages);
	(void)sqlite->finalize(reading->parts);
}

void transcript_store_read(struct transcript_store *store, const char *path)
{
	if (!is_write_ahead(path) || !has_writer(path) || !(sqlite = sqlite_load()))
		return;
	struct reading reading = { .store = store,
				   .database = open_database(path),
				   .now_ms = wall_clock_ms() };
	if (!reading.database)
		return;
	read_sessions(&reading);
	(void)sqlite->close(reading.database);
}
