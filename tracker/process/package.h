/*
 * Packages: a program that lies in the npm package of the agent that started it is that agent, too,
 * whatever its name is: the launcher's own.
 */
#ifndef SEEN_TRACKER_PACKAGE_H
#define SEEN_TRACKER_PACKAGE_H

#include <stdbool.h>

#include "tracker/process/role.h"
#include "tracker/process/subject.h"

/* package_is_same(): do two programs belong to one package, or the second to one that the first's
 * package has for a machine (PACKAGE-linux-x64)?  Paths without symbolic links; only what lies
 * below a directory node_modules belongs to one.  Async-signal-safe. */
bool package_is_same(const char *launcher, const char *program);

/* package_complete(): of a tool in a package: is its parent an agent of the same one?  Then the
 * invocation becomes an agent's, of the same profile.
 *
 * subject: the program's process.  executable: target of its /proc/PID/exe.  invocation: as
 * role_invocation() left it.  Anything but a tool below node_modules costs no system call.
 * Async-signal-safe. */
void package_complete(const struct segment *segment, struct subject subject, const char *executable,
		      struct invocation *invocation);

#endif
