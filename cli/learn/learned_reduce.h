/* Fewer places: a policy is to be read, and a session has room for a part of a million names alone. */
#ifndef SEEN_CLI_LEARN_LEARNED_REDUCE_H
#define SEEN_CLI_LEARN_LEARNED_REDUCE_H

#include "cli/learn/learned.h"

/* learned_reduce(): takes out places that lie below another one of the same use, which allows them.  Where many are
 * left elsewhere, those far down count as a directory above them, as long as that does not hold the home
 * directory or the workspace.
 *
 * Returns 0 or -ENOMEM. */
int learned_reduce(struct learned *learned);

#endif
