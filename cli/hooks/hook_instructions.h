/*
 * Instruction files that the agent does not give to the model by itself.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_INSTRUCTIONS_H
#define SEEN_CLI_HOOKS_HOOK_INSTRUCTIONS_H

#include <stdio.h>

#include "cli/hooks/hook_record.h"

/* hook_instructions_write(): writes those of [context] files that apply to the agent's directory, the
 * workspace's root first, each behind a line that names it; and notes that they were given.
 *
 * Left out is what the conversation was given, what the agent loads, also by another name or by a
 * line `@NAME` in a file that it loads.  Of one for which there is no room its name is written.
 * record: of the conversation.  room: bytes. */
void hook_instructions_write(const struct hook_agent *agent, const struct hook_input *input,
			     const struct hook_record *record, size_t room, FILE *out);

#endif
