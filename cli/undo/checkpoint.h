/*
 * Checkpoints: a command of the user's that is run when the agent has changed files and then
 * nothing more for a while ([checkpoint] command, quiet_ms).
 *
 * It is run by sh, in the workspace, with the paths of these files on its standard input, relative
 * to the workspace, one a line.
 * It is none of the session: no library is loaded into it, no supervisor inspects it; SEEN_SESSION
 * is left, so that `seen` knows which session is meant.  Its standard output is thrown away, since
 * the terminal is the agent's.  Never are two run at once.
 *
 * A checkpoint is a point of the session that an undo can go back to: SEEN_CHECKPOINT in the
 * command's environment is a time for `seen undo --since`.
 */
#ifndef SEEN_CLI_CHECKPOINT_H
#define SEEN_CLI_CHECKPOINT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/session/session.h"
#include "config/config.h"

#define CHECKPOINT_VARIABLE "SEEN_CHECKPOINT"

enum { CHECKPOINT_POINT_BYTES = 40 };

struct checkpoint {
	const struct session *session;
	const char *
		command; /* borrowed from the config, which the session's processes cannot write to; "": none */
	const char *workspace; /* likewise */
	uint64_t quiet_ns;
	/* signals and SIGCHLD for the command, as they were before `seen run` changed them */
	sigset_t mask;
	struct sigaction child_action;
	pid_t running;                      /* 0: none; a group of its own */
	uint64_t newest_realtime_ns;        /* last edit that was not told yet */
	uint64_t files;                     /* that were edited and not told */
	uint64_t since_ns;                  /* these two are so */
	uint64_t files_changed;             /* the table as it was inspected last */
	char point[CHECKPOINT_POINT_BYTES]; /* of the last one: RFC 3339 */
};

/* checkpoint_start(): of a run.  session, config: borrowed until checkpoint_finish(). */
void checkpoint_start(struct checkpoint *checkpoint, const struct session *session,
		      const struct config *config);

/* checkpoint_tick(): starts the command when it is time, and says when it failed.  Returns in how
 * many milliseconds it is to be called again at the latest. */
unsigned checkpoint_tick(struct checkpoint *checkpoint);

/* checkpoint_finish(): the run is over: once more, for what was not told, and waits for it; not for
 * longer than a minute, nor after one of the signals that end programs, which are blocked. */
void checkpoint_finish(struct checkpoint *checkpoint);

#endif
