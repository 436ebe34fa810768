/* Changes of files that have several names now: what comes back in such a file is there by all of them. */
#ifndef SEEN_CLI_SCHEDULE_SHARED_H
#define SEEN_CLI_SCHEDULE_SHARED_H

#include "cli/undo/schedule_making.h"

/* making_shared_read(): finds them.  Returns 0 or -ENOMEM. */
int making_shared_read(struct making *making);

/* making_shared_spread(): where one name of a file is left, so is the file.  Returns whether that changed a fate. */
bool making_shared_spread(struct making *making);

/* making_shared_left(): is a name of this file left?  found: as it is now. */
bool making_shared_left(const struct making *making, const struct tree_entry *found);

#endif
