/*
 * The end of a session that a run had: what the run wrote is put on the disk, and the session takes no
 * more room than it needs.  No user waits for that, where a process may be left behind; but for
 * metadata that replace a file: metadata_close().
 */
#ifndef SEEN_CLI_AT_REST_H
#define SEEN_CLI_AT_REST_H

#include <stdbool.h>

#include "cli/session/session.h"

struct at_rest {
	bool syncs; /* the journal, its seal and the metadata are not on the disk yet */
	bool made;  /* session->made */
	char directory[SEGMENT_PATH_BYTES];
	char journal[SEGMENT_PATH_BYTES]; /* empty: there is none */
};

/* at_rest_note(): takes up what is needed of a session that is still open. */
void at_rest_note(struct at_rest *rest, const struct session *session);

/* at_rest_start(): once the session is closed, and metadata_close() is done.  leaves: aside_is_possible().
 * SIGIO is ignored from here on. */
void at_rest_start(struct at_rest *rest, bool leaves);

#endif
