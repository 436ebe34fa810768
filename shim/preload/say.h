/*
 * A line for the agent, where it reads what its commands say: never into data, never so that somebody has to wait or is sent a signal.
 */
#ifndef SEEN_SHIM_SAY_H
#define SEEN_SHIM_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* say_may(): is there a stream that a line may be written to now?  ret_stat: of it.  Makes system calls. */
bool say_may(struct stat *ret_stat);

/* say_line(): writes it.  stream: from say_may().  Returns whether all of it was written. */
bool say_line(const struct stat *stream, const char *line, size_t length);

/* say_unreported(): this program starts.  Prints the warnings that wait for its agent (unreported.h),
 * if the agent, and no other process, reads this program's standard error. */
void say_unreported(void);

#endif
