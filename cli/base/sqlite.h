/*
 * SQLite, loaded when it is needed: `seen` is started often, and each library that it is linked
 * with costs a tenth of that.
 */
#ifndef SEEN_CLI_SQLITE_H
#define SEEN_CLI_SQLITE_H

#include <sqlite3.h>

#define SQLITE_FUNCTIONS(FUNCTION) \
	FUNCTION(bind_int64) \
	FUNCTION(bind_null) \
	FUNCTION(bind_text) \
	FUNCTION(busy_timeout) \
	FUNCTION(close) \
	FUNCTION(column_bytes) \
	FUNCTION(column_int64) \
	FUNCTION(column_text) \
	FUNCTION(column_type) \
	FUNCTION(db_config) \
	FUNCTION(errcode) \
	FUNCTION(errmsg) \
	FUNCTION(exec) \
	FUNCTION(finalize) \
	FUNCTION(get_autocommit) \
	FUNCTION(last_insert_rowid) \
	FUNCTION(limit) \
	FUNCTION(open_v2) \
	FUNCTION(prepare_v3) \
	FUNCTION(reset) \
	FUNCTION(step)

/* sqlite3_NAME() as a member each. */
struct sqlite {
#define SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
	SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};

/* sqlite_load(): until the program ends.  NULL: it is not there; dlerror(3) says why. */
const struct sqlite *sqlite_load(void);

#endif
