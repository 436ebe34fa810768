/*
 * Work that a run has done aside: its user does not wait for it.
 */
#ifndef SEEN_CLI_ASIDE_H
#define SEEN_CLI_ASIDE_H

#include <stdbool.h>

/* aside(): has work(data) done by a process of its own, which no process waits for: a child of the
 * system's first process, without a terminal, in the root directory.  Where only one process is to be had
 * (RLIMIT_NPROC), that is a child of this one until this one ends.
 *
 * What it does may end with any instruction: a kill is reported to no process.  leave(data) comes first in that
 * process: it unmaps the files of sessions that this one has mapped, since a session that is mapped
 * counts as used.  Descriptors are closed then.
 * Returns whether one was started. */
bool aside(void (*leave)(void *data), void (*work)(void *data), void *data);

/* aside_reap(): what starts such a process ends at once, and is a child of this one.  To be called when
 * children end; never waits: on a busy machine that would take as long as the work. */
void aside_reap(void);

/* aside_is_possible(): may a process be left behind?  Not by the first process of a container, with
 * which all others end; nor below another run, which would take it for one of its command's.
 * is_inner: session_is_inside() as this run began. */
bool aside_is_possible(bool is_inner);

#endif
