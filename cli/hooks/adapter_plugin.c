/*
 * pi, opencode and kilo: agents whose hook is a plugin of ours (config/data/hooks), in the agent's
 * process.  The plugin gives what Claude Code would, a tool's output as one text, and takes
 * plugin_output.h.
 */
#include <string.h>

#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_form.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/hook_lines.h"
#include "cli/hooks/opencode_output.h"
#include "cli/hooks/plugin_output.h"
#include "cli/hooks/rivals_pi.h"

static const struct hook_tool TOOLS_OF_PI[] = {
	{ "read", HOOK_TOOL_READ, .file = "path", .first = "offset", .count = "limit" },
	{ "edit", HOOK_TOOL_EDIT, .file = "path" },
	{ "write", HOOK_TOOL_WRITE, .file = "path", .content = "content" },
	{ "bash", HOOK_TOOL_SHELL, .file = NULL },
	{ "grep", HOOK_TOOL_SEARCH, .file = NULL },
	{ "find", HOOK_TOOL_SEARCH, .file = NULL },
	{ "ls", HOOK_TOOL_SEARCH, .file = NULL },
	{ .name = NULL },
};

static const struct hook_tool TOOLS_OF_OPENCODE[] = {
	{ "read", HOOK_TOOL_READ, .file = "filePath", .first = "offset", .count = "limit" },
	{ "edit", HOOK_TOOL_EDIT, .file = "filePath" },
	{ "write", HOOK_TOOL_WRITE, .file = "filePath", .content = "content" },
	{ "apply_patch", HOOK_TOOL_EDIT, .patch = "patchText" },
	{ "bash", HOOK_TOOL_SHELL, .file = NULL },
	{ "grep", HOOK_TOOL_SEARCH, .file = NULL },
	{ "glob", HOOK_TOOL_SEARCH, .file = NULL },
	{ "list", HOOK_TOOL_SEARCH, .file = NULL },
	{ .name = NULL },
};

/* In one directory the one or the other. */
static const char *const INSTRUCTIONS[] = { "AGENTS.md", "CLAUDE.md", NULL };

/* A file's lines as they are; behind those of a part a remark: "\n\n[... more lines ...]". */
static enum hook_shown shown_plain(const struct hook_input *input, const char *file, size_t length,
				   struct file_lines *ret_lines)
{
	const char *text = json_string_value(input->tool_output);
	size_t text_length = json_string_length(input->tool_output);
	uint64_t first, count;

	hook_input_lines(input, &first, &count);
	if (!text)
		return HOOK_SHOWN_NOTHING;
	if (hook_lines_plain(file, length, first, text, text_length, ret_lines))
		return HOOK_SHOWN_LINES;
	for (size_t i = text_length; text_length && text[text_length - 1] == ']' && i > 3; i--)
		if (memcmp(text + i - 3, "\n\n[", 3) == 0)
			return hook_lines_plain(file, length, first, text, i - 3, ret_lines)
				       ? HOOK_SHOWN_LINES
				       : HOOK_SHOWN_SOMETHING;
	return HOOK_SHOWN_SOMETHING;
}

static enum hook_shown shown_numbered(const struct hook_input *input, const char *file,
				      size_t length, struct file_lines *ret_lines)
{
	const char *text = json_string_value(input->tool_output);
	const char *lines = text ? opencode_output_lines(text) : NULL;

	if (!lines)
		return HOOK_SHOWN_NOTHING; /* a picture, a directory */
	size_t taken = hook_lines_numbered(file, length, lines, strlen(lines), OPENCODE_NUMBER_END,
					   false, ret_lines);
	return taken && opencode_output_is_remark(lines + taken) ? HOOK_SHOWN_LINES
								 : HOOK_SHOWN_SOMETHING;
}

/* Whole, or it is not there: the agents cut before their plugins are called, and say so. */
static const json_t *output(const struct hook_input *input, bool *ret_is_cut)
{
	*ret_is_cut = false;
	return input->tool_output;
}

static bool may_differ_pi(const struct hook_input *input, uint32_t agent_pid)
{
	return rivals_pi_are(input->directory, agent_pid);
}

/* The plugin knows which others were loaded. */
static bool may_differ_opencode(const struct hook_input *input, uint32_t agent_pid)
{
	(void)agent_pid;
	return !json_is_false(json_object_get(input->document, "others"));
}

/* What stands behind the foot, instructions that belong to the file's directory, is kept. */
static json_t *replace_numbered(const struct hook_input *input, const struct hook_text *text)
{
	const char *output = json_string_value(input->tool_output);
	bool is_file = input->known_tool && input->known_tool->kind == HOOK_TOOL_READ;
	const char *rest = output && is_file ? opencode_output_behind(output) : NULL;
	return json_pack("{s:s%+}", "output", text->bytes, text->length, rest ? rest : "");
}

const struct hook_adapter hook_adapter_pi = {
	.agent = "pi",
	.members = { HOOK_MEMBERS, .prompt = "prompt_id" },
	.events = HOOK_EVENTS,
	.tools = TOOLS_OF_PI,
	.instructions = INSTRUCTIONS,
	.shown = shown_plain,
	.output = output,
	.may_differ = may_differ_pi,
	.replace = plugin_output_replace,
	.refuse = plugin_output_refuse,
	.add = plugin_output_add,
};

/* kilo's plugin is opencode's, and says so. */
const struct hook_adapter hook_adapter_opencode = {
	.agent = "opencode",
	.reports_conversations = true,
	.members = { HOOK_MEMBERS, .prompt = "prompt_id" },
	.events = HOOK_EVENTS,
	.tools = TOOLS_OF_OPENCODE,
	.instructions = INSTRUCTIONS,
	.shown = shown_numbered,
	.output = output,
	.may_differ = may_differ_opencode,
	.replace = replace_numbered,
	.refuse = plugin_output_refuse,
	.add = plugin_output_add,
};
