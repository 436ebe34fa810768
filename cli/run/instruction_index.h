/*
 * The index of instruction files: which directories of the workspace hold one.  `seen run` makes
 * it, piece by piece while the command runs, and keeps it current by inotify(7), so that a viewer
 * need not look into every directory above each file (tracker/answer/instruction.h).  What is
 * excluded ([paths] exclude, [watch] exclude) is not gone into, nor are symbolic links.
 *
 * It is only said to be complete while it is: not before the first walk has ended, not while
 * directories are looked for anew (one was renamed, events were lost), never where not every
 * directory can be watched, and no longer than a second beyond the last call.
 * Viewers look for themselves then.
 */
#ifndef SEEN_CLI_INSTRUCTION_INDEX_H
#define SEEN_CLI_INSTRUCTION_INDEX_H

#include "tracker/segment/segment.h"

struct instruction_index;

/* instruction_index_start(): begins one, where [context] inject asks for it and [watch] mode lets
 * directories be watched.  Opens nothing yet.
 *
 * segment: borrowed.  NULL: there is none; the functions below accept that. */
struct instruction_index *instruction_index_start(const struct segment *segment);

/* instruction_index_tick(): does what there is to do, for some 10 ms at most.  Returns in how many
 * milliseconds it is to be called again at the latest. */
unsigned instruction_index_tick(struct instruction_index *index);

/* instruction_index_finish(): the run is over. */
void instruction_index_finish(struct instruction_index *index);

#endif
