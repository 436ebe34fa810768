/*
 * Opens a file as another process would, for a process with other rights than the supervisor's.
 *
 * A child of the supervisor, its twin, takes on the process's user, groups, capabilities, user namespace and root, and
 * opens the file by the process's own name for it.  So the kernel decides whether the process may, and the descriptor is
 * one that the process could have opened.  The twin cannot be traced or read by others, and runs no program.
 *
 * Landlock shows nothing of itself.  So a holder restricts itself by the ruleset of the process, at the moment of the
 * process's own call, and makes the twins of all processes in that domain.
 */
#ifndef SEEN_SUPERVISE_TWIN_H
#define SEEN_SUPERVISE_TWIN_H

#include "shim/supervise/resolve.h"

/* twin_open(): opens a plain file for reading, with O_NOATIME where that is allowed.
 *
 * named: a call of the process's first thread, which waits.  expected: what is to be found there.
 * Returns a descriptor, or a negative errno: the process may not open it, or the kernel does not tell. */
int twin_open(const struct target *target, const struct named *named, const struct stat *expected);

/* Where processes are that restricted themselves by Landlock.  Shared by them: counted. */
struct domain;

/* domain_enter(): the process is about to restrict itself by a ruleset that it has open.
 * outer: the domain that it is in already, or NULL; is not released.
 * Returns a domain, to be released, or NULL: what it may do from then on is not known.
 * domain_share(): one more user; NULL for NULL.  domain_release(): NULL: nothing. */
struct domain *domain_enter(struct domain *outer, int pidfd, int ruleset);
struct domain *domain_share(struct domain *domain);
void domain_release(struct domain *domain);

#endif
