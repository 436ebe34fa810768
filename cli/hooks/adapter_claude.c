/* Claude Code: its hooks' form.  updatedToolOutput has the shape of tool_response. */
#include <string.h>

#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_form.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/rivals_claude.h"
#include "cli/hooks/specific_output.h"

static const struct hook_tool TOOLS[] = {
	{ "Read", HOOK_TOOL_READ, .file = "file_path", .first = "offset", .count = "limit" },
	{ "Edit", HOOK_TOOL_EDIT, .file = "file_path" },
	{ "MultiEdit", HOOK_TOOL_EDIT, .file = "file_path" },
	{ "NotebookEdit", HOOK_TOOL_EDIT, .file = "notebook_path" },
	{ "Write", HOOK_TOOL_WRITE, .file = "file_path", .content = "content" },
	{ "Bash", HOOK_TOOL_SHELL, .file = NULL },
	{ .name = NULL },
};

static const char *const INSTRUCTIONS[] = { "CLAUDE.md", NULL };

/* Are these the lines that the output names, byte for byte? */
static bool is_shown(const json_t *file, const char *bytes, size_t length,
		     struct file_lines *ret_lines)
{
	const json_t *content = json_object_get(file, "content");
	json_int_t first = json_integer_value(json_object_get(file, "startLine"));
	json_int_t count = json_integer_value(json_object_get(file, "numLines"));
	json_int_t total = json_integer_value(json_object_get(file, "totalLines"));
	struct file_lines *lines = ret_lines;

	return json_is_string(content) && first > 0 && count > 0 &&
	       file_lines_find(bytes, length, (uint64_t)first, (uint64_t)count, lines) &&
	       lines->count == (uint64_t)count && lines->total == (uint64_t)total &&
	       lines->length == json_string_length(content) &&
	       memcmp(lines->bytes, json_string_value(content), lines->length) == 0;
}

static enum hook_shown shown(const struct hook_input *input, const char *bytes, size_t length,
			     struct file_lines *ret_lines)
{
	const char *type = json_string_value(json_object_get(input->tool_output, "type"));
	const json_t *file = json_object_get(input->tool_output, "file");

	if (type && strcmp(type, "file_unchanged") == 0)
		return HOOK_SHOWN_UNCHANGED;
	if (!type || strcmp(type, "text") != 0)
		return HOOK_SHOWN_NOTHING;
	return is_shown(file, bytes, length, ret_lines) ? HOOK_SHOWN_LINES : HOOK_SHOWN_SOMETHING;
}

/* Of a long output the model is given the beginning, and where the rest is. */
static const json_t *output(const struct hook_input *input, bool *ret_is_cut)
{
	const json_t *response = input->tool_output;

	*ret_is_cut = json_object_get(response, "persistedOutputPath") ||
		      json_object_get(response, "backgroundTaskId") ||
		      json_is_true(json_object_get(response, "isImage")) ||
		      json_is_true(json_object_get(response, "interrupted"));
	return json_object_get(response, "stdout");
}

static bool may_differ(const struct hook_input *input, uint32_t agent_pid)
{
	return rivals_claude_are(input->tool, input->directory, agent_pid);
}

static json_t *replace(const struct hook_input *input, const struct hook_text *text)
{
	const json_t *file = json_object_get(input->tool_output, "file");
	const char *path = json_string_value(json_object_get(file, "filePath"));
	const struct file_lines *lines = text->lines;
	uint64_t count = file_lines_count(text->bytes, text->length);

	return specific_output(input,
			       json_pack("{s:{s:s, s:{s:s, s:s%, s:I, s:I, s:I}}}",
					 "updatedToolOutput", "type", "text", "file", "filePath",
					 path ? path : input->path, "content", text->bytes,
					 text->length, "numLines", (json_int_t)count, "startLine",
					 (json_int_t)(lines ? lines->first : 1), "totalLines",
					 (json_int_t)(lines ? lines->total : count)));
}

const struct hook_adapter hook_adapter_claude = {
	.agent = "claude",
	.members = { HOOK_MEMBERS, .prompt = "prompt_id" },
	.events = HOOK_EVENTS,
	.tools = TOOLS,
	.instructions = INSTRUCTIONS,
	.text_max = 10000,
	.shown = shown,
	.output = output,
	.may_differ = may_differ,
	.replace = replace,
	.refuse = specific_output_refuse,
	.add = specific_output_add,
};
