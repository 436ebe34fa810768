/*
 * Other extensions of pi that may replace what a tool gives to the model: with one of these it is not
 * known what the model is given.
 */
#ifndef SEEN_CLI_RIVALS_PI_H
#define SEEN_CLI_RIVALS_PI_H

#include <stdbool.h>
#include <stdint.h>

/* rivals_pi_are(): may another extension do so?  In doubt it may: a package, one in a directory of
 * its own, one that the command line names, a file that cannot be read.
 *
 * directory: the conversation's; NULL: not known.  agent_pid: of the agent's process.  Reads
 * settings, and the extensions' files. */
bool rivals_pi_are(const char *directory, uint32_t agent_pid);

#endif
