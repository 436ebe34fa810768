/*
 * The socket on which programs ask to be supervised (shim/start/request.h), and the connections of
 * those that do.  Their messages may be anything: a message of another form ends its connection, and
 * nothing else.
 */
#ifndef SEEN_SUPERVISE_RECEPTION_H
#define SEEN_SUPERVISE_RECEPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/start/request.h"

struct reception;

/* A program that is to be supervised. */
struct arrival_request {
	pid_t pid; /* of the process, as the kernel reports it */
	int listener;
	/* It may open less than its rights say: a sandbox without a name in /proc (Landlock). */
	bool is_confined;
	struct request_listener message;
};

/* Those who open it. */
struct reception_owner {
	/* Returns whether one more can be supervised, and what holds for it. */
	bool (*ready)(void *data, struct request_ready *ret_ready);
	/* A program is about to hand over a listener.  Returns 0, or a negative errno: then it is
	 * not asked for one. */
	int (*connected)(void *data, int connection);
	/* It has; the listener is taken over.  It calls exec when this has returned. */
	void (*arrived)(void *data, const struct arrival_request *arrival);
	void *data;
};

/* reception_bind(): makes the socket of a run.  directory: of the session; run: its number, 0: it
 * has none (-EINVAL).  Returns 0 or a negative errno. */
int reception_bind(const char *directory, uint32_t run, int *ret_socket);

/* reception_open(): takes the socket over.  directory, run: as above.  command: the run's own, which
 * has what this process has; 0: not known.  owner: copied.  Returns 0 or a negative errno. */
int reception_open(int socket, const char *directory, uint32_t run, pid_t command,
		   const struct reception_owner *owner, struct reception **ret_reception);

/* reception_descriptor(): readable when there is something to tend to.  reception_tend(): does, and
 * does not wait. */
int reception_descriptor(const struct reception *reception);
void reception_tend(struct reception *reception);

/* reception_waits(): is any program between being asked for its listener and handing it over? */
bool reception_waits(const struct reception *reception);

/* reception_refuse(): admits no further program; those that wait are still served.  Removes the
 * socket's name. */
void reception_refuse(struct reception *reception);

#endif
