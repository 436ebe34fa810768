/*
 * Qwen Code: its hooks' form, tried with 0.15.10.  They cannot replace what a tool gave, and Qwen
 * Code says by itself that a file is unchanged: edits are refused, nothing else is answered.
 * UserPromptSubmit runs at each request to the model, so it is not asked for.
 */
#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_form.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/specific_output.h"

static const struct hook_tool TOOLS[] = {
	{ "edit", HOOK_TOOL_EDIT, .file = "file_path" },
	{ "write_file", HOOK_TOOL_WRITE, .file = "file_path", .content = "content" },
	{ .name = NULL },
};

const struct hook_adapter hook_adapter_qwen = {
	.agent = "qwen",
	.members = { HOOK_MEMBERS },
	.events = HOOK_EVENTS,
	.tools = TOOLS,
	.refuse = specific_output_refuse,
	.add = specific_output_add,
};
