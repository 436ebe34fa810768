/*
 * Export into an SQLite database (config/data/export/tables.sql): of many journals, each as far as
 * its row in `sessions` says.
 *
 * Rows and how far it is are written in the same transactions, so that whatever ends a run, the
 * next one goes on where the rows end.
 * An event's number and its journal's make its key: nothing is there twice.  A file that is there
 * and is none of ours is left as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/sqlite.h"
#include "cli/export/export.h"
#include "cli/export/export_row.h"
#include "cli/export/export_sql_data.h"
#include "tracker/path/path.h"

enum {
	APPLICATION_ID = 0x7365656e, /* "seen"; at byte 68 of the file */
	USER_VERSION = 1,            /* of the tables; at byte 60 */
	HEADER_BYTES = 100,
	BUSY_MS = 10000,
	TRANSACTION_ROWS = 20000,
	KNOWN_PATHS = 8192,
	KNOWN_PATH_BYTES = 112,
	KNOWN_PROCESSES = 4096,
	NUMBER_BITS = 32, /* of a record's number, in an id */
};

/* A text that has a row in `paths`. */
struct path_row {
	int64_t id; /* 0: none */
	uint16_t length;
	char text[KNOWN_PATH_BYTES];
};

struct database {
	sqlite3 *sqlite;
	sqlite3_stmt *find_path, *add_path, *add_process, *add_event, *go_on;
	struct export_row *row;
	int64_t session;
	unsigned rows; /* of this transaction */
	bool is_new;   /* the file was made by this run, and is empty */
	int64_t processes[KNOWN_PROCESSES];
	struct path_row paths[KNOWN_PATHS];
};

static struct sqlite library;

static int load_library(struct export *export)
{
	const struct sqlite *loaded = sqlite_load();

	if (loaded) {
		library = *loaded;
		return 0;
	}
	(void)snprintf(export->error, sizeof(export->error),
		       "a database needs SQLite's library, libsqlite3.so.0 (Debian: libsqlite3-0)");
	return -ELIBACC;
}

static int failed(struct export *export, sqlite3 *sqlite)
{
	(void)snprintf(export->error, sizeof(export->error), "%s: %s", export->path,
		       sqlite ? library.errmsg(sqlite) : "out of memory");
	return -EIO;
}

