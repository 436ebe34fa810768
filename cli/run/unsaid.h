/* What the guard could tell nobody while the run went on. */
#ifndef SEEN_CLI_UNSAID_H
#define SEEN_CLI_UNSAID_H

#include <stdint.h>

#include "tracker/segment/segment.h"

/* unsaid_print(): a line on standard error for each write of an agent's own process that the guard warned of, or refused: who writes to
 * the terminal itself is told nothing there.  With the file's name, and how what it held is brought back; the first ones, and how
 * many more there are.
 *
 * journal: path of the session's; what cannot be read is not told.  since: number of the run's first record. */
void unsaid_print(const struct segment *segment, const char *journal, uint64_t since);

#endif
