/*
 * Processes: who was started by whom, and what follows from it.
 *
 * The starter of a program announces it: a slot that holds the starter's context, and a ticket,
 * `SEEN_P=pid:slot:serial`, that goes into the program's environment.  The program takes its slot
 * over when the library inside it starts; one that never does is unobserved.  Agents save an
 * environment once and restore it for every command, so a ticket is believed only if its slot is
 * the reader's own or its parent's (or that of an ancestor with none but unobserved processes
 * between).
 */
#ifndef SEEN_TRACKER_PROCESS_H
#define SEEN_TRACKER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tracker/process/role.h"
#include "tracker/process/subject.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

#define TICKET_VARIABLE "SEEN_P"

enum { TICKET_BYTES = 64 }; /* of `SEEN_P=...`, NUL counted */

/* A slot in the process table as its holder knows it. */
struct process_ref {
	uint64_t index;
	uint64_t serial; /* 0: none */
};

/* process_announce(): records that a process is about to start a program.
 *
 * subject: who starts it; starter: its context; self: its own slot.  pid: of the process that will
 * hold the program, 0 when not known yet (posix_spawn).  executable, argv: as given to exec; read
 * only for the name and role.
 * ret_ticket: TICKET_BYTES, `SEEN_P=...` ended by NUL.
 * Returns a reference with serial 0 when the table is full: then there is no ticket and the program
 * will be unattached.  Makes no system call but the caller's getpid; async-signal-safe; for use
 * between (v)fork and exec.
 */
struct process_ref process_announce(const struct segment *segment, struct subject subject,
				    const struct context *starter, struct process_ref self,
				    pid_t pid, const char *executable, char *const argv[],
				    char *ret_ticket);

/* process_set_pid(): after posix_spawn returned: the announced process has this pid. */
void process_set_pid(const struct segment *segment, struct process_ref process, pid_t pid);

/* process_withdraw(): the announced program could not be started.  Accepts a reference to
 * nothing. */
void process_withdraw(const struct segment *segment, struct process_ref process);

/* process_attach(): the library starts inside a program: finds out its context and takes a slot.
 *
 * ticket: value of SEEN_P, or NULL.  scrubbed: the environment lacks even SEEN_SESSION: the ticket
 * went with it, and the process's place is looked for by its pid and its parent's.  invocation:
 * what the program is.  scope_name: SEEN_SCOPE, or NULL.
 * agent_is: what the environment says (SEEN_AGENT_IS), SESSION_AGENT_IS_AUTO when nothing; it
 * counts only for a process without a ticket.
 * ret_context: the process's own context, capture taken where this is a shell that an agent started
 * or the root of a run whose agent is external.
 * Returns the slot, serial 0 when the table is full (the context is valid all the same).
 * Makes a constant number of system calls for a tool; more for the others.
 */
struct process_ref process_attach(const struct segment *segment, struct subject subject,
				  const char *ticket, bool scrubbed,
				  const struct invocation *invocation, const char *scope_name,
				  enum session_agent_is agent_is, struct context *ret_context);

/* process_adopt(): as process_attach(), by a supervisor, for a process that it watches and in which
 * the library is not.
 *
 * announced: the slot that was announced for this program, by any process; it is believed as a
 * ticket is.  serial 0: looked for by the process's pid and its parent's, as for a scrubbed
 * environment.
 * A process that has no place in the tree is unattached: never a root.
 * ret_context and the slot have CONTEXT_SUPERVISED.  To be released before the library in the
 * process attaches.
 */
struct process_ref process_adopt(const struct segment *segment, struct subject subject,
				 struct process_ref announced, const struct invocation *invocation,
				 const char *scope_name, struct context *ret_context);

/* process_find_announced(): the slot that process_adopt() would take over for a process without a
 * ticket.  For a caller that may have to release it: its context is to be kept.  False when no
 * process announced it. */
bool process_find_announced(const struct segment *segment, struct subject subject,
			    struct process_ref *ret_process, struct process_slot *ret_slot);

/* process_release(): the library turned out to be inside a process that was adopted: its slot is
 * announced again, so that the library can take it.
 *
 * announced_context: what the slot was announced with; NULL when no process announced it (its
 * serial is not the announced one's):
 * then the slot is free, and the library finds a place of its own.  Nothing is done to a slot that
 * is no adopted one.
 */
void process_release(const struct segment *segment, struct process_ref process,
		     const struct context *announced_context);

