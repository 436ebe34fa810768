/*
 * Finding what another process names through links that only /proc has: its own root, directories and
 * descriptors, and those of other processes.
 */
#ifndef SEEN_SUPERVISE_RESOLVE_LINKS_H
#define SEEN_SUPERVISE_RESOLVE_LINKS_H

#include "shim/supervise/resolve.h"

/* resolve_file(): as resolve_name() (resolve.h), and where that meets a link whose text does not lead
 * where it does: one name of the path after the other, `self` as the process's.  To inspect what is
 * there; nothing of it is handed on.
 *
 * Returns a descriptor (O_PATH) or a negative errno. */
int resolve_file(const struct target *target, const struct named *named, bool follows);

#endif
