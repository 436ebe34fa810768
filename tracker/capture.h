/*
 * Captures and commands.  A capture is the stream through which an agent receives a command's
 * output; a command is all that runs below one capture, or, in a long-lived shell, all requests
 * less than a second apart.  Agents cut a command's output, so what a command's viewers and readers
 * sent in all decides whether any of it counts as delivered.
 *
 * All functions are lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_CAPTURE_H
#define SEEN_TRACKER_CAPTURE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tracker/segment.h"
#include "tracker/tables.h"

struct identity identity_of(const struct stat *stat);
bool identity_equal(const struct identity *a, const struct identity *b);

/* capture_claim(): records descriptor 1 of the calling process as a capture, if it may be one.
 *
 * context: of the process; says whether the agent is inside or outside, and what the root's and the
 * agent's own outputs are.  long_lived: commands are told apart by pauses.  Rules (docs/DESIGN.md): never
 * /dev/null or another device, never the agent's own descriptors 1 and 2, never the root's own
 * descriptor 1 under inside; a regular file only when opened O_APPEND, outside the workspace and
 * still linked, and only under inside; outside, a pipe or socket only where somebody said so.
 * Returns the capture's id, 0 when it is none.
 */
uint64_t capture_claim(const struct segment *segment, const struct context *context, bool long_lived);

/* capture_is_sink(): is descriptor 1 of the calling process the recorded capture?  By (dev, ino),
 * and for a file by its birth time, still linked, opened O_APPEND. */
bool capture_is_sink(const struct segment *segment, uint64_t capture_id);

/* capture_command(): the command that a request at this capture belongs to, made where needed.
 * Returns its id, 0 for none. */
uint64_t capture_command(const struct segment *segment, uint64_t capture_id);

/* command_add(): counts bytes that a viewer or reader sent to the capture. */
void command_add(const struct segment *segment, uint64_t command_id, uint64_t bytes);

/* command_within(): did the command's viewers and readers send no more than `limit` bytes so far?
 * False also when nothing is known of the command any more. */
bool command_within(const struct segment *segment, uint64_t command_id, uint64_t limit_bytes);

#endif