/* process_note_partial(): the process reads or writes in a way that is not seen (io_uring, aio). */
void process_note_partial(const struct segment *segment, struct process_ref process);

/* process_note_supervised(): a supervisor inspects the process's system calls that bypass libc. */
void process_note_supervised(const struct segment *segment, struct process_ref process);

/* process_read(): a consistent copy of a slot of the table, counts and record included.  False when
 * there is none at that index, or it is being written or damaged. */
bool process_read(const struct segment *segment, uint64_t index, struct process_slot *ret_process);

/* process_counts(): where that is counted: PROCESS_COUNTS words, for atomic adds.  A slot that is
 * given to another program meanwhile: its counts are a little too high.  NULL: there is no such
 * process. */
uint64_t *process_counts(const struct segment *segment, struct process_ref process);

/* process_count(): the process did something once more.  No system call. */
void process_count(const struct segment *segment, struct process_ref process,
		   enum process_count count);

/* process_set_record(), process_record(): number of the record in the journal of the program's
 * start; 0: none. */
void process_set_record(const struct segment *segment, struct process_ref process, uint64_t number);
uint64_t process_record(const struct segment *segment, struct process_ref process);

/* process_set_writes(), process_writes(): key of the file that the program's descriptor 1 or 2
 * writes to, where its starter had it guarded; 0: none. */
void process_set_writes(const struct segment *segment, struct process_ref process, uint64_t key);
uint64_t process_writes(const struct segment *segment, struct process_ref process);

/* process_ended_before_calls(): for a supervisor: the announced program ended before it made any
 * call that is inspected.  It was observed all the same. */
void process_ended_before_calls(const struct segment *segment, struct process_ref process);

/* process_exit(): the process ends, or its image is replaced. */
void process_exit(const struct segment *segment, struct process_ref process);

/* process_anchor_alive(): is the anchor of the context (the agent's process, or with an external
 * agent the root) the subject or still one of its ancestors, and, unless it is 0, `shell_pid` the
 * subject or one between? Walks /proc; false in another PID namespace, for orphans, and where /proc
 * cannot be read.  Not for tools. */
bool process_anchor_alive(struct subject subject, const struct context *context,
			  uint32_t shell_pid);

/* process_anchor_alive_in(): the same.  pid_ns: what process_pid_ns() said, and would say still; 0:
 * it is asked, for about 3 us. */
bool process_anchor_alive_in(struct subject subject, const struct context *context,
			     uint32_t shell_pid, uint64_t pid_ns);

/* process_begin_run(): the caller is the `seen run` of a command.
 *
 * Returns what the context of its root is to have among its flags; 0 where there is no room: then
 * its end is not seen. */
uint32_t process_begin_run(const struct segment *segment);

/* process_end_run(): it ends: what goes on below is not answered any more. */
void process_end_run(const struct segment *segment, uint32_t run);

/* process_run_lives(): does the run live that the context belongs to?  True where that is not
 * known. Reads /proc, once. */
bool process_run_lives(const struct segment *segment, const struct context *context);

/* process_start(): when a process began, CLOCK_BOOTTIME, to 10 ms.  False for one that has ended,
 * and where the kernel does not tell. */
bool process_start(uint32_t pid, uint64_t *ret_start_ns);

/* process_pid_ns(): inode of the caller's PID namespace, 0 where /proc does not tell. */
uint64_t process_pid_ns(void);

/* process_next(): walks the programs of the table that were started and are not known to have
 * ended.  *index: 0 at first.
 * Returns false at the end. */
bool process_next(const struct segment *segment, uint64_t *index, struct process_slot *ret_process);

/* process_same_image(): do two processes run the same program file (proc(5), exe)?  False where the
 * kernel does not tell. */
bool process_same_image(uint32_t pid, uint32_t other_pid);

/* process_is_gone(): true when the slot's process has certainly ended; for the program, which may
 * wait and look.  Only a process of the caller's PID namespace can be judged. */
bool process_is_gone(const struct process_slot *process);

/* process_is_unobserved(): was a program announced that does not attach?  It has ended, or had the
 * time to begin.  For the program, as above.
 *
 * now_ns: CLOCK_BOOTTIME.  patience_ns: how long it may take to begin: PROCESS_STARTS_NS, but where
 * less harm comes from being early. */
bool process_is_unobserved(const struct process_slot *process, uint64_t now_ns,
			   uint64_t patience_ns);

#define PROCESS_STARTS_NS UINT64_C(1000000000)

#endif
