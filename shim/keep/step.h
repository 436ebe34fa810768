/* Which programs are steps, for undo: what exists when one begins or ends is kept before it changes. */
#ifndef SEEN_KEEP_STEP_H
#define SEEN_KEEP_STEP_H

#include <stdbool.h>

#include "tracker/process/process.h"

/* step_keeps(): is anything kept of what a process of that context does?  step_begins(): does a step begin with a
 * program?  With the run's own command, which no observed program started; with what an agent starts; where there
 * is none, with what that command starts.  ends_capture: its end is the end of a capture's command. */
bool step_keeps(const struct segment *segment, const struct context *context);
bool step_begins(const struct segment *segment, struct process_ref process,
		 const struct context *context, bool ends_capture);

#endif
