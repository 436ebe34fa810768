/* What the guard could not report while the run went on. */
#ifndef SEEN_CLI_UNSAID_H
#define SEEN_CLI_UNSAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

/* unsaid_print(): prints a line on standard error for each write that the guard warned of, or
 * refused, and that no agent was shown: neither at once, nor by a later program (unreported.h).
 * The line has the file's name, and the command that restores its content.  The first lines are
 * printed, and the number of the others.
 *
 * journal: path of the session's; one that cannot be read gives no line.
 * since: number of the run's first record. */
void unsaid_print(const struct segment *segment, const char *journal, uint64_t since);

/* unsaid_first(): the first write that the guard warned of or refused since `since`, whether or not
 * an agent was shown it: its file, and the command that restores the content.  ret_line is cut where
 * it is too short.  Returns whether there is one. */
bool unsaid_first(const struct segment *segment, const char *journal, uint64_t since,
		  char *ret_line, size_t capacity);

#endif
