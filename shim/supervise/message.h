/* Lines for the agent: where it reads what its commands say. */
#ifndef SEEN_SUPERVISE_SAY_H
#define SEEN_SUPERVISE_SAY_H

#include "shim/supervise/target.h"

/* message_line(): writes a line to the process's standard error, if that is its agent's to read: a
 * pipe, a terminal or a socket.  Does not wait.
 *
 * length: 0: nothing is written.  Returns whether the whole line was written. */
bool message_line(const struct supervision *supervision, const struct target *target,
		  const char *line, size_t length);

/* message_refusal(): the same; where it cannot be written there the run prints it.  line: ends in a newline. */
void message_refusal(const struct supervision *supervision, const struct target *target,
		     const char *line);

/* message_unreported(): the process's program starts.  Prints the warnings that wait for its agent
 * (unreported.h), if the agent, and no other process, reads its standard error. */
void message_unreported(const struct supervision *supervision, const struct target *target);

#endif
