/*
 * cline: what its plugin (config/data/hooks/cline.js) passes on, one file of a call at a
 * time; tried with 3.0.65.  cline cuts what the plugin was given before the model gets it.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/hooks.h"
#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_form.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/hook_lines.h"
#include "cli/hooks/plugin_output.h"

static const struct hook_tool TOOLS[] = {
	{ "read_files", HOOK_TOOL_READ, .file = "path", .first = "start_line", .last = "end_line" },
	/* It replaces no file whole. */
	{ "editor", HOOK_TOOL_EDIT, .file = "path" },
	{ "apply_patch", HOOK_TOOL_EDIT, .patch = "input" },
	{ .name = NULL },
};

static const char *const INSTRUCTIONS[] = { "AGENTS.md", NULL };

static enum hook_shown shown(const struct hook_input *input, const char *bytes, size_t length,
			     struct file_lines *ret_lines)
{
	/* Behind the lines, where there are more of them. */
	static const char MORE[] = "\n[Showing lines ";
	char *output = NULL;

	if (!json_is_string(input->tool_output))
		return HOOK_SHOWN_NOTHING;
	/* Its last line has no newline. */
	int count = asprintf(&output, "%s\n", json_string_value(input->tool_output));
	if (count < 0)
		return HOOK_SHOWN_SOMETHING;
	size_t taken = hook_lines_numbered(bytes, length, output, (size_t)count, " | ", true,
					   ret_lines);
	bool is_all = taken &&
		      (taken == (size_t)count || strncmp(output + taken, MORE, strlen(MORE)) == 0);
	free(output);
	return is_all ? HOOK_SHOWN_LINES : HOOK_SHOWN_SOMETHING;
}

/* Is anything but seen's own file in a directory of plugins? */
static bool directory_has_rival(const char *path)
{
	bool found = false;
	DIR *directory = opendir(path);

	if (!directory)
		return errno != ENOENT && errno != ENOTDIR;
	for (struct dirent *entry; !found && (entry = readdir(directory));)
		found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			strcmp(entry->d_name, "seen.js") != 0;
	(void)closedir(directory);
	return found;
}

/* A project's plugins: cline may work for a project that the plugin's own directory is not in. */
static bool project_has_rival(const char *directory)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/.cline/plugins", directory) >= (int)sizeof(path) ||
	       directory_has_rival(path);
}

static bool may_differ(const struct hook_input *input, uint32_t agent_pid)
{
	static const char *const PLACES[] = { "$CLINE_DIR/plugins|~/.cline/plugins",
					      "~/Documents/Cline/Plugins" };
	char path[PATH_MAX];

	(void)agent_pid;
	for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++)
		if (hooks_expand(PLACES[i], path, sizeof(path)) < 0 || directory_has_rival(path))
			return true;
	if (!input->directory || project_has_rival(input->directory))
		return true;
	(void)snprintf(path, sizeof(path), "%s", input->path);
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (project_has_rival(path))
			return true;
	}
	return false;
}

static json_t *replace(const struct hook_input *input, const struct hook_text *text)
{
	return text->lines ? NULL : plugin_output_replace(input, text);
}

const struct hook_adapter hook_adapter_cline = {
	.agent = "cline",
	.members = { HOOK_MEMBERS, .prompt = "prompt_id", .results = "results" },
	.events = HOOK_EVENTS,
	.tools = TOOLS,
	.instructions = INSTRUCTIONS,
	.is_cut = true,
	.shown = shown,
	.may_differ = may_differ,
	.replace = replace,
	.refuse = plugin_output_refuse,
	.add = plugin_output_add,
};
