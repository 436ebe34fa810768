/*
 * Qwen Code: its hooks' form, tried with 0.15.10.  They cannot replace what a tool gave, and Qwen
 * Code says by itself that a file is unchanged: edits are refused, nothing else is answered.
 * UserPromptSubmit runs at each request to the model, so it is not asked for.
 */
#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/specific_output.h"

static const struct hook_event EVENTS[] = {
	{ "PreToolUse", HOOK_BEFORE_TOOL },
	{ "PostToolUse", HOOK_AFTER_TOOL },
	{ NULL, HOOK_OTHER },
};

static const struct hook_tool TOOLS[] = {
	{ "edit", HOOK_TOOL_EDIT, "file_path", NULL, NULL, NULL, NULL },
	{ "write_file", HOOK_TOOL_WRITE, "file_path", NULL, NULL, NULL, "content" },
	{ NULL, HOOK_TOOL_OTHER, NULL, NULL, NULL, NULL, NULL },
};

static json_t *refuse(const struct hook_input *input, const char *reason)
{
	return specific_output_deny(input->event, reason);
}

static json_t *add(const struct hook_input *input, const char *text)
{
	return specific_output_add(input->event, text);
}

const struct hook_adapter hook_adapter_qwen = {
	.agent = "qwen",
	.members = { .event = "hook_event_name",
		     .directory = "cwd",
		     .conversation = "session_id",
		     .sub_agent = "agent_id",
		     .call = "tool_use_id",
		     .tool = "tool_name",
		     .tool_input = "tool_input",
		     .tool_output = "tool_response" },
	.events = EVENTS,
	.tools = TOOLS,
	.refuse = refuse,
	.add = add,
};
