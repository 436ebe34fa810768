/*
 * When a prompt is submitted: what the model learns before it acts.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_PROMPT_H
#define SEEN_CLI_HOOKS_HOOK_PROMPT_H

#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"

/* hook_answer_prompt(): which files changed since the model was given them, what `seen undo` did, and
 * which failed command it could take back, each once.  Files that the prompt names with @ are recorded
 * as given by the user.
 *
 * Returns the adapter's document, a new reference; NULL: there is nothing to tell. */
json_t *hook_answer_prompt(const struct hook_agent *agent, const struct hook_input *input);

#endif
