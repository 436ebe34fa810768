/* What a process runs, for the table of processes: target.h has what others ask of it. */
#ifndef SEEN_SUPERVISE_PROGRAM_H
#define SEEN_SUPERVISE_PROGRAM_H

#include "shim/supervise/proc.h"

/* target_image(): what it runs, asked for once.  target_join_library(): the library is inside, and
 * sent no handshake to this supervisor. */
struct image target_image(struct target *target);
void target_join_library(struct target *target, const struct mapped *mapped);

#endif
