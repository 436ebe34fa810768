/* A process that is about to make a sandbox of itself. */
#ifndef SEEN_SHIM_SANDBOX_H
#define SEEN_SHIM_SANDBOX_H

#include <stdbool.h>

/* sandbox_begins(): the process gives up privileges by its next call, or restricts itself.  It becomes supervised: that
 * takes nothing from it then, and what hides the session from the library does not hide it from the supervisor.
 * Not between vfork and exec, and not in one of several threads.  drops: the call is PR_SET_NO_NEW_PRIVS; any other
 * may be refused to a process that has not done that, so it is not done for it. */
void sandbox_begins(bool drops);

#endif
