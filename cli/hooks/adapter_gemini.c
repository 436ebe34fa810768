/*
 * Gemini CLI: its hooks' form, tried with 0.61.0.  A denial after a tool replaces what the tool gave
 * by the reason; the model has it as the tool's error.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/hooks.h"
#include "cli/base/text.h"
#include "cli/hooks/adapter.h"
#include "cli/hooks/gemini_output.h"
#include "cli/hooks/hook_form.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/rivals.h"
#include "cli/hooks/specific_output.h"

static const struct hook_event EVENTS[] = {
	{ "SessionStart", HOOK_START },
	{ "BeforeAgent", HOOK_PROMPT },
	{ "BeforeTool", HOOK_BEFORE_TOOL },
	{ "AfterTool", HOOK_AFTER_TOOL },
	{ NULL, HOOK_OTHER },
};

static const struct hook_tool TOOLS[] = {
	{ "read_file", HOOK_TOOL_READ, .file = "file_path", .first = "start_line",
	  .last = "end_line" },
	{ "replace", HOOK_TOOL_EDIT, .file = "file_path" },
	{ "write_file", HOOK_TOOL_WRITE, .file = "file_path", .content = "content" },
	{ "run_shell_command", HOOK_TOOL_SHELL, .file = NULL },
	{ "search_file_content", HOOK_TOOL_SEARCH, .file = NULL },
	{ "grep_search", HOOK_TOOL_SEARCH, .file = NULL },
	{ "glob", HOOK_TOOL_SEARCH, .file = NULL },
	{ "list_directory", HOOK_TOOL_SEARCH, .file = NULL },
	{ .name = NULL },
};

static const char *const INSTRUCTIONS[] = { "GEMINI.md", NULL };

/* Are these the lines that the output's head names, byte for byte? */
static bool is_part(const char *output, const char *bytes, size_t length,
		    struct file_lines *ret_lines)
{
	struct gemini_lines part;
	struct file_lines *lines = ret_lines;

	if (!gemini_output_lines(output, &part))
		return false;
	uint64_t count = part.last - part.first + 1;
	return file_lines_find(bytes, length, part.first, count, lines) && lines->count == count &&
	       lines->total == part.total && lines->length == strlen(part.text) &&
	       memcmp(lines->bytes, part.text, lines->length) == 0;
}

static enum hook_shown shown(const struct hook_input *input, const char *bytes, size_t length,
			     struct file_lines *ret_lines)
{
	const json_t *content = json_object_get(input->tool_output, "llmContent");
	const char *output = json_string_value(content);

	if (!output || json_object_get(input->tool_output, "error"))
		return HOOK_SHOWN_NOTHING;
	if (json_string_length(content) == length && memcmp(output, bytes, length) == 0 &&
	    file_lines_find(bytes, length, 1, UINT64_MAX, ret_lines))
		return HOOK_SHOWN_LINES;
	return is_part(output, bytes, length, ret_lines) ? HOOK_SHOWN_LINES : HOOK_SHOWN_SOMETHING;
}

/* What a hook of a model's request is given holds the results of tools, too. */
static bool file_has_rival(const char *path, const char *tool)
{
	bool found;
	json_t *settings = rivals_settings(path, &found);

	found = found || rivals_among(settings, "AfterTool", RIVALS_PATTERN, tool) ||
		rivals_among(settings, "BeforeModel", RIVALS_PATTERN, NULL);
	json_decref(settings);
	return found;
}

/* home: the directory that has .gemini. */
static bool directory_has_rival(const char *home, const char *tool)
{
	char path[PATH_MAX];
	glob_t extensions = { .gl_pathc = 0 };

	if (snprintf(path, sizeof(path), "%s/.gemini/settings.json", home) >= (int)sizeof(path) ||
	    file_has_rival(path, tool) ||
	    snprintf(path, sizeof(path), "%s/.gemini/extensions/*/hooks/hooks.json", home) >=
		    (int)sizeof(path))
		return true;
	int error = glob(path, GLOB_NOSORT, NULL, &extensions);
	bool found = error != 0 && error != GLOB_NOMATCH;
	for (size_t i = 0; error == 0 && i < extensions.gl_pathc && !found; i++)
		found = file_has_rival(extensions.gl_pathv[i], tool);
	globfree(&extensions);
	return found;
}

static bool may_differ(const struct hook_input *input, uint32_t agent_pid)
{
	static const char *const SYSTEM[] = { "/etc/gemini-cli/settings.json",
					      "/etc/gemini-cli/system-defaults.json" };
	static const char *const VARIABLES[] = { "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
						 "GEMINI_CLI_SYSTEM_DEFAULTS_PATH" };
	const char *project = getenv("GEMINI_PROJECT_DIR");
	char home[PATH_MAX];

	(void)agent_pid;
	for (size_t i = 0; i < sizeof(SYSTEM) / sizeof(SYSTEM[0]); i++) {
		const char *named = getenv(VARIABLES[i]);
		if (file_has_rival(named ? named : SYSTEM[i], input->tool))
			return true;
	}
	return !input->directory || hooks_expand("$GEMINI_CLI_HOME/|~/", home, sizeof(home)) < 0 ||
	       directory_has_rival(home, input->tool) ||
	       directory_has_rival(input->directory, input->tool) ||
	       (project && directory_has_rival(project, input->tool));
}

static json_t *replace(const struct hook_input *input, const struct hook_text *text)
{
	(void)input;
	/* An error is no form for a file. */
	return text->lines ? NULL
			   : json_pack("{s:s, s:s%}", "decision", "deny", "reason", text->bytes,
				       text->length);
}

static bool failed(const struct hook_input *input)
{
	const char *text = json_string_value(json_object_get(input->tool_output, "llmContent"));
	return text && strstr(text, "\nExit Code: ");
}

static json_t *refuse(const struct hook_input *input, const char *reason)
{
	(void)input;
	return json_pack("{s:s, s:o}", "decision", "deny", "reason", text_json(reason));
}

static bool is_unchanged(const struct hook_input *input)
{
	const json_t *shown = json_object_get(input->tool_output, "returnDisplay");
	const json_t *before = json_object_get(shown, "originalContent");

	return json_is_string(before) && json_string_length(before) &&
	       json_equal(before, json_object_get(shown, "newContent"));
}

static json_t *add(const struct hook_input *input, const char *text)
{
	/* Before a tool it takes no text. */
	if (input->moment == HOOK_BEFORE_TOOL)
		return NULL;
	return specific_output_add(input, text);
}

const struct hook_adapter hook_adapter_gemini = {
	.agent = "gemini",
	.members = { HOOK_MEMBERS },
	.events = EVENTS,
	.tools = TOOLS,
	.hides_sub_agents = true,
	.instructions = INSTRUCTIONS,
	.shown = shown,
	.may_differ = may_differ,
	.failed = failed,
	.is_unchanged = is_unchanged,
	.replace = replace,
	.refuse = refuse,
	.add = add,
};
