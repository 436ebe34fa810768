/*
 * Refs whose files another git moved into packed-refs since (git gc, git pack-refs): what they name is what it was.
 */
#ifndef SEEN_CLI_GIT_PACKED_H
#define SEEN_CLI_GIT_PACKED_H

#include "cli/undo/schedule_making.h"

/* git_packed_judge(): gives a ref another fate whose file the session left, and which is in packed-refs instead.
 *
 * One that names there what the session left comes back as a file, which git believes before packed-refs.  But one
 * that had no file before is left: what packed-refs had of it then is not on record.
 *
 * index: of a change in a unit of git's.  Returns 0 or -ENOMEM. */
int git_packed_judge(struct making *making, size_t index);

#endif
