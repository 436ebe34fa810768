/*
 * How a program becomes supervised at its exec.  The task that is about to call exec asks for it,
 * also between vfork and exec:
 *
 * 	program                              supervisor of the run
 * 	connects to the run's socket  ---->  passes the connection to its guardian
 * 	                              <----  struct request_ready
 * 	installs the filter
 * 	struct request_listener, the listener ---->  passes it to its guardian
 * 	calls exec, which waits for that; the supervisor lets it pass
 *
 * A listener that is lost behind the filter makes exec itself fail (ENOSYS): so nothing is installed
 * before both are ready, and when the supervisor dies its guardian takes the listener from the
 * connection.  A second listener below a first one is EBUSY: a process below the filter does not
 * ask.
 *
 * The socket is `exec-RUN` in the session's directory (SOCK_SEQPACKET).
 */
#ifndef SEEN_START_REQUEST_H
#define SEEN_START_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tracker/process/mechanism.h"
#include "tracker/process/process_slot.h"

enum {
	REQUEST_WAIT_MS = 100, /* until the supervisor is ready; while it runs, more often */
	REQUEST_MAGIC = 0x73656531,
};

/* Supervisor to program. */
struct request_ready {
	uint32_t magic;
	uint32_t is_full; /* there is no room: the program is started plainly */
	uint32_t filters; /* of system calls that the supervisor itself is below */
	uint32_t unused;
	uint64_t mark; /* filter_install() */
};

/* Program to supervisor, with the listener, if there is one. */
struct request_listener {
	uint32_t magic;
	int32_t error; /* why there is none: a negative errno */
	uint32_t no_new_privs;
	uint32_t is_run_root;       /* the run's own command: the library is not in the task */
	struct process_ref process; /* as announced */
};

/* What a task asks for. */
struct request_start {
	const char *directory; /* of the session */
	uint32_t run;          /* CONTEXT_RUN_SHIFT */
	struct process_ref process;
	bool may_drop; /* no_new_privs may be set for this program: an agent, or the user said so */
	bool is_run_root;
	bool goes_on; /* no exec follows: where it has several threads, nothing is done */
};

/* request_address(): where the socket of a run is.  A path that is too long for an address is
 * reached through a descriptor of the directory: *ret_fd, to be closed, else -1.
 * Returns 0 or a negative errno. */
int request_address(const char *directory, uint32_t run, struct sockaddr_un *ret_address,
		    socklen_t *ret_bytes, int *ret_fd);

/* request_count_filters(): below how many filters of system calls the calling thread is (proc(5),
 * status).  Returns a negative errno where that is not known. */
int request_count_filters(void);

/* request_supervision(): makes the calling task supervised, for the program that it calls exec for
 * next, or for what it does from then on.
 *
 * Returns MECHANISM_SUPERVISOR; else nothing was changed, but for no_new_privs where the filter was
 * refused behind it, and the program is to be started plainly.
 * At most REQUEST_WAIT_MS before the filter is there, or 20 times as long where the supervisor runs
 * and has no processor.  Raw calls and the stack alone, no descriptor
 * stays open: for use between vfork and exec. */
enum mechanism request_supervision(const struct request_start *start);

#endif
