/* Hard links in the plan of an undo. */
#ifndef SEEN_CLI_SCHEDULE_LINKS_H
#define SEEN_CLI_SCHEDULE_LINKS_H

#include "cli/undo/schedule_making.h"

/* making_link(): makes those of the names that are one inode hard links of each other, and of names
 * of it that are there yet.  Returns 0 or -ENOMEM. */
int making_link(struct making *making);

#endif
