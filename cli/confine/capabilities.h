/*
 * What root may do where it is confined: what it needs to work on files of others.  Mounts, devices,
 * file handles, other processes and users are left out: each is a way to a file that is hidden.
 */
#ifndef SEEN_CLI_CONFINE_CAPABILITIES_H
#define SEEN_CLI_CONFINE_CAPABILITIES_H

#include <stddef.h>

struct capability {
	unsigned number; /* linux/capability.h */
	const char *name;
};

/* The capabilities that are kept; ended by one without a name. */
extern const struct capability CAPABILITIES_KEPT[];

/* capabilities_drop(): the calling process, and all that it starts, has those at most.
 * Returns 0 or a negative errno. */
int capabilities_drop(void);

#endif
