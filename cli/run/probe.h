/*
 * A trial: programs started under the library in a private session, which is then asked what it
 * saw of them.  Everything lies in one temporary directory and goes with it.
 */
#ifndef SEEN_CLI_PROBE_H
#define SEEN_CLI_PROBE_H

#include <limits.h>
#include <stdbool.h>

#include "cli/session/session.h"
#include "config/config.h"

struct probe {
	char directory[PATH_MAX]; /* the session's workspace is directory/work */
	char work[PATH_MAX];
	char library[PATH_MAX];
	struct config *config;
	struct session session;
};

struct probe_result {
	bool started;   /* exec succeeded */
	int error;      /* why not: a negative errno */
	bool timed_out; /* and was killed, with all it started */
	int status;     /* of wait(2) */
	bool attached;  /* the library ran inside the last program that the process became */
	char unobserved
		[200]; /* names of programs that were started and not heard of, ", " between; escaped */
	char complaint[200]; /* first line that it wrote on standard error; escaped */
};

enum probe_output {
	PROBE_DISCARD, /* standard output is /dev/null */
	PROBE_CAPTURE, /* it is a pipe that counts as the agent's, up to 64 KiB */
};

/* probe_open(): makes the directory and the session.
 *
 * request: of the command line; flags are added to it, and its configuration is loaded anew.
 * ret_probe: probe_close() it in any case.  why: a line for a person, on failure.
 * Returns 0 or a negative errno. */
int probe_open(struct config_request *request, struct probe *ret_probe,
	       struct config_error *ret_why);

/* probe_run(): runs a program in the session, its input empty, in the directory, as leader of a
 * terminal-less session of processes that is killed at the end.
 *
 * path: of the program file.  words: its arguments, ended by NULL.  timeout_ms: after which it is
 * killed.
 * Returns 0, whatever became of the program; -errno when there is no process to be had. */
int probe_run(const struct probe *probe, const char *path, char *const words[],
	      enum probe_output output, int timeout_ms, struct probe_result *ret_result);

/* probe_close(): removes everything.  Accepts a probe that was opened in part. */
void probe_close(struct probe *probe);

#endif
