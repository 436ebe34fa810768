/*
 * The processes of a session as the journal tells them: who started whom, and when each changed
 * something.  For step.c, which makes steps of them.
 */
#ifndef SEEN_CLI_STEP_PROCESSES_H
#define SEEN_CLI_STEP_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "cli/undo/step_calls.h"
#include "cli/undo/step_mounts.h"

enum { STEP_NONE = UINT32_MAX }; /* in place of an index */

enum step_process_flags {
	STEP_PROCESS_FORK = 1, /* a copy of its parent, from a FORK record */
	/* FORK: it became another program, which has a row of its own; of an agent's: not an agent */
	STEP_PROCESS_BECOMES = 2,
	STEP_PROCESS_STARTER = 4, /* it started a program, in another process */
	STEP_PROCESS_AGENT = 8,   /* an agent is the process itself or above it */
	STEP_PROCESS_STATUS = 16, /* it told its exit status */
	STEP_PROCESS_ACTOR = 32,  /* step.h */
	STEP_PROCESS_SCRIPT = 64, /* first of a command: that was typed for a shell's -c */
	STEP_PROCESS_LAUNCHER =
		128, /* an actor: an agent is below it, or it was started by such a one */
	STEP_PROCESS_HOOK = 256, /* FORK: it became a hook of ours */
};

struct step_process {
	uint64_t start_ns, end_ns, last_ns; /* realtime; end_ns 0: not told */
	uint64_t pid_ns;                    /* inode of a PID namespace; 0: not known */
	uint32_t number;                    /* of its START or FORK record */
	uint32_t pid;
	uint32_t parent; /* row of what it was copied from, stood in its place, or started it */
	uint32_t path, arguments; /* texts of the journal */
	uint32_t run;             /* number that the tracker gave it; 0: not known */
	uint32_t step;            /* for step.c: index of the command; STEP_NONE */
	int role;                 /* enum role; -1: not known */
	uint32_t flags;           /* enum step_process_flags */
	uint32_t status;
};

/* A process changed something of the workspace, once or more between two beginnings or ends of
 * processes. */
struct step_change {
	uint64_t first_ns, last_ns;
	uint32_t process; /* row */
};

struct step_processes {
	struct step_process *rows; /* by their numbers */
	size_t count, capacity;
	uint64_t left_out;
	uint64_t lost_records; /* the journal had no room for them */
	struct step_change *changes;
	size_t change_count, change_capacity;
	struct step_calls calls; /* that hooks reported */
	struct step_mounts mounts;
	char *workspace; /* the journal's; owned; NULL: not known */
};

struct step_processes_reading; /* what is known while the events are gone through */

/* step_processes_start(): before the first event of a journal.  step_processes_add(): each event, in their order.
 * step_processes_finish(): behind the last one; in any case, and reading may be NULL.
 *
 * ret_processes: step_processes_free() it in any case.  max: rows.  events: their reader; NULL: it could not be opened.
 * Returns 0 or -ENOMEM, which add() leaves to end(). */
int step_processes_start(size_t max, struct step_processes *ret_processes,
			 struct step_processes_reading **ret_reading);
void step_processes_add(struct step_processes_reading *reading, const struct event *event);
int step_processes_finish(struct step_processes_reading *reading, const struct events *events);

void step_processes_free(struct step_processes *processes);

/* step_processes_find(): the row of a process; STEP_NONE. */
uint32_t step_processes_find(const struct step_processes *processes, uint32_t number);

/* step_processes_made_below(): was a directory that a process removed made out of sight, behind the process's start, by a
 * program that it started?
 *
 * remover: number of the process.  creation_ns, removed_ns: of the directory, realtime. */
bool step_processes_made_below(const struct step_processes *processes, uint32_t remover,
			       const char *path, uint64_t creation_ns, uint64_t removed_ns);

/* step_processes_agent(): pid of the nearest agent above a process, which may be one itself; 0: none is known. */
uint32_t step_processes_agent(const struct step_processes *processes, uint32_t number);

/* step_processes_add_records(): adds the changes of the undo records: the journal may leave files
 * out.  undo: directory of the records.  Returns 0 or -ENOMEM; what cannot be read is left out. */
int step_processes_add_records(struct step_processes *processes, const char *undo);

#endif
