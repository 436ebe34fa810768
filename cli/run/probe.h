/*
 * A trial: programs started by `seen run` in a private session, which is then asked what it saw of
 * them: what a run reports is what a trial finds.  Everything lies in one temporary directory and
 * goes with it.
 */
#ifndef SEEN_CLI_PROBE_H
#define SEEN_CLI_PROBE_H

#include <limits.h>
#include <stdbool.h>

#include "cli/session/coverage.h"
#include "cli/session/session.h"
#include "config/config.h"

struct probe {
	char directory[PATH_MAX]; /* the session's workspace is directory/work */
	char work[PATH_MAX];
	char library[PATH_MAX];
	char **flags; /* of the command line, borrowed, for each run */
	int flag_count;
	struct config *config;
	struct session session;
};

enum { PROBE_NAMES_BYTES = 200 };

struct probe_result {
	bool started;   /* exec succeeded */
	int error;      /* why not: a negative errno */
	bool timed_out; /* and was killed, with all it started */
	bool attached;  /* the last program that the process became was observed */
	/* what keeps the library out of that program, as via_obstacle(); NULL: nothing does */
	const char *obstacle;
	/* names of programs that the library is not in and that were observed all the same; ", "
	 * between; escaped */
	char supervised[PROBE_NAMES_BYTES];
	char complaint[PROBE_NAMES_BYTES]; /* first line that it wrote on standard error; escaped */
	struct coverage coverage;          /* of all that it started */
};

enum probe_output {
	PROBE_DISCARD, /* standard output is /dev/null */
	PROBE_CAPTURE, /* it is a pipe that counts as the agent's, up to 64 KiB */
};

/* probe_open(): makes the directory and the session.
 *
 * request: of the command line; flags are added to it, and its configuration is loaded anew.
 * flags: the words of the command line that it was made of, flag_count of them, borrowed.
 * ret_probe: probe_close() it in any case.  why: a line for a person, on failure.
 * Returns 0 or a negative errno. */
int probe_open(struct config_request *request, char **flags, int flag_count,
	       struct probe *ret_probe, struct config_error *ret_why);

/* probe_run(): runs a program by `seen run` in the session, its input empty, in the directory, as
 * leader of a terminal-less session of processes that is killed at the end.
 *
 * words: the program, by name or path, and its arguments, ended by NULL.  via: the mechanism;
 * NULL: as the command line has it.  timeout_ms: after which it is killed.
 * Returns 0, whatever became of the program; -errno when there is no process to be had. */
int probe_run(const struct probe *probe, char *const words[], const char *via,
	      enum probe_output output, int timeout_ms, struct probe_result *ret_result);

/* probe_close(): removes everything.  Accepts a probe that was opened in part. */
void probe_close(struct probe *probe);

#endif
