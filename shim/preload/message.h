/*
 * A line for the agent, where it reads what its commands say: never into data, never so that
 * a process has to wait or is sent a signal.
 */
#ifndef SEEN_SHIM_MESSAGE_H
#define SEEN_SHIM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* message_may(): is there a stream that a line may be written to now?  ret_stat: of it.  Makes
 * system calls. */
bool message_may(struct stat *ret_stat);

/* message_line(): writes it.  stream: from message_may().  Returns whether all of it was
 * written. */
bool message_line(const struct stat *stream, const char *line, size_t length);

/* message_unreported(): this program starts.  Prints the warnings that wait for its agent
 * (unreported.h), if the agent, and no other process, reads this program's standard error. */
void message_unreported(void);

#endif
