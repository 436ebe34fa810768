/*
 * codex: its hooks' form, tried with 0.171.0.  It reads files by its shell, whose viewers and
 * readers are answered as commands, and proven by its transcript.  Its own tool is apply_patch.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/agents/hooks.h"
#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_form.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/rivals.h"
#include "cli/hooks/specific_output.h"

static const struct hook_tool TOOLS[] = {
	{ "Bash", HOOK_TOOL_SHELL, .file = NULL }, /* whatever codex calls it for its model */
	{ "apply_patch", HOOK_TOOL_EDIT, .patch = "command" },
	{ .name = NULL },
};

static const char *const INSTRUCTIONS[] = { "AGENTS.md", NULL };

static const json_t *output(const struct hook_input *input, bool *ret_is_cut)
{
	*ret_is_cut = false;
	return input->tool_output;
}

/* directory: that has hooks.json and config.toml. */
static bool directory_has_rival(const char *directory, const char *tool)
{
	char path[PATH_MAX];
	bool found = true;

	if (snprintf(path, sizeof(path), "%s/config.toml", directory) >= (int)sizeof(path) ||
	    rivals_mentioned(path, "PostToolUse") || rivals_mentioned(path, "[plugins"))
		return true;
	(void)snprintf(path, sizeof(path), "%s/hooks.json", directory);
	json_t *settings = rivals_settings(path, &found);
	found = found || rivals_among(settings, "PostToolUse", RIVALS_PATTERN, tool);
	json_decref(settings);
	return found;
}

/* A hook of another's may have the model get its words in place of an output. */
static bool may_differ(const struct hook_input *input, uint32_t agent_pid)
{
	char directory[PATH_MAX], path[PATH_MAX];

	(void)agent_pid;
	if (!input->directory || hooks_expand("$CODEX_HOME|~/.codex", path, sizeof(path)) < 0 ||
	    directory_has_rival(path, input->tool) ||
	    directory_has_rival("/etc/codex", input->tool) ||
	    snprintf(directory, sizeof(directory), "%s/", input->directory) >=
		    (int)sizeof(directory))
		return true;
	for (char *slash = strrchr(directory, '/'); slash; slash = strrchr(directory, '/')) {
		*slash = '\0';
		if (snprintf(path, sizeof(path), "%s/.codex", directory) >= (int)sizeof(path) ||
		    directory_has_rival(path, input->tool))
			return true;
	}
	return false;
}

/* Its output does not have the status. */
static bool failed(const struct hook_input *input)
{
	(void)input;
	return true;
}

const struct hook_adapter hook_adapter_codex = {
	.agent = "codex",
	.members = { HOOK_MEMBERS, .prompt = "turn_id" },
	.events = HOOK_EVENTS,
	.tools = TOOLS,
	.instructions = INSTRUCTIONS,
	.output = output,
	.may_differ = may_differ,
	.failed = failed,
	.refuse = specific_output_refuse,
	.add = specific_output_add,
};
