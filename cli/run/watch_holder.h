/*
 * Who may write to a file still, behind the close that the session reported: a process that was started with it, or
 * that has mapped it.
 */
#ifndef SEEN_CLI_WATCH_HOLDER_H
#define SEEN_CLI_WATCH_HOLDER_H

#include "cli/run/watch_state.h"

/* holder_of(): a process of the session that may write to a file at any moment, by /proc; 0: there is none. */
uint32_t holder_of(struct watch *watch, uint64_t dev, uint64_t ino);

/* holder_find_process(): the youngest program of the session with that pid, or, where that is 0, with that serial.
 * False: there is none. */
bool holder_find_process(const struct segment *segment, uint64_t serial, uint32_t pid,
			 struct process_slot *ret_process);

/* holder_ask(): the session wrote to a file that was just inspected: has another of its processes it open still? */
void holder_ask(struct watch *watch, struct file *file);

/* holders_note(): answers that for all files that asked, behind their inspection: what the processes have open is listed
 * once.  What a process does that has one open is the session's, too. */
void holders_note(struct watch *watch);

#endif
