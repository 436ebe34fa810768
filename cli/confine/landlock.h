/*
 * Landlock (landlock(7)): a process gives up rights to files, for itself and all that it starts.  It needs no
 * user namespace and no privilege, but Linux 5.13; here Linux 6.2, since before a file could be truncated
 * all the same.
 *
 * What it does not know: names in directories can be listed, and a file's mode, owner and times be changed.
 * Sockets in the file system, and the network, are left to a filter of system calls.
 */
#ifndef SEEN_CLI_CONFINE_LANDLOCK_H
#define SEEN_CLI_CONFINE_LANDLOCK_H

#include "cli/confine/confinement.h"

/* landlock_version(): of the running kernel's Landlock; 0: there is none, or one that is too old.
 *
 * ret_reason: why not, as a phrase; static. */
int landlock_version(const char **ret_reason);

/* landlock_make(): a confinement as a ruleset.
 *
 * confinement: sorted by this; nothing in it is kept back in a writable directory (grants.h).
 * Returns a descriptor with FD_CLOEXEC, or a negative errno. */
int landlock_make(struct confinement *confinement);

/* landlock_enter(): confines the calling process.  Other processes are out of its reach then.
 *
 * ruleset: of landlock_make().
 * Returns 0 or a negative errno: then it may be confined in part. */
int landlock_enter(const struct confinement *confinement, int ruleset);

/* landlock_leave_others(): the calling process, and all that it starts, reaches no process that is not below it:
 * neither its memory nor its descriptors (ptrace(2), /proc/PID), nor its abstract sockets.  Files are as before.
 * Sets no_new_privs where it needs that.
 *
 * Returns 0 or a negative errno: -ENOSYS before Linux 6.12. */
int landlock_leave_others(void);

#endif
