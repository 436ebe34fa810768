/*
 * codex: its hooks' form, tried with 0.171.0.  It reads files by its shell, whose viewers and
 * readers are answered as commands, and proven by its transcript.  Its own tool is apply_patch.
 */
#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/patched_files.h"
#include "cli/hooks/specific_output.h"

static const struct hook_event EVENTS[] = {
	{ "UserPromptSubmit", HOOK_PROMPT },
	{ "PreToolUse", HOOK_BEFORE_TOOL },
	{ "PostToolUse", HOOK_AFTER_TOOL },
	{ NULL, HOOK_OTHER },
};

static const struct hook_tool TOOLS[] = {
	{ "apply_patch", HOOK_TOOL_EDIT, NULL, NULL, NULL, NULL, NULL },
	{ NULL, HOOK_TOOL_OTHER, NULL, NULL, NULL, NULL, NULL },
};

static bool edits(const struct hook_input *input, size_t index, struct hook_edit *ret_edit)
{
	const char *patch = json_string_value(json_object_get(input->tool_input, "command"));
	return patch && patched_files_at(patch, index, ret_edit);
}

static json_t *refuse(const struct hook_input *input, const char *reason)
{
	return specific_output_deny(input->event, reason);
}

static json_t *add(const struct hook_input *input, const char *text)
{
	return specific_output_add(input->event, text);
}

const struct hook_adapter hook_adapter_codex = {
	.agent = "codex",
	.members = { .event = "hook_event_name",
		     .directory = "cwd",
		     .conversation = "session_id",
		     .sub_agent = "agent_id",
		     .prompt = "turn_id",
		     .words = "prompt",
		     .call = "tool_use_id",
		     .tool = "tool_name",
		     .tool_input = "tool_input",
		     .tool_output = "tool_response" },
	.events = EVENTS,
	.tools = TOOLS,
	.edits = edits,
	.refuse = refuse,
	.add = add,
};
