/*
 * Before the agent's own edit or write tool: whether that may be.
 */
#ifndef SEEN_CLI_HOOK_WRITE_H
#define SEEN_CLI_HOOK_WRITE_H

#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"

/* hook_answer_write(): is the file what the agent read, and does the write change it?  A refusal is
 * recorded.
 *
 * Returns the adapter's document, a new reference; NULL: there is nothing to say, or the tool is none
 * of these. */
json_t *hook_answer_write(const struct hook_agent *agent, const struct hook_input *input);

/* hook_note_written(): after the tool, whether it failed or not. */
void hook_note_written(const struct hook_agent *agent, const struct hook_input *input);

/* hook_answer_written(): after the tool: did it change nothing, as its output shows?
 *
 * Returns the adapter's document, a new reference; NULL: it did, or that is not known. */
json_t *hook_answer_written(const struct hook_input *input);

#endif
