/*
 * Receivers: who reads a capture.  Being an output that an agent passed down to its shell is not
 * enough: agents connect shells to other programs, to each other, and to files that are kept.  So
 * the kernel is asked, at each answer, who holds the reading end.
 *
 * 	a pipe           a descriptor of that pipe that is open for reading
 * 	a socket pair    the socket's peer, by NETLINK_SOCK_DIAG (sock_diag(7)): SO_PEERCRED names the peer's maker, not its holder
 * 	a terminal       a master with the terminal's index (proc(5), fdinfo, tty-index)
 * 	an unlinked file the file itself, open for reading
 * 	a spool file     the file itself; agents open and close it as they like
 *
 * All functions are async-signal-safe and hold no descriptor when they return.
 */
#ifndef SEEN_TRACKER_RECEIVER_H
#define SEEN_TRACKER_RECEIVER_H

#include "tracker/process/subject.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

enum receiver {
	RECEIVER_AGENT,   /* the agent, and no other process of the session */
	RECEIVER_OTHER,   /* another process, maybe beside the agent; or none */
	RECEIVER_UNKNOWN, /* the kernel does not tell this process */
};

/* receiver_find(): who reads the capture of a process, now.
 *
 * The agent is the context's anchor, or a process between it and the shell that runs the anchor's
 * image.  It must be an ancestor of the subject, with the shell between or the subject itself.
 * With the agent outside that is all that is asked: nothing below can see who reads there.
 * Not the agent alone: another live process of the process table that is not below the capture has
 * the reading end open, too.
 * pid_ns: as of process_anchor_alive_in().  Takes a few calls for each descriptor of these
 * processes, up to a limit. */
enum receiver receiver_find(const struct segment *segment, struct subject subject,
			    const struct context *context, uint64_t pid_ns);

/* receiver_find_of_errors(): the same of the stream that was the shell's standard error.
 *
 * errors: of a stream that capture_is_errors() accepts.  With an external agent:
 * RECEIVER_UNKNOWN. */
enum receiver receiver_find_of_errors(const struct segment *segment, struct subject subject,
				      const struct context *context, const struct stat *errors,
				      uint64_t pid_ns);

#endif
