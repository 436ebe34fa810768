/*
 * The session that story, diff, undo and redo are about: a live one, one that has ended, or one of
 * before the last boot, of which the segment is gone.
 */
#ifndef SEEN_CLI_UNDO_SESSION_H
#define SEEN_CLI_UNDO_SESSION_H

#include "cli/session/session.h"
#include "cli/undo/step.h"
#include "cli/undo/tree_record.h"
#include "tracker/segment/segment.h"

struct undo_session {
	struct session session; /* segment.header NULL: it has no segment any more */
	char name[SEGMENT_NAME_BYTES];
	char directory[SEGMENT_PATH_BYTES]; /* in the state directory: journal, content, undo */
	char journal[SEGMENT_PATH_BYTES];   /* that need not be there */
	char undo[SEGMENT_PATH_BYTES];      /* likewise; the directory of undo records */
	char workspace[SEGMENT_PATH_BYTES]; /* absolute */
	struct steps steps;
	uint64_t read_ns; /* before they were read; sys_boottime_ns() */
	int steps_error;  /* the journal could not be read: negative errno; then there are none */
};

/* undo_session_find(): finds it as session_find() does, and reads its steps.
 *
 * name: NULL: $SEEN_SESSION, else the newest of the workspace.
 * Says on stderr what is wrong, and returns an exit code: EXIT_CODE_OK and the session, which
 * undo_session_close() closes; or another. */
int undo_session_find(const struct config *config, const char *name,
		      struct undo_session *ret_session);

/* undo_session_find_records(): the same for what can do without steps: a journal that is damaged is
 * reported, and there are none. */
int undo_session_find_records(const struct config *config, const char *name,
			      struct undo_session *ret_session);

/* undo_session_read_again(): reads its steps again.  Returns 0, or a negative errno: then there are none. */
int undo_session_read_again(struct undo_session *session);

/* undo_session_mark(): what exists now is kept before it changes: a person is about to see it.  For
 * a session in which a process lives; else nothing. */
void undo_session_mark(const struct undo_session *session);

/* undo_session_lost(): how many changes of a session were counted as not kept; 0: it has no segment any more.  To be
 * read before its records: what a live step could not keep is on record before it is counted. */
uint64_t undo_session_lost(const struct session *session);

/* undo_session_unrecorded(): how many changes of a session are not among its undo records, since there was no room for
 * them.  lost: undo_session_lost().  0 also where that is not known: it has no segment any more, or records are
 * damaged or went. */
uint64_t undo_session_unrecorded(uint64_t lost, const struct tree_records *records);

/* undo_session_unrecorded_text(): for a person; "" where there are none. */
enum { UNDO_SESSION_TEXT_BYTES = 192 };
const char *undo_session_unrecorded_text(uint64_t count, char ret_text[UNDO_SESSION_TEXT_BYTES]);

/* undo_session_report_none(): on stderr: it has no undo records. */
void undo_session_report_none(const struct undo_session *session);

void undo_session_close(struct undo_session *session);

#endif
