/*
 * An undo in a process of its own, which prints into a memory file: for a program that has the terminal
 * for itself (`seen top`).  What it says is what `seen undo` says.
 */
#ifndef SEEN_CLI_UNDO_CHILD_H
#define SEEN_CLI_UNDO_CHILD_H

#include "cli/undo/undo_run.h"

/* undo_child_run(): undo_run(), and waits for its end.
 *
 * request: its `planned` is set here.  ret_output: a descriptor of all that was printed, at its
 * beginning; the caller closes it.  ret_planned: what was planned, all zero where nothing was.
 * Returns the exit code, -EINTR where a signal ended it, or another negative errno; below 0, but for
 * -EINTR, there is no output. */
int undo_child_run(const struct config *config, const char *name,
		   const struct undo_request *request, int *ret_output,
		   struct undo_planned *ret_planned);

#endif
