/* Lines for the agent: where it reads what its commands say. */
#ifndef SEEN_SUPERVISE_SAY_H
#define SEEN_SUPERVISE_SAY_H

#include "shim/supervise/target.h"

/* say_line(): writes a line into the process's standard error, where that goes to its agent: only into a pipe or terminal, which can be
 * opened from here.  length: 0: nothing is written. */
void say_line(const struct supervision *supervision, const struct target *target, const char *line,
	      size_t length);

#endif
