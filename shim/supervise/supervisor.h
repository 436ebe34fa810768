/* The threads that answer: how a supervisor is started and tended.  What it is: supervise.h. */
#ifndef SEEN_SUPERVISE_SUPERVISOR_H
#define SEEN_SUPERVISE_SUPERVISOR_H

#include "shim/supervise/supervise.h"

/* supervise_supported(): may a program be supervised here?  Tries it in a child.
 * Returns 0; -ENOSYS on a kernel before 5.14 or without seccomp; -EACCES, -EPERM where policy
 * forbids it; -EBUSY below another program's supervisor; -EAGAIN when there is no process to be
 * had. */
int supervise_supported(void);

/* supervise_mark(): the session's mark of the library's own calls, made now if it has none.
 * Written to the segment. */
uint64_t supervise_mark(const struct segment *segment);

struct supervisor;

/* supervise_start(): begins to answer for all below one filter.
 *
 * listener: from filter_install() in the root's process, taken over.
 * Starts threads and one process, the guardian: it lets every call pass when this process has
 * died.  Returns 0 or a negative errno; then nothing answers and the listener is closed: trapped
 * calls fail with ENOSYS.  Once in a process, which may have no other threads yet. */
int supervise_start(int listener, const struct supervise_root *root,
		    const struct supervision *supervision, struct supervisor **ret_supervisor);

/* supervise_bind(): the socket on which programs of a run ask to be supervised.
 *
 * directory: of the session.  run: its number in the contexts of its processes (CONTEXT_RUN_SHIFT).
 * Returns 0 or a negative errno; -EINVAL for run 0. */
int supervise_bind(const char *directory, uint32_t run, int *ret_socket);

/* supervise_at_exec(): lets programs of a run become supervised when they are started
 * (shim/start/request.h).
 *
 * socket: from supervise_bind(), taken over; -1: there is none, and no program does.
 * What supervise_start() starts is started for the first program.  Returns 0 or a negative errno.
 * Once in a process. */
int supervise_at_exec(int socket, uint32_t run, const struct supervision *supervision,
		      struct supervisor **ret_supervisor);

/* supervise_refuse(): no further program becomes supervised; what is goes on. */
void supervise_refuse(struct supervisor *supervisor);

/* supervise_descriptor(): becomes readable when a process ended, when all have, and when there is
 * something to inspect: for poll(2). */
int supervise_descriptor(const struct supervisor *supervisor);

/* supervise_tend(): after supervise_descriptor() was readable: forgets processes that ended,
 * inspects what was written, takes in programs that ask for it.  Returns false when no process is
 * below a filter. */
bool supervise_tend(struct supervisor *supervisor);

#endif
