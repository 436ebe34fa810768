/*
 * The guardian: an orphan that holds each listener of a supervisor, and each connection of a
 * program that is about to hand one over.  It sleeps while the supervisor lives.  When that has
 * died, however that happened, it lets pass the calls that were taken and not answered, and all
 * later ones; and it takes the listeners of those that were between filter and exec.
 */
#ifndef SEEN_SUPERVISE_GUARDIAN_H
#define SEEN_SUPERVISE_GUARDIAN_H

#include <stddef.h>
#include <sys/types.h>

#include "shim/supervise/notify.h"

enum {
	GUARDIAN_LISTENERS_MAX = 1024,
	GUARDIAN_CONNECTIONS_MAX = 128,
};

enum guardian_kind { GUARDIAN_LISTENER, GUARDIAN_CONNECTION };

/* guardian_start(): starts it, as no process's child.
 *
 * received: `count` places where threads of the caller take calls, in shared memory.
 * ret_queue: guardian_hold(); the guardian knows by its end that the caller has died.
 * ret_between: the child that starts it, for guardian_started(), which waits for that one's end: the caller has other
 * things to do meanwhile.  Returns 0 or a negative errno. */
int guardian_start(struct received *received, int count, size_t call_bytes, int *ret_queue,
		   pid_t *ret_between);
void guardian_started(pid_t between);

/* guardian_hold(): hands it a copy of a descriptor, which it keeps until the other end is gone.
 * Returns 0; -EPIPE: it has died; -EAGAIN: it did not take it within 80 ms, being stopped. */
int guardian_hold(int queue, enum guardian_kind kind, int fd);

/* guardian_receive_listener(): receives struct request_listener, and its descriptor, close-on-exec.
 * flags: MSG_PEEK: it stays to be received.  Returns the listener; -EAGAIN where no message is
 * there; -EPIPE at the connection's end; -EBADMSG for a message that has not that form; what the
 * program says why it has none.  For the supervisor, too. */
struct request_listener;
int guardian_receive_listener(int connection, int flags, struct request_listener *ret_message);

#endif
