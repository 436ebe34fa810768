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

#include "tracker/process/mechanism.h"
#include "tracker/process/process_slot.h"
#include "tracker/process/role.h"
#include "tracker/process/subject.h"
#include "tracker/process/ticket.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

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

/* process_renumber(): for a supervisor: the announced process has this pid in its PID namespace. */
void process_renumber(const struct segment *segment, struct process_ref process, pid_t pid);

/* process_withdraw(): the announced program could not be started.  Accepts a reference to
 * nothing. */
void process_withdraw(const struct segment *segment, struct process_ref process);

/* process_note_partial(): the process reads or writes in a way that is not seen (io_uring, aio). */
void process_note_partial(const struct segment *segment, struct process_ref process);

/* process_note_past_libc(): its program makes system calls that the library does not see. */
void process_note_past_libc(const struct segment *segment, struct process_ref process);

/* process_is_partly_observed(): does a process that has attached do more than is seen of it? */
bool process_is_partly_observed(const struct process_slot *process);

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
void process_set_record(const struct segment *segment, struct process_ref process, uint32_t number);
uint32_t process_record(const struct segment *segment, struct process_ref process);

/* process_set_keeps(), process_keeps(): descriptors by which the program may write to files that its starter
 * opened, a bit each, of the first PROCESS_KEEPS. */
enum { PROCESS_KEEPS = 16 };
void process_set_keeps(const struct segment *segment, struct process_ref process, uint32_t keeps);
uint32_t process_keeps(const struct segment *segment, struct process_ref process);

/* process_set_writes(), process_writes(): key of the file that the program's descriptor 1 or 2
 * writes to, where its starter had it guarded; 0: none. */
void process_set_writes(const struct segment *segment, struct process_ref process, uint64_t key);
uint64_t process_writes(const struct segment *segment, struct process_ref process);

/* process_set_mechanism(), process_mechanism(): enum mechanism of the announced program, by
 * its starter. */
void process_set_mechanism(const struct segment *segment, struct process_ref process,
			   enum mechanism mechanism);
uint32_t process_mechanism(const struct segment *segment, struct process_ref process);

/* process_ended_before_calls(): for a supervisor: the announced program ended before it made any
 * call that is inspected.  It was observed all the same. */
void process_ended_before_calls(const struct segment *segment, struct process_ref process);

/* process_exit(): the process ends, or its image is replaced. */
void process_exit(const struct segment *segment, struct process_ref process);

/* process_next(): walks the programs of the table that were started and are not known to have
 * ended.  *index: 0 at first.
 * Returns false at the end. */
bool process_next(const struct segment *segment, uint64_t *index, struct process_slot *ret_process);

/* process_is_unobserved(): was a program announced that does not attach?  It has ended, or had the
 * time to begin.  For the program, as above.
 *
 * index, process: its slot, as it was read; one that attached and ended since then was observed.
 * now_ns: CLOCK_BOOTTIME.  patience_ns: how long it may take to begin: PROCESS_STARTS_NS, but where
 * less harm comes from being early. */
bool process_is_unobserved(const struct segment *segment, uint64_t index,
			   const struct process_slot *process, uint64_t now_ns,
			   uint64_t patience_ns);

#define PROCESS_STARTS_NS UINT64_C(1000000000)

#endif
