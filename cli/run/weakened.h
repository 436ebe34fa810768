/*
 * What a workspace's own .seen.ini takes from a run.  It may only tighten, and adds no right: but less
 * is tracked, guarded or answered where it ignores programs, excludes files, or has the run observe
 * alone.  An agent may have written it.
 */
#ifndef SEEN_CLI_WEAKENED_H
#define SEEN_CLI_WEAKENED_H

#include "config/config.h"

/* weakened_print(): a line for each value of it that does so, with its file and line.  Nothing for
 * [session] mode = off, of which a run without a session tells. */
void weakened_print(const struct config *config);

#endif
