/*
 * After the agent's shell tool: which deliveries of commands its output proves.
 */
#ifndef SEEN_CLI_HOOK_SHELL_H
#define SEEN_CLI_HOOK_SHELL_H

#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"

/* hook_judge_output(): a command's output as the hook has it.
 *
 * What viewers and readers printed, and the output holds whole, is proven.  Where the model is given
 * a part, what the command gave does not count.  Nothing is done where the tool is no shell tool, or
 * the model may be given another output than the hook. */
void hook_judge_output(const struct hook_agent *agent, const struct hook_input *input);

/* hook_has_output(): is it a tool whose command's output the hook has, after it? */
bool hook_has_output(const struct hook_input *input);

#endif
