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

/* hook_knows_lend(): a sub-agent is about to write a version that it knows alone, in the agent's process:
 * the agent's scope takes it for its own, or the write would be refused there. */
void hook_knows_lend(const struct hook_agent *agent, uint64_t file_key,
		     const struct version *version);

/* hook_knows_take_back(): what was lent to no end: since then the scope neither was given the file nor
 * wrote it.  It knows again what it knew before.
 *
 * Returns false where nothing was lent. */
bool hook_knows_take_back(const struct hook_agent *agent, uint64_t file_key);

/* hook_knows_take_back_all(): as that, of every file, where the agent's own conversation goes on, by a prompt,
 * or by a call while no sub-agent is reported to work.  What one wrote, or was not allowed to, is over then.
 * While one works, what was lent since the last prompt stays: it may wait for its user, or be about to write.  So a prompt
 * and the first call behind it, or the next prompt, end it. */
void hook_knows_take_back_all(const struct hook_agent *agent, const struct hook_input *input);

#endif
