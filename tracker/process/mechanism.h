/*
 * What became of a program at its exec that the preloaded library cannot observe: supervised from
 * there on, or started plainly, and why.
 */
#ifndef SEEN_TRACKER_MECHANISM_H
#define SEEN_TRACKER_MECHANISM_H

#include <stdint.h>

/* Kept in the program's slot (process_mechanism()).  Appended to, never reordered. */
enum mechanism {
	MECHANISM_LIBRARY, /* nothing was tried: the library is inside, a supervisor was there, or the
			   * run has none */
	MECHANISM_SUPERVISOR, /* supervised since its exec */
	/* started plainly: */
	MECHANISM_NO_SOCKET,  /* no supervisor of this run can be reached from there */
	MECHANISM_NO_TIME,    /* it did not answer in time */
	MECHANISM_FULL,       /* it has as many as it can have */
	MECHANISM_TRACED,     /* below a debugger or tracer */
	MECHANISM_FILTERED,   /* below a filter of system calls that is not ours */
	MECHANISM_UNKNOWN,    /* /proc does not tell what it runs below */
	MECHANISM_PRIVILEGED, /* it gains privileges (setuid), which it would lose */
	MECHANISM_USER,       /* an ordinary user's programs would lose them, and it is no agent */
	MECHANISM_FOREIGN,    /* its calls pass the filter */
	MECHANISM_NO_DESCRIPTOR, /* the caller has no descriptor left */
	MECHANISM_REFUSED,       /* the kernel, or the policy of the machine, refused the filter */
	MECHANISM_SPAWNED,       /* by a posix_spawn with attributes that are libc's alone */
	MECHANISMS,
};

/* mechanism_reason(): why a program was started plainly, as a phrase for a person: "below a
 * debugger or tracer".  Static; NULL where it was not, and for a value out of range. */
const char *mechanism_reason(uint32_t mechanism);

#endif
