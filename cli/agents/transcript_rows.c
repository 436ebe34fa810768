/* Rows of databases: see transcript_rows.h. */
#include "cli/agents/transcript_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/sqlite.h"

enum {
	VALUE_BYTES_MAX = 64 << 20,
	BUSY_MS = 2000, /* that its writer is waited for, unless it is live */
};

struct transcript_rows {
	sqlite3 *database;
	sqlite3_stmt *sessions, *messages, *parts;
	char *session; /* id of the one that was taken last */
};

static const struct sqlite *sqlite; /* loaded by the first reading */

/* ---- which way it can be read ---- */

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

/* Is there such a file beside it that holds anything? */
static bool has_beside(const char *path, const char *ending)
{
	char name[PATH_MAX + 16];
	struct stat stat;

	(void)snprintf(name, sizeof(name), "%s%s", path, ending);
	return fstatat(AT_FDCWD, name, &stat, 0) == 0 && stat.st_size > 0;
}

/* The words behind the file's name that open it so that nothing is made; NULL: there are none. */
static const char *way_of(const char *path, enum transcript_rows_of which)
{
	static const char WITH_WRITER[] = "?mode=ro&readonly_shm=1", ALONE[] = "?immutable=1";
	bool has_log = has_beside(path, "-wal");

	/* Without these no writer has it open. */
	if (has_log && has_beside(path, "-shm") && is_write_ahead(path))
		return WITH_WRITER;
	if (which == ROWS_OF_LIVE || has_log || has_beside(path, "-journal"))
		return NULL;
	return ALONE;
}

