/*
 * Whose knowledge of files a hook is about.  What the agent's commands print and what it writes is known
 * to its scope, whichever of its conversations that was.  What its read tool gives is known to the
 * conversation that was given it: a sub-agent's own is no other's.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_KNOWS_H
#define SEEN_CLI_HOOKS_HOOK_KNOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"
#include "tracker/content/version.h"

/* hook_knows_scope(): the scope whose baselines (baseline.h) a read tool's output moves. */
uint64_t hook_knows_scope(const struct hook_agent *agent, const struct hook_input *input);

/* hook_knows_alone(): does a sub-agent know this version of a file, as its own read tool gave it? */
bool hook_knows_alone(const struct hook_agent *agent, const struct hook_input *input,
		      uint64_t file_key, const struct version *version);

#endif
