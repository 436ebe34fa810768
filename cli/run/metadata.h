/*
 * Task metadata: which files are in the agent's context, since when, and what happened to them
 * since: `task_metadata.json` beside the session's journal (docs/design/guard.md, "Task metadata";
 * the schema is config/data/schema/task_metadata.schema.json).
 *
 * `seen run` follows the session's table of files and writes it, in whole or not at all: at most
 * once a second, and at its end, and only when something happened.  Of several runs in one session
 * one writes, and another goes on when that has ended.
 */
#ifndef SEEN_CLI_METADATA_H
#define SEEN_CLI_METADATA_H

#include "cli/session/session.h"

enum {
	METADATA_STALE_MAX =
		8, /* entries kept of one path that are no longer active: the youngest */
};

/* metadata_open(): takes up what the session's file says, or begins a new one.
 *
 * A file that is damaged, or another session's, is renamed, and a line on stderr says so.  session:
 * borrowed until metadata_close().  There is one for a process. */
void metadata_open(const struct session *session);

/* metadata_tick(): checks whether something happened, and writes it when it is time.  Call it
 * often:
 * where nothing did, it costs reading one word.  Prints nothing. */
void metadata_tick(void);

/* metadata_close(): writes what was not written yet.  One line on stderr when something went wrong
 * since metadata_open(): what is on disk is then the last whole version.  Accepts that nothing is
 * open.  is_synced: false: a file that is new need not be on the disk yet: metadata_sync() follows.  One
 * that replaces another is always there before it returns. */
void metadata_close(bool is_synced);

/* metadata_sync(): puts the file that metadata_close() wrote on the disk. */
void metadata_sync(void);

#endif
