/*
 * The rows of a transcript that is an SQLite database (opencode, kilo): tables session, message and
 * part, of which the columns `data` are JSON.  Each session is a conversation; one that has a
 * parent is a sub-agent's.
 *
 * It is the database of another program, perhaps of a live one.  It is opened to read, so that
 * nothing is made or written, not even the read marks of its shared memory, and no lock outlives
 * the reading.
 */
#ifndef SEEN_CLI_TRANSCRIPT_ROWS_H
#define SEEN_CLI_TRANSCRIPT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transcript_rows;

/* Texts are valid until the next session is taken; NULL: the row has none. */
struct transcript_session {
	const char *id;
	const char *parent;
	const char *directory;
	const char *revert; /* JSON: which message on was taken back */
};

/* A message, or a part of one.  Valid during the callback. */
struct transcript_row {
	const char *id;
	int64_t written_ms; /* since 1970 */
	bool is_part;
	void *statement; /* for transcript_row_data() */
};

/* Called for each row.  Returns 0, or a negative errno that ends the reading. */
typedef int transcript_row_sink(const struct transcript_row *row, void *data);

/* Which databases are read. */
enum transcript_rows_of {
	/* one that a writer has open, in write-ahead mode, where no reader keeps a writer waiting;
	 * all rows are of one moment */
	ROWS_OF_LIVE,
	/* any, also one that no program has open; its indexes may call functions */
	ROWS_OF_ANY,
};

enum { TRANSCRIPT_ROWS_ERROR_BYTES = 192 };

/* transcript_rows_open(): sessions that were written to since then (milliseconds since 1970), in
 * the order in which they began.
 *
 * ret_rows: transcript_rows_close() it; it accepts NULL.
 * Returns 0; -ELIBACC: there is no SQLite; -EAGAIN: it cannot be read now; -EINVAL: it is no such
 * database; -ENOTRECOVERABLE: what its writer left has to be merged first; -ENOMEM.
 * ret_error: what is wrong and what to do, in one line without the file's name. */
int transcript_rows_open(const char *path, enum transcript_rows_of which, int64_t since_ms,
			 struct transcript_rows **ret_rows,
			 char ret_error[TRANSCRIPT_ROWS_ERROR_BYTES]);
void transcript_rows_close(struct transcript_rows *rows);

/* transcript_rows_session(): the next session.
 * Returns 1; 0: there is none; -EAGAIN; -EBADMSG: the database is damaged. */
int transcript_rows_session(struct transcript_rows *rows, struct transcript_session *ret_session);

/* transcript_rows_each(): the messages of the session that was taken last, each followed by its
 * parts, in the order of the conversation; again, if called again.
 *
 * last: the id of the message to end before; "": to the end.
 * Returns 0, -EAGAIN, -EBADMSG, or what the sink returned. */
int transcript_rows_each(struct transcript_rows *rows, const char *last, transcript_row_sink *sink,
			 void *data);

/* transcript_row_data(): the JSON text of a row, which is read only then; NULL: it is none. */
const char *transcript_row_data(const struct transcript_row *row, size_t *ret_length);

#endif
