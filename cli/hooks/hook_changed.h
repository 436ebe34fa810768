/*
 * Which files changed since the model was given them, other than by its agent.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_CHANGED_H
#define SEEN_CLI_HOOKS_HOOK_CHANGED_H

#include <stdio.h>

#include "cli/hooks/hook_record.h"

/* hook_changed_write(): writes one line for the model, or none, and notes what it says: the same
 * change is not told again. */
void hook_changed_write(const struct hook_agent *agent, const struct hook_input *input,
			const struct hook_record *record, FILE *out);

#endif
