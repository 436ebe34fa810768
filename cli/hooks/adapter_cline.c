/*
 * cline: what its plugin (config/data/hooks/cline_answers.js) passes on, one file of a call at a
 * time; tried with 3.0.65.  cline cuts what the plugin was given before the model gets it.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/hooks.h"
#include "cli/base/text.h"
#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/patched_files.h"

static const struct hook_event EVENTS[] = {
	{ "beforeTool", HOOK_BEFORE_TOOL },
	{ "afterTool", HOOK_AFTER_TOOL },
	{ NULL, HOOK_OTHER },
};

static const struct hook_tool TOOLS[] = {
	{ "read_files", HOOK_TOOL_READ, "path", "start_line", "end_line", NULL, NULL },
	/* It replaces no file whole. */
	{ "editor", HOOK_TOOL_EDIT, "path", NULL, NULL, NULL, NULL },
	{ "apply_patch", HOOK_TOOL_EDIT, NULL, NULL, NULL, NULL, NULL },
	{ NULL, HOOK_TOOL_OTHER, NULL, NULL, NULL, NULL, NULL },
};

/* What is left of an output. */
struct rest {
	const char *at, *end;
};

static bool skip_text(struct rest *rest, const char *bytes, size_t length)
{
	bool is_there = (size_t)(rest->end - rest->at) >= length &&
			memcmp(rest->at, bytes, length) == 0;

	if (is_there)
		rest->at += length;
	return is_there;
}

/* A line's number, and the bar behind it. */
static bool skip_number(struct rest *rest, uint64_t number)
{
	char text[40];
	int length = snprintf(text, sizeof(text), "%llu | ", (unsigned long long)number);

	while (rest->at < rest->end && *rest->at == ' ')
		rest->at++;
	return skip_text(rest, text, (size_t)length);
}

/* Each line has its number before it; the last has no newline.  Returns how many of the text's lines
 * the output holds, from `first` on; 0: it holds something else. */
static uint64_t count_lines(struct rest rest, const char *bytes, size_t length, uint64_t first)
{
	static const char MORE[] = "\n\n[Showing lines ";
	const char *end = bytes + length;
	struct file_lines lines;
	uint64_t number = first;

	if (!file_lines_find(bytes, length, first, UINT64_MAX, &lines))
		return 0;
	const char *line = lines.bytes;
	do {
		if (!line)
			return 0;
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t line_length = (size_t)((newline ? newline : end) - line);
		if (!skip_number(&rest, number) || !skip_text(&rest, line, line_length))
			return 0;
		line = newline ? newline + 1 : NULL;
		number++;
		if (skip_text(&rest, MORE, strlen(MORE)))
			rest.at = rest.end;
	} while (skip_text(&rest, "\n", 1));
	return rest.at == rest.end ? number - first : 0;
}

static enum hook_shown shown(const struct hook_input *input, const char *bytes, size_t length,
			     struct file_lines *ret_lines)
{
	const char *output = json_string_value(input->tool_output);
	struct file_lines whole;

	if (!output)
		return HOOK_SHOWN_NOTHING;
	uint64_t first = strtoull(output, NULL, 10);
	const struct rest rest = { output, output + json_string_length(input->tool_output) };
	uint64_t count = first ? count_lines(rest, bytes, length, first) : 0;
	if (!count || !file_lines_find(bytes, length, 1, UINT64_MAX, &whole))
		return HOOK_SHOWN_SOMETHING;
	/* The empty line behind the last newline has no number. */
	uint64_t numbered = whole.total - (bytes[length - 1] == '\n');
	return file_lines_find(bytes, length, first,
			       first == 1 && count == numbered ? UINT64_MAX : count, ret_lines)
		       ? HOOK_SHOWN_LINES
		       : HOOK_SHOWN_SOMETHING;
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

static bool may_differ(const struct hook_input *input, uint32_t agent_pid)
{
	static const char *const PLACES[] = { "$CLINE_DIR/plugins|~/.cline/plugins",
					      "~/Documents/Cline/Plugins" };
	char path[PATH_MAX];

	(void)agent_pid;
	for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++)
		if (hooks_expand(PLACES[i], path, sizeof(path)) < 0 || directory_has_rival(path))
			return true;
	return !input->directory ||
	       snprintf(path, sizeof(path), "%s/.cline/plugins", input->directory) >=
		       (int)sizeof(path) ||
	       directory_has_rival(path);
}

static bool edits(const struct hook_input *input, size_t index, struct hook_edit *ret_edit)
{
	const char *patch = json_string_value(json_object_get(input->tool_input, "input"));
	return patch && patched_files_at(patch, index, ret_edit);
}

static json_t *replace(const struct hook_input *input, const struct hook_text *text)
{
	(void)input;
	return text->lines ? NULL : json_pack("{s:s%}", "text", text->bytes, text->length);
}

static json_t *refuse(const struct hook_input *input, const char *reason)
{
	(void)input;
	return json_pack("{s:o}", "reason", text_json(reason));
}

const struct hook_adapter hook_adapter_cline = {
	.agent = "cline",
	.members = { .event = "event",
		     .directory = "cwd",
		     .conversation = "conversation",
		     .sub_agent = "sub_agent",
		     .call = "call",
		     .tool = "tool",
		     .tool_input = "tool_input",
		     .tool_output = "tool_output" },
	.events = EVENTS,
	.tools = TOOLS,
	.is_cut = true,
	.shown = shown,
	.may_differ = may_differ,
	.edits = edits,
	.replace = replace,
	.refuse = refuse,
};
