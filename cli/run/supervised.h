/*
 * A command below a supervisor.
 *
 * 	seen run                waits for the command as its caller's job, stops with it, says its result
 * 	 └─ the supervisor      answers for all calls below; in a group of its own, so that no terminal stops it
 * 	     └─ the command     in the group and session of `seen run`
 *
 * The supervisor is the command's parent because the kernel may let none but an ancestor look into
 * a process (Yama, ptrace_scope 1).  It goes on as long as any process lives below the filter.
 * When `seen run` dies, it ends the command.  When it dies itself, its guardian lets all calls
 * pass, and the command goes on.
 *
 * With --via auto the supervisor sleeps until a program asks to be supervised at its exec
 * (shim/start/request.h), which may be the command.
 */
#ifndef SEEN_CLI_SUPERVISED_H
#define SEEN_CLI_SUPERVISED_H

#include <stdbool.h>
#include <sys/types.h>

#include "shim/supervise/supervise.h"

/* What is to be started. */
struct supervised_start {
	const struct segment *segment;
	const char *directory; /* that it lies in */
	struct journal *journal;
	struct context context; /* of the command, as it is announced */
	bool has_library;       /* the library is preloaded too */
	bool is_strict;         /* what cannot be judged is refused: a rule is to hold */
	bool at_exec;           /* programs are supervised that ask for it, the command too */
	/* In the command's process: announces the command.  Then, below the filter unless at_exec:
	 * becomes it, or ends. */
	struct process_ref (*announce)(void *data);
	void (*become)(void *data);
	void *data;
};

struct supervised {
	pid_t supervisor;
	pid_t command;
	/* of the command (pidfd), to know its end by when the supervisor is dead; -1 */
	int descriptor;
	int messages;
	bool no_new_privs;
	unsigned stops;    /* of the command, that supervised_next() reported */
	unsigned going_on; /* how often the supervisor was asked to send it SIGCONT */
};

enum supervised_news {
	SUPERVISED_NONE,
	SUPERVISED_STOPPED, /* the command was stopped */
	SUPERVISED_ENDED,   /* its wait status is there */
	SUPERVISED_LINE,    /* something that the user ought to know */
	SUPERVISED_LOST,    /* the supervisor died: told once */
};

enum { SUPERVISED_LINE_BYTES = 512 };

struct supervised_message {
	enum supervised_news news;
	int status; /* of wait(2) */
	char line[SUPERVISED_LINE_BYTES];
};

/* supervised_start(): starts the supervisor and the command.
 *
 * All signals are blocked in the caller, and SIGCHLD is not ignored; it is sent when there are
 * news.
 * Returns 0; a negative errno when that was not possible: then the command was not started. */
int supervised_start(const struct supervised_start *start, struct supervised *ret_supervised);

/* supervised_next(): what there is to know; does not wait. */
void supervised_next(struct supervised *supervised, struct supervised_message *ret_message);

/* supervised_signal(): sends the command a signal, if it lives.  A stop that a SIGCONT ended so is not
 * reported. */
void supervised_signal(struct supervised *supervised, int signal);

/* supervised_let_go_on(): has the supervisor send the command SIGCONT, unless it was let go on or stopped anew
 * since the last SUPERVISED_STOPPED: its parent alone knows the order of stops.  Returns whether the
 * supervisor was asked. */
bool supervised_let_go_on(const struct supervised *supervised);

/* supervised_close(): at the end. */
void supervised_close(struct supervised *supervised);

#endif
