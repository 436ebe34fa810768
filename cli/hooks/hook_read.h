/*
 * After the agent's own read tool: what the model is given in place of the file.
 */
#ifndef SEEN_CLI_HOOK_READ_H
#define SEEN_CLI_HOOK_READ_H

#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"

/* hook_answer_read(): records what the model is given.
 *
 * Returns the adapter's document, a new reference; NULL: it is what the tool gave, or the tool is
 * no read tool. */
json_t *hook_answer_read(const struct hook_agent *agent, const struct hook_input *input);

#endif
