/*
 * What Claude Code calls its events, and the members of what its hooks are given.  Agents that took
 * over its form have the same, and so have plugins of ours (config/data/hooks).  A member that an
 * agent does not write is not there.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_FORM_H
#define SEEN_CLI_HOOKS_HOOK_FORM_H

#include "cli/hooks/adapter.h"

extern const struct hook_event HOOK_EVENTS[];

/* For struct hook_members; the id of a prompt has another name in each. */
#define HOOK_MEMBERS \
	.event = "hook_event_name", .directory = "cwd", .conversation = "session_id", \
	.transcript = "transcript_path", .sub_agent = "agent_id", .source = "source", \
	.words = "prompt", .call = "tool_use_id", .tool = "tool_name", .tool_input = "tool_input", \
	.tool_output = "tool_response"

#endif
