/*
 * The steps of a session: what story, diff, undo and redo name by a number.
 *
 * A step is one command, with all processes below it, or one own action: what an agent changed by
 * itself between two commands.  Both are derived from the journal; own actions also from the undo
 * records, which the journal's options do not limit.
 *
 * Commands are found from actors.  An actor is an agent, what started an agent (a launcher, with
 * all else that it runs), or, in a run without an agent, the run's own program.  Each program that an actor starts, and that is
 * no actor, begins a command; all processes below belong to it.  A run that is nothing but a
 * shell's `-c`, or one program that starts no other, is one command.  A copy of an actor (fork
 * without exec) is the actor.
 *
 * Changes by actors are grouped by time: the first change after a command of the same run began or
 * ended begins an own action; and, where the agent's hooks report its tool calls, the first one
 * after one of these.  What such a hook itself runs is no step.
 *
 * The number of a step is its place in the order in which steps began, from 1.  It does not change
 * as the session goes on, but where an agent is found below what was taken for a command.
 */
#ifndef SEEN_CLI_STEP_H
#define SEEN_CLI_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "cli/session/session.h"
#include "cli/undo/step_calls.h"

enum step_kind {
	STEP_COMMAND,
	STEP_OWN, /* own action of an actor */
};

struct step {
	uint32_t number; /* from 1 */
	enum step_kind kind;
	uint32_t run;       /* `seen run` of the session that it belongs to, from 1; 0: not known */
	uint32_t process;   /* number of the START or FORK record of its first process */
	uint32_t pid;       /* of that process */
	bool by_agent;      /* an agent's: its command, or its own action */
	uint32_t agent_pid; /* by_agent: of that agent's process; 0: not known */
	/* Realtime, as in the journal.  Command: its first process began; own action: its first
	 * change. */
	uint64_t begin_ns;
	/* Command: its first process ended, 0: it runs, or a signal ended it; own action: its last
	 * change. */
	uint64_t end_ns;
	uint64_t last_ns; /* the last event of any of its processes */
	bool has_status;
	uint32_t status; /* exit status, where has_status */
	/* Command: as it was typed; of a shell the words behind -c.  Own action: the actor's
	 * arguments.  Cut after STEP_TEXT_BYTES; bytes of others; owned, never NULL. */
	char *text;
	/* the tool call that it belongs to, and its prompt, which may be known without the call;
	 * NULL: no hook reported one.  Borrowed from the steps */
	const struct step_call *call, *prompt;
};

enum { STEP_TEXT_BYTES = 4096, STEP_PROCESSES_MAX = 1 << 20 };

struct step_table; /* which step each process belongs to */

struct steps {
	struct step *steps; /* steps[i].number == i + 1 */
	size_t count;
	uint64_t processes_left_out; /* above STEP_PROCESSES_MAX: their changes belong to no step */
	bool has_journal;            /* else nothing is known of processes, and there is no step */
	uint64_t lost_records;       /* that the journal had no room for: steps may be missing */
	uint64_t begin_ns;           /* of the session, realtime; 0: not known */
	struct step_table *table;
};

/* steps_read(): the steps of a session.
 *
 * journal: path of its journal; NULL, or none there: there are no steps.  undo: its directory of
 * undo records, which need not be there; NULL: none.  ret_steps: steps_free() it in any case.
 * Returns 0; -ENOMEM; the errors of events_open(), but for a journal that does not exist.  Undo
 * records that cannot be read count as none. */
int steps_read(const char *journal, const char *undo, struct steps *ret_steps);

/* steps_start(), steps_add(), steps_finish(): the same for who goes through the events for something else, too.
 *
 * ret_steps: steps_free() it in any case.  Each event is added in its order, then the end comes, while `events`, their
 * reader, is open.  Returns as steps_read(). */
int steps_start(struct steps *ret_steps);
void steps_add(struct steps *steps, const struct event *event);
int steps_finish(struct steps *steps, const struct events *events, const char *journal,
		 const char *undo);

void steps_free(struct steps *steps);

/* steps_of_change(): the step that a change belongs to.
 *
 * process: number of the START or FORK record of the process that made it, as an undo record names
 * it.  time_ns: when, realtime.
 * Returns NULL where it belongs to none: its process is not known, or is an actor that changed
 * nothing at that time. */
const struct step *steps_of_change(const struct steps *steps, uint32_t process, uint64_t time_ns);

/* steps_process_last(): the last event of a process, its end where it reported one, realtime; 0: it is not known.
 * process: as above. */
uint64_t steps_process_last(const struct steps *steps, uint32_t process);

/* steps_is_mount_point(): is a directory that a process removed one that a sandbox made for its own mounts
 * (step_processes_made_below())?  process: as above. */
bool steps_is_mount_point(const struct steps *steps, uint32_t process, const char *path,
			  uint64_t creation_ns, uint64_t removed_ns);

/* steps_numbered(): step `number`; NULL: there is none. */
const struct step *steps_numbered(const struct steps *steps, uint32_t number);

/* steps_of_caller(): the command of the session that this very process runs in (an agent that calls
 * `seen undo`); NULL: none. */
const struct step *steps_of_caller(const struct steps *steps);

/* steps_running(): of which commands does a process still run?  Asked of the session's segment and
 * of the kernel; of none where the session has no segment any more (another boot).
 *
 * ret_running: one for each step, in their order. */
void steps_running(const struct steps *steps, const struct session *session, bool *ret_running);

/* steps_has_process(): is a process that lives on record? */
bool steps_has_process(const struct steps *steps, uint32_t pid);

/* steps_calls(): the prompts and tool calls that hooks reported.  Borrowed from the steps. */
const struct step_calls *steps_calls(const struct steps *steps);

#endif
