/*
 * Runs: the `seen run` commands of a session that live.  What they started is answered while they
 * do.
 */
#ifndef SEEN_TRACKER_RUNS_H
#define SEEN_TRACKER_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* process_begin_run(): the caller is the `seen run` of a command.
 *
 * Returns what the context of its root is to have among its flags; 0 where there is no room: then
 * its end is not seen. */
uint32_t process_begin_run(const struct segment *segment);

/* process_end_run(): it ends: what goes on below is not answered any more. */
void process_end_run(const struct segment *segment, uint32_t run);

/* process_is_only_run(): does no other `seen run` of the session live? */
bool process_is_only_run(const struct segment *segment);

/* process_run_lives(): does the run live that the context belongs to?  True where that is not
 * known. Reads /proc, once. */
bool process_run_lives(const struct segment *segment, const struct context *context);

#endif