static sqlite3 *open_database(const char *path, const char *way, enum transcript_rows_of which)
{
	char name[3 * PATH_MAX + 64] = "file:";
	size_t at = strlen(name);
	sqlite3 *database = NULL;

	for (; *path && at < 3 * PATH_MAX; path++)
		at += (size_t)snprintf(name + at, 4, strchr("%?#", *path) ? "%%%02X" : "%c", *path);
	(void)snprintf(name + at, sizeof(name) - at, "%s", way);
	if (sqlite->open_v2(name, &database,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK) {
		(void)sqlite->close(database);
		return NULL;
	}
	(void)sqlite->busy_timeout(database, which == ROWS_OF_LIVE ? 0 : BUSY_MS);
	(void)sqlite->db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite->db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* kilo's has indexes by json_extract(). */
	(void)sqlite->db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, which == ROWS_OF_ANY,
				NULL);
	(void)sqlite->limit(database, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	return database;
}

/* ---- statements ---- */

static sqlite3_stmt *prepare(sqlite3 *database, const char *text)
{
	sqlite3_stmt *statement = NULL;
	(void)sqlite->prepare_v3(database, text, -1, 0, &statement, NULL);
	return statement;
}

/* Are these tables, and no views or modules, which might do anything? */
static bool has_tables(sqlite3 *database)
{
	sqlite3_stmt *tables = prepare(database,
				       "SELECT count(*) FROM sqlite_master WHERE type = 'table' "
				       "AND rootpage > 0 AND name IN ('session', 'message', "
				       "'part')");
	bool has = tables && sqlite->step(tables) == SQLITE_ROW &&
		   sqlite->column_int64(tables, 0) == 3;

	(void)sqlite->finalize(tables);
	return has;
}

/* What a failure of SQLite's is to a caller. */
static int error_of(const struct transcript_rows *rows)
{
	switch (sqlite->errcode(rows->database) & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_NOMEM:
		return -ENOMEM;
	default:
		return -EAGAIN;
	}
}

/* In one transaction, so that all rows are of the same moment. */
static int init(struct transcript_rows *rows, enum transcript_rows_of which, int64_t since_ms)
{
	if (which == ROWS_OF_ANY && !has_tables(rows->database))
		return sqlite->errcode(rows->database) == SQLITE_OK ? -EINVAL : error_of(rows);
	rows->sessions = prepare(rows->database, "SELECT id, parent_id, directory, revert FROM "
						 "session WHERE time_updated >= ?1 "
						 "ORDER BY rowid");
	rows->messages = prepare(rows->database, "SELECT id, time_updated, data FROM message "
						 "WHERE session_id = ?1 ORDER BY time_created, id");
	rows->parts = prepare(rows->database, "SELECT id, time_updated, data FROM part "
					      "WHERE message_id = ?1 ORDER BY id");
	if (!rows->sessions || !rows->messages || !rows->parts)
		return sqlite->errcode(rows->database) == SQLITE_ERROR ? -EINVAL : error_of(rows);
	if (sqlite->exec(rows->database, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return error_of(rows);
	(void)sqlite->bind_int64(rows->sessions, 1, since_ms);
	return 0;
}

static int explain(int error, const char *text, char ret_error[TRANSCRIPT_ROWS_ERROR_BYTES])
{
	(void)snprintf(ret_error, TRANSCRIPT_ROWS_ERROR_BYTES, "%s", text);
	return error;
}

int transcript_rows_open(const char *path, enum transcript_rows_of which, int64_t since_ms,
			 struct transcript_rows **ret_rows,
			 char ret_error[TRANSCRIPT_ROWS_ERROR_BYTES])
{
	const char *way = way_of(path, which);

	ret_error[0] = '\0';
	if (!way)
		return explain(-ENOTRECOVERABLE,
			       "its agent ended in the middle of a change; start the agent once, "
			       "and run this again",
			       ret_error);
	if (!(sqlite = sqlite_load()))
		return explain(-ELIBACC,
			       "a database needs SQLite's library, libsqlite3.so.0 (Debian: "
			       "libsqlite3-0)",
			       ret_error);
	struct transcript_rows *rows = calloc(1, sizeof(*rows));
	if (!rows || !(rows->database = open_database(path, way, which))) {
		free(rows);
		return explain(-EAGAIN, "it cannot be opened as a database", ret_error);
	}
	int error = init(rows, which, since_ms);
	if (error < 0) {
		(void)snprintf(ret_error, TRANSCRIPT_ROWS_ERROR_BYTES, "%s",
			       error == -EINVAL ? "no database of opencode or kilo"
						: sqlite->errmsg(rows->database));
		transcript_rows_close(rows);
		return error;
	}
	*ret_rows = rows;
	return 0;
}

void transcript_rows_close(struct transcript_rows *rows)
{
	if (!rows)
		return;
	(void)sqlite->finalize(rows->sessions);
	(void)sqlite->finalize(rows->messages);
	(void)sqlite->finalize(rows->parts);
	(void)sqlite->close(rows->database);
	free(rows->session);
	free(rows);
}

/* ---- rows ---- */

static const char *text_of(sqlite3_stmt *row, int column)
{
	return (const char *)sqlite->column_text(row, column);
}

int transcript_rows_session(struct transcript_rows *rows, struct transcript_session *ret_session)
{
	int status = sqlite->step(rows->sessions);

	free(rows->session);
	rows->session = NULL;
	if (status != SQLITE_ROW)
		return status == SQLITE_DONE ? 0 : error_of(rows);
	*ret_session = (struct transcript_session){ .id = text_of(rows->sessions, 0),
						    .parent = text_of(rows->sessions, 1),
						    .directory = text_of(rows->sessions, 2),
						    .revert = text_of(rows->sessions, 3) };
	if (!ret_session->id)
		return -EBADMSG;
	rows->session = strdup(ret_session->id);
	return rows->session ? 1 : -ENOMEM;
}

static int report(sqlite3_stmt *statement, bool is_part, transcript_row_sink *sink, void *data)
{
	struct transcript_row row = { .id = text_of(statement, 0),
				      .written_ms = sqlite->column_int64(statement, 1),
				      .is_part = is_part,
				      .statement = statement };

	return row.id ? sink(&row, data) : 0;
}

static int each_part(struct transcript_rows *rows, const char *message, transcript_row_sink *sink,
		     void *data)
{
	int status, error = 0;

	(void)sqlite->reset(rows->parts);
	(void)sqlite->bind_text(rows->parts, 1, message, -1, SQLITE_TRANSIENT);
	while (error == 0 && (status = sqlite->step(rows->parts)) == SQLITE_ROW)
		error = report(rows->parts, true, sink, data);
	return error < 0 || status == SQLITE_DONE ? error : error_of(rows);
}

int transcript_rows_each(struct transcript_rows *rows, const char *last, transcript_row_sink *sink,
			 void *data)
{
	int status, error = 0;

	(void)sqlite->reset(rows->messages);
	(void)sqlite->bind_text(rows->messages, 1, rows->session, -1, SQLITE_TRANSIENT);
	while (error == 0 && (status = sqlite->step(rows->messages)) == SQLITE_ROW) {
		const char *id = text_of(rows->messages, 0);
		if (!id || (*last && strcmp(id, last) == 0))
			return 0;
		error = report(rows->messages, false, sink, data);
		if (error == 0)
			error = each_part(rows, id, sink, data);
	}
	return error < 0 || status == SQLITE_DONE ? error : error_of(rows);
}

const char *transcript_row_data(const struct transcript_row *row, size_t *ret_length)
{
	const char *data = text_of(row->statement, 2);

	*ret_length = data ? (size_t)sqlite->column_bytes(row->statement, 2) : 0;
	return data;
}
