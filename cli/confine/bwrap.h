/*
 * bubblewrap (bwrap(1)): makes the mounts of a confinement in a namespace of its own, and starts a command
 * there.
 *
 * An ordinary user gets a user namespace, in which a process has no capability.  It may not inspect
 * external processes: /proc/PID/root and /proc/PID/fd of these are closed to it.  root stays in its
 * own, as files may belong to anybody, and keeps the capabilities that open no way out.
 */
#ifndef SEEN_CLI_CONFINE_BWRAP_H
#define SEEN_CLI_CONFINE_BWRAP_H

#include "cli/confine/confinement.h"

enum { BWRAP_REASON_BYTES = 512 };

/* What a machine can hold. */
enum bwrap_state {
	BWRAP_WORKS,
	BWRAP_ABSENT,  /* it is not installed */
	BWRAP_REFUSED, /* the kernel, or the policy of this machine, does not let it */
};

/* bwrap_try(): starts a command in a confinement of nothing, and waits for it: some milliseconds.
 *
 * ret_reason: BWRAP_REASON_BYTES: its version, or what it says. */
enum bwrap_state bwrap_try(char *ret_reason);

/* bwrap_remedy(): what its user can do about a state that is not BWRAP_WORKS; static. */
const char *bwrap_remedy(enum bwrap_state state);

/* bwrap_has_covered(): is that what stands in the place of a protected file, in a run that this one is in?  It has
 * nothing to keep. */
bool bwrap_has_covered(const struct confine_place *place);

/* bwrap_has_emptied(): does an empty directory stand in the place of a protected one, in a run that this one
 * is in?  No other program mounts one of that mode. */
bool bwrap_has_emptied(const char *path);

/* bwrap_words(): the command line for a confinement.
 *
 * confinement: sorted by this.  command: ended by NULL, borrowed.  ret_arguments: a descriptor with the
 * greater part of the line, to be passed on to bwrap and closed; -1 on failure.
 * ret_words: what is to be executed, ended by NULL; free() it; its strings are static or borrowed.
 * Returns 0; -E2BIG: the confinement has more places than bubblewrap takes; -ENOMEM and others. */
int bwrap_words(struct confinement *confinement, char *const command[], char ***ret_words,
		int *ret_arguments);

#endif