static int run(struct export *export, const char *sql)
{
	struct database *database = export->own;
	return library.exec(database->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : failed(export, database->sqlite);
}

static int prepare(struct export *export, const char *sql, sqlite3_stmt **ret_statement)
{
	struct database *database = export->own;
	return library.prepare_v3(database->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT,
				  ret_statement, NULL) == SQLITE_OK
		       ? 0
		       : failed(export, database->sqlite);
}

/* Runs a statement that gives no row, or one number.  Returns 1: a row; 0; a negative errno. */
static int step(struct export *export, sqlite3_stmt *statement, int64_t *ret_number)
{
	struct database *database = export->own;
	int result = library.step(statement);

	if (result == SQLITE_ROW && ret_number)
		*ret_number = library.column_int64(statement, 0);
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		(void)failed(export, database->sqlite);
	(void)library.reset(statement);
	return result == SQLITE_ROW ? 1 : result == SQLITE_DONE ? 0 : -EIO;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	if (text)
		(void)library.bind_text(statement, at, text, -1, SQLITE_STATIC);
	else
		(void)library.bind_null(statement, at);
}

/* ---- the file ---- */

static uint32_t number_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static int refuse(struct export *export, const char *why)
{
	(void)snprintf(export->error, sizeof(export->error), "%s: %s", export->path, why);
	return -EEXIST;
}

/* Is it a database of ours, or empty?  It is only inspected. */
static int check_file(struct export *export, int fd)
{
	unsigned char header[HEADER_BYTES] = { 0 };
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return refuse(export, "a database is a regular file");
	ssize_t got = pread(fd, header, sizeof(header), 0);
	if (got < 0)
		return -errno;
	if (got == 0)
		return 0;
	if (got < (ssize_t)sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return refuse(export, "it is there, and is no SQLite database");
	if (number_at(header + 68) != APPLICATION_ID)
		return refuse(export, "it is there, and is another program's database");
	if (number_at(header + 60) != USER_VERSION)
		return refuse(export, "it was made by another version of seen");
	return 0;
}

static int inspect_file(struct export *export)
{
	struct database *database = export->own;
	int fd = open(export->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);

	database->is_new = fd >= 0;
	if (fd < 0 && errno == EEXIST) /* also a pipe: it is not waited for anybody */
		fd = open(export->path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int result = check_file(export, fd);
	(void)close(fd);
	return result;
}

/* A number that a statement tells.  Returns 0 or a negative errno. */
static int ask(struct export *export, const char *sql, const char *text, int64_t *ret_number)
{
	sqlite3_stmt *statement;
	int error = prepare(export, sql, &statement);

	if (error < 0)
		return error;
	if (text)
		bind_text(statement, 1, text);
	error = step(export, statement, ret_number);
	(void)library.finalize(statement);
	return error < 0 ? error : 0;
}

/* The tables are there, in a transaction of their own: from then on the file tells what it is, also
 * while the first rows are written to it. */
static int make_tables(struct export *export)
{
	int64_t count = 0;
	/* Where a run was killed at this, its transaction is undone now. */
	int error = run(export, "BEGIN IMMEDIATE");

	if (error == 0)
		error = ask(export, "SELECT count(*) FROM sqlite_master", NULL, &count);
	if (error == 0 && count == 0)
		error = run(export, export_sql_tables_sql);
	if (error == 0 && count == 0)
		error = run(export, "PRAGMA application_id = 0x7365656e; PRAGMA user_version = 1");
	return error < 0 ? error : run(export, "COMMIT");
}

static int open_database(struct export *export)
{
	struct database *database = export->own;
	int error = inspect_file(export);

	if (error < 0)
		return error;
	if (library.open_v2(export->path, &database->sqlite, SQLITE_OPEN_READWRITE, NULL) !=
	    SQLITE_OK)
		return failed(export, database->sqlite);
	(void)library.busy_timeout(database->sqlite, BUSY_MS);
	/* What stands in its schema is not believed: it may be from anybody. */
	(void)library.db_config(database->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)library.db_config(database->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	error = run(export, "PRAGMA cache_size = -1024");
	if (error == 0)
		error = make_tables(export);
	if (error == 0)
		database->is_new = false;
	return error < 0 ? error : run(export, "BEGIN IMMEDIATE");
}

/* ---- statements ---- */

static const char *column_of_events(enum export_column column)
{
	return column == EXPORT_COLUMN_time ? "time_ns" : export_column_name(column);
}

static bool is_of_event(enum export_column column)
{
	return export_column_kind(column) == EXPORT_KIND_EVENT ||
	       export_column_kind(column) == EXPORT_KIND_PATH;
}

static int prepare_event(struct export *export)
{
	struct database *database = export->own;
	char sql[2048], values[512];
	size_t at = (size_t)snprintf(sql, sizeof(sql),
				     "INSERT INTO events (id, session, process, child_pid, more");
	size_t value = (size_t)snprintf(values, sizeof(values), "?, ?, ?, ?, ?");

	for (unsigned i = 0; i < EXPORT_COLUMN_COUNT; i++) {
		if (!is_of_event((enum export_column)i))
			continue;
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, ", %s",
				       column_of_events((enum export_column)i));
		value += (size_t)snprintf(values + value, sizeof(values) - value, ", ?");
	}
	(void)snprintf(sql + at, sizeof(sql) - at, ") VALUES (%s) ON CONFLICT (id) DO NOTHING",
		       values);
	return prepare(export, sql, &database->add_event);
}

static int prepare_all(struct export *export)
{
	struct database *database = export->own;
	int error = prepare(export, "SELECT id FROM paths WHERE path = ?", &database->find_path);

	if (error == 0)
		error = prepare(export, "INSERT INTO paths (path) VALUES (?)", &database->add_path);
	if (error == 0)
		error = prepare(export,
				"INSERT INTO processes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
				"ON CONFLICT (id) DO UPDATE SET "
				"parent_pid = coalesce(parent_pid, excluded.parent_pid), "
				"executable = coalesce(executable, excluded.executable)",
				&database->add_process);
	if (error == 0)
		error = prepare(export, "UPDATE sessions SET next = max(next, ?) WHERE id = ?",
				&database->go_on);
	return error < 0 ? error : prepare_event(export);
}

/* id: 0: none. */
static void bind_id(sqlite3_stmt *statement, int at, int64_t id)
{
	if (id)
		(void)library.bind_int64(statement, at, id);
	else
		(void)library.bind_null(statement, at);
}

static void bind_cell(sqlite3_stmt *statement, int at, const struct export_cell *cell)
{
	if (cell->kind == EXPORT_CELL_NUMBER || cell->kind == EXPORT_CELL_BOOLEAN)
		(void)library.bind_int64(statement, at, cell->number);
	else
		bind_text(statement, at, cell->text);
}

/* ---- the journal's row ---- */

static int find_session(struct export *export)
{
	struct database *database = export->own;
	const struct export_facts *facts = &export->facts;
	char name[4 * JOURNAL_NAME_BYTES], workspace[4 * JOURNAL_TEXT_BYTES_MAX + 1];
	sqlite3_stmt *statement;
	int64_t next = 0;
	int error = prepare(export,
			    "INSERT INTO sessions (journal, name, workspace, host, created_ns, "
			    "next) VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT (journal) DO UPDATE SET "
			    "host = coalesce(host, excluded.host)",
			    &statement);

	if (error < 0)
		return error;
	bool known = facts->workspace &&
		     path_escape(facts->workspace, workspace, sizeof(workspace)) >= 0;
	(void)path_escape(facts->session, name, sizeof(name));
	bind_text(statement, 1, facts->journal);
	bind_text(statement, 2, name);
	bind_text(statement, 3, known ? workspace : NULL);
	bind_text(statement, 4, facts->host);
	(void)library.bind_int64(statement, 5, (int64_t)facts->created_realtime_ns);
	error = step(export, statement, NULL);
	(void)library.finalize(statement);
	if (error == 0)
		error = ask(export, "SELECT id FROM sessions WHERE journal = ?", facts->journal,
			    &database->session);
	if (error == 0)
		error = ask(export, "SELECT next FROM sessions WHERE journal = ?", facts->journal,
			    &next);
	if (error < 0)
		return error;
	if (database->session <= 0 || database->session > INT32_MAX || next < 0)
		return refuse(export, "it is damaged");
	export->from = (uint64_t)next;
	return 0;
}

/* Ends the transaction: rows up to there are written. */
static int commit(struct export *export, uint64_t next)
{
	struct database *database = export->own;

	(void)library.bind_int64(database->go_on, 1, (int64_t)next);
	(void)library.bind_int64(database->go_on, 2, database->session);
	int error = step(export, database->go_on, NULL);
	if (error == 0)
		error = run(export, "COMMIT");
	database->rows = 0;
	return error;
}

static int start(struct export *export)
{
	struct database *database = calloc(1, sizeof(*database));

	if (!database)
		return -ENOMEM;
	export->own = database;
	database->row = export_row_new();
	if (!database->row)
		return -ENOMEM;
	int error = load_library(export);
	if (error == 0)
		error = open_database(export);
	if (error == 0)
		error = prepare_all(export);
	return error < 0 ? error : find_session(export);
}

/* ---- rows ---- */

/* The id of a text in `paths`, where it is put if it is not there.  ret_id: 0 for none. */
static int find_path(struct export *export, const struct export_cell *cell, int64_t *ret_id)
{
	struct database *database = export->own;
	uint32_t hash = 2166136261u;
	size_t length = 0;

	*ret_id = 0;
	if (!cell->text)
		return 0;
	for (; cell->text[length]; length++)
		hash = (hash ^ (unsigned char)cell->text[length]) * 16777619u;
	struct path_row *known = &database->paths[hash % KNOWN_PATHS];
	if (known->id && known->length == length && memcmp(known->text, cell->text, length) == 0) {
		*ret_id = known->id;
		return 0;
	}
	bind_text(database->find_path, 1, cell->text);
	int found = step(export, database->find_path, ret_id);
	if (found == 0) {
		bind_text(database->add_path, 1, cell->text);
		found = step(export, database->add_path, NULL);
		*ret_id = library.last_insert_rowid(database->sqlite);
	}
	if (found < 0)
		return found;
	if (length <= sizeof(known->text)) {
		known->id = *ret_id;
		known->length = (uint16_t)length;
		memcpy(known->text, cell->text, length);
	}
	return 0;
}

static int64_t id_of(const struct database *database, int64_t number)
{
	return (int64_t)((uint64_t)database->session << NUMBER_BITS) + number;
}

/* The id of the process, whose row is written.  ret_id: 0: it is not known. */
static int find_process(struct export *export, const struct event *event, int64_t *ret_id)
{
	struct database *database = export->own;
	const struct export_cell *cells = database->row->cells;
	int64_t executable, *known = &database->processes[event->process % KNOWN_PROCESSES];
	sqlite3_stmt *statement = database->add_process;

	*ret_id = event->process ? id_of(database, (int64_t)event->process) : 0;
	if (!*ret_id || *known == *ret_id)
		return 0;
	int error = find_path(export, &cells[EXPORT_COLUMN_executable], &executable);
	if (error < 0)
		return error;
	(void)library.bind_int64(statement, 1, *ret_id);
	(void)library.bind_int64(statement, 2, database->session);
	(void)library.bind_int64(statement, 3, (int64_t)event->process);
	bind_id(statement, 4, event->vforked ? event->parent_pid : event->pid);
	bind_id(statement, 5, event->vforked ? 0 : event->parent_pid);
	bind_cell(statement, 6, &cells[EXPORT_COLUMN_role]);
	bind_cell(statement, 7, &cells[EXPORT_COLUMN_scope]);
	bind_id(statement, 8, executable);
	error = step(export, statement, NULL);
	if (error == 0 && !event->vforked)
		*known = *ret_id;
	return error;
}

/* The columns that all events have.  Returns 0 or a negative errno. */
static int bind_event(struct export *export, const struct event *event)
{
	struct database *database = export->own;
	const struct export_cell *cells = database->row->cells;
	sqlite3_stmt *statement = database->add_event;
	int64_t id;
	int error = 0;

	for (int i = 0, at = 6; error == 0 && i < EXPORT_COLUMN_COUNT; i++) {
		if (!is_of_event((enum export_column)i))
			continue;
		if (export_column_kind((enum export_column)i) == EXPORT_KIND_PATH) {
			error = find_path(export, &cells[i], &id);
			bind_id(statement, at, id);
		} else if (i == EXPORT_COLUMN_time) {
			bind_id(statement, at, (int64_t)event->time_realtime_ns);
		} else {
			bind_cell(statement, at, &cells[i]);
		}
		at++;
	}
	return error;
}

/* Begins a transaction, unless one goes on. */
static int start_rows(struct export *export)
{
	struct database *database = export->own;
	return library.get_autocommit(database->sqlite) ? run(export, "BEGIN IMMEDIATE") : 0;
}

static int add_event(struct export *export, const struct event *event)
{
	struct database *database = export->own;
	sqlite3_stmt *statement = database->add_event;
	const char *more = NULL;
	int64_t process = 0;
	int error = start_rows(export);

	if (error == 0)
		error = export_row_fill(database->row, event);
	if (error == 0)
		error = export_row_more(database->row, true, &more);
	if (error == 0)
		error = find_process(export, event, &process);
	if (error == 0)
		error = bind_event(export, event);
	if (error < 0)
		return error;
	(void)library.bind_int64(statement, 1, id_of(database, (int64_t)event->number));
	(void)library.bind_int64(statement, 2, database->session);
	bind_id(statement, 3, process);
	bind_id(statement, 4, event->vforked ? event->pid : 0);
	bind_text(statement, 5, more);
	error = step(export, statement, NULL);
	if (error == 0 && ++database->rows >= TRANSACTION_ROWS)
		error = commit(export, event->number + 1);
	return error;
}

static int finish(struct export *export)
{
	int error = start_rows(export);

	if (error == 0)
		error = run(export, export_sql_indices_sql);
	return error < 0 ? error : commit(export, export->next);
}

static void close_database(struct export *export)
{
	struct database *database = export->own;

	if (!database)
		return;
	if (database->sqlite) {
		(void)library.finalize(database->find_path);
		(void)library.finalize(database->add_path);
		(void)library.finalize(database->add_process);
		(void)library.finalize(database->add_event);
		(void)library.finalize(database->go_on);
		(void)library.close(database->sqlite);
	}
	if (database->is_new)
		(void)unlink(export->path);
	export_row_free(database->row);
	free(database);
	export->own = NULL;
}

const struct export_format export_sqlite = {
	.name = "sqlite",
	.kind = EXPORT_DATABASE,
	.start = start,
	.event = add_event,
	.finish = finish,
	.close = close_database,
};
