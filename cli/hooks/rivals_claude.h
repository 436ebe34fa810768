/*
 * Other hooks of Claude Code that may replace what a tool gives to the model: with one of these it is
 * not known what the model is given.
 */
#ifndef SEEN_CLI_RIVALS_CLAUDE_H
#define SEEN_CLI_RIVALS_CLAUDE_H

#include <stdbool.h>
#include <stdint.h>

/* rivals_claude_are(): may another hook run after that tool?  In doubt they are: plugins, settings
 * that were named on the agent's command line, a file that cannot be read.
 *
 * directory: the conversation's; NULL: not known.  agent_pid: of the agent's process.  Reads the
 * files of settings. */
bool rivals_claude_are(const char *tool, const char *directory, uint32_t agent_pid);

#endif
