/* What a tool call is, by the tool's name and arguments: see transcript_reader.h. */
#include "cli/replay/transcript_tool.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/replay/transcript_reader.h"
#include "tracker/path/path.h"

/* Tools of agents that are not told by a command among their arguments.  Names are compared without
 * case and underscores. */
static const struct {
	const char *name;
	enum call_kind kind;
} TOOLS[] = {
	{ "read", CALL_READ },
	{ "readfile", CALL_READ },
	{ "view", CALL_READ },
	{ "viewfile", CALL_READ },
	{ "openfile", CALL_READ },
	{ "fsread", CALL_READ },
	{ "edit", CALL_EDIT },
	{ "editfile", CALL_EDIT },
	{ "multiedit", CALL_EDIT },
	{ "notebookedit", CALL_EDIT },
	{ "write", CALL_EDIT },
	{ "writefile", CALL_EDIT },
	{ "createfile", CALL_EDIT },
	{ "replace", CALL_EDIT },
	{ "searchreplace", CALL_EDIT },
	{ "strreplace", CALL_EDIT },
	{ "insert", CALL_EDIT },
	{ "editor", CALL_EDIT },
	{ "applypatch", CALL_EDIT },
	{ "bash", CALL_COMMAND },
	{ "executebash", CALL_COMMAND },
	{ "shell", CALL_COMMAND },
	{ "shellcommand", CALL_COMMAND },
	{ "localshell", CALL_COMMAND },
	{ "execcommand", CALL_COMMAND },
	{ "runshellcommand", CALL_COMMAND },
	{ "runcommand", CALL_COMMAND },
	{ "terminal", CALL_COMMAND },
	{ "run", CALL_COMMAND },
	{ "cmdrun", CALL_COMMAND },
};

/* The editor that several harnesses share: its command tells what it does. */
static const char *const EDITORS[] = { "strreplaceeditor", "strreplacebasededittool", "fileeditor",
				       "edittool" };

static void plain_name(const char *name, char *ret_name, size_t capacity)
{
	size_t used = 0;

	for (; *name && used + 1 < capacity; name++)
		if (*name != '_' && *name != '-')
			ret_name[used++] = *name >= 'A' && *name <= 'Z' ? (char)(*name + 32)
									: *name;
	ret_name[used] = '\0';
}

static const char *first_string(const json_t *object, const char *const names[])
{
	for (size_t i = 0; names[i]; i++) {
		const char *text = transcript_string(object, names[i]);
		if (text)
			return text;
	}
	return NULL;
}

static uint64_t first_number(const json_t *object, const char *const names[])
{
	for (size_t i = 0; names[i]; i++) {
		const json_t *value = json_object_get(object, names[i]);
		double number = json_number_value(value);
		if (json_is_string(value))
			number = strtod(json_string_value(value), NULL);
		if (number >= 1 && number < 1e15)
			return (uint64_t)number;
	}
	return 0;
}

/* `[from, to]`, also as text; to: -1: to the end. */
static void view_range(const json_t *value, struct call *call)
{
	long long from = 0, to = 0;

	if (json_is_array(value)) {
		from = (long long)json_number_value(json_array_get(value, 0));
		to = (long long)json_number_value(json_array_get(value, 1));
	} else if (json_is_string(value)) {
		if (sscanf(json_string_value(value), " [%lld , %lld", &from, &to) < 1)
			return;
	} else {
		return;
	}
	call->from = from > 0 ? (uint64_t)from : 1;
	call->to = to > 0 ? (uint64_t)to : 0;
}

/* An argument vector or a text as a command line.  A vector that runs a shell with -c is what the
 * shell runs. */
static int command_of(const json_t *value, struct tool_call *tool)
{
	size_t count = json_array_size(value), used = 0;

	if (json_is_string(value)) {
		tool->call.command = json_string_value(value);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		const char *word = json_string_value(json_array_get(value, i));
		if (!word)
			return 0;
		if (i == 1 && count == 3 && word[0] == '-' && strchr(word, 'c')) {
			tool->call.command = json_string_value(json_array_get(value, 2));
			return 0;
		}
		used += strlen(word) * 4 + 3;
	}
	if (!count)
		return 0;
	char *line = malloc(used + 1), *at = line;
	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (i)
			*at++ = ' ';
		*at++ = '\'';
		for (const char *word = json_string_value(json_array_get(value, i)); *word; word++)
			if (*word == '\'') {
				memcpy(at, "'\\''", 4);
				at += 4;
			} else {
				*at++ = *word;
			}
		*at++ = '\'';
	}
	*at = '\0';
	free(tool->owned);
	tool->call.command = tool->owned = line;
	return 0;
}

/* A tool that is none of the known kinds is known again by its name and arguments. */
static int other(const char *name, const json_t *arguments, struct tool_call *tool)
{
	char *dumped = arguments ? json_dumps(arguments, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	tool->call.kind = CALL_OTHER;
	if (asprintf(&tool->owned, "%s %s", name, dumped ? dumped : "") < 0)
		tool->owned = NULL;
	free(dumped);
	tool->call.command = tool->owned;
	return tool->owned ? 0 : -ENOMEM;
}

static const char *const PATHS[] = { "file_path",   "path", "absolute_path", "filePath", "filename",
				     "target_file", "file", "notebook_path", NULL };

int transcript_tool(const char *name, const json_t *arguments, struct tool_call *ret_tool)
{
	static const char *const FROM[] = { "offset", "start_line", "startLine", "start", NULL };
	static const char *const TO[] = { "end_line", "endLine", "end", NULL };
	static const char *const LIMIT[] = { "limit", "num_lines", NULL };
	struct call *call = &ret_tool->call;
	char plain[48];
	bool known = false;

	*ret_tool = (struct tool_call){ .call.kind = CALL_OTHER };
	plain_name(name, plain, sizeof(plain));
	for (size_t i = 0; i < sizeof(TOOLS) / sizeof(TOOLS[0]); i++)
		if (strcmp(TOOLS[i].name, plain) == 0) {
			call->kind = TOOLS[i].kind;
			known = true;
		}
	for (size_t i = 0; i < sizeof(EDITORS) / sizeof(EDITORS[0]); i++) {
		if (strcmp(EDITORS[i], plain) != 0)
			continue;
		const char *command = transcript_string(arguments, "command");
		known = command != NULL;
		call->kind = command && strcmp(command, "view") == 0 ? CALL_READ : CALL_EDIT;
		call->numbered = true;
	}
	if (!known)
		return other(name, arguments, ret_tool);
	if (call->kind == CALL_COMMAND) {
		const json_t *line = json_object_get(arguments, "command");
		int error = command_of(line ? line : json_object_get(arguments, "cmd"), ret_tool);
		call->directory = first_string(
			arguments, (const char *const[]){ "workdir", "cwd", "dir_path", NULL });
		return error < 0 || call->command ? error : other(name, arguments, ret_tool);
	}
	call->path = first_string(arguments, PATHS);
	if (call->kind == CALL_EDIT) {
		/* A patch names its files itself. */
		if (!call->path)
			call->command = first_string(
				arguments,
				(const char *const[]){ "input", "patch", "patchText", NULL });
		return 0;
	}
	if (!call->path)
		return other(name, arguments, ret_tool);
	call->from = first_number(arguments, FROM);
	call->to = first_number(arguments, TO);
	uint64_t limit = first_number(arguments, LIMIT);
	if (limit && !call->to)
		call->to = (call->from ? call->from : 1) + limit - 1;
	view_range(json_object_get(arguments, "view_range"), call);
	return 0;
}

/* ---- SWE-agent's shell ---- */

/* The next word of a line, perhaps quoted.  Returns what follows it. */
static const char *next_word(const char *at, char *ret_word, size_t capacity)
{
	size_t used = 0;
	char quote = '\0';

	at += strspn(at, " \t");
	for (; *at && (quote || !strchr(" \t\n", *at)); at++) {
		if (quote ? *at == quote : *at == '"' || *at == '\'') {
			quote = quote ? '\0' : *at;
			continue;
		}
		if (used + 1 < capacity)
			ret_word[used++] = *at;
	}
	ret_word[used] = '\0';
	return at;
}

int transcript_swe_action(const char *action, struct tool_call *ret_tool)
{
	static const char *const SHOWS[] = { "open", "goto", "scroll_down", "scroll_up" };
	struct call *call = &ret_tool->call;
	char name[64], word[1024], path[1024], number[32];

	*ret_tool = (struct tool_call){ .call.kind = CALL_COMMAND, .call.command = action };
	const char *rest = next_word(action, name, sizeof(name));
	rest = next_word(rest, word, sizeof(word));
	bool shows = false;
	for (size_t i = 0; i < sizeof(SHOWS) / sizeof(SHOWS[0]); i++)
		shows = shows || strcmp(SHOWS[i], name) == 0;
	path[0] = '\0';
	if (shows) {
		/* A window, wherever it lies: the output names the file and the lines. */
		call->kind = CALL_READ;
		(void)next_word(rest, number, sizeof(number));
		bool opens = strcmp(name, "open") == 0;
		call->from = opens ? strtoull(number, NULL, 10) : 1;
		if (opens)
			(void)snprintf(path, sizeof(path), "%s", word);
	} else if (strcmp(name, "edit") == 0 || strcmp(name, "insert") == 0 ||
		   strcmp(name, "append") == 0) {
		call->kind = CALL_EDIT;
	} else if (strcmp(name, "create") == 0) {
		call->kind = CALL_EDIT;
		(void)snprintf(path, sizeof(path), "%s", word);
	} else if (strcmp(name, "str_replace_editor") == 0 || strcmp(name, "edit_anthropic") == 0) {
		call->kind = strcmp(word, "view") == 0 ? CALL_READ : CALL_EDIT;
		(void)next_word(rest, path, sizeof(path));
		const char *range = call->kind == CALL_READ ? strstr(rest, "--view_range") : NULL;
		long long from = 0, to = 0;
		if (range &&
		    sscanf(range + strlen("--view_range"), " %lld %lld", &from, &to) >= 1) {
			call->from = from > 0 ? (uint64_t)from : 1;
			call->to = to > 0 ? (uint64_t)to : 0;
		}
	} else {
		return 0;
	}
	call->numbered = true;
	call->command = NULL;
	if (path[0]) {
		ret_tool->owned_path = strdup(path);
		if (!ret_tool->owned_path)
			return -ENOMEM;
		call->path = ret_tool->owned_path;
	}
	return 0;
}

void tool_done(struct tool_call *tool)
{
	free(tool->owned);
	free(tool->owned_path);
}

/* ---- its result ---- */

/* The files of a patch in the form of codex's and others' apply_patch: an edit of each; the last
 * one has the output. */
static int report_patch(struct transcript *transcript, struct call call, const char *patch)
{
	static const char *const MARKS[] = { "*** Update File: ", "*** Add File: ",
					     "*** Delete File: ", "*** Move to: " };
	char *path = NULL;
	int error = 0;

	call.command = NULL;
	const char *output = call.output;
	size_t output_bytes = call.output_bytes;
	for (const char *at = patch; at && error == 0; at = strchr(at, '\n')) {
		at += *at == '\n';
		for (size_t i = 0; i < sizeof(MARKS) / sizeof(MARKS[0]); i++) {
			size_t length = strlen(MARKS[i]);
			if (strncmp(at, MARKS[i], length) != 0)
				continue;
			free(path);
			path = strndup(at + length, strcspn(at + length, "\r\n"));
			if (!path)
				return -ENOMEM;
			call.path = path;
			call.output = call.content = NULL;
			call.output_bytes = 0;
			error = transcript->sink(&call, transcript->data);
		}
	}
	/* What it said is the output of one call, whatever it was about. */
	call.output = output;
	call.output_bytes = output_bytes;
	if (error == 0)
		error = transcript->sink(&call, transcript->data);
	free(path);
	return error;
}

int transcript_tool_result(struct transcript *transcript, struct tool_call *tool,
			   const struct call *around, const char *output, size_t output_bytes)
{
	struct call call = tool->call;
	char directory[PATH_MAX];

	call.session = around->session;
	call.scope = around->scope;
	call.failed = around->failed;
	call.time_ns = around->time_ns;
	call.total_lines = around->total_lines;
	call.content = around->content;
	call.content_bytes = around->content_bytes;
	/* Where the agent works is what its tools' directories are relative to. */
	if (!call.directory)
		call.directory = around->directory;
	else if (path_normalize(around->directory, call.directory, directory, sizeof(directory)) <
		 0)
		call.directory = NULL;
	else
		call.directory = directory;
	call.output = output;
	call.output_bytes = output ? output_bytes : 0;
	/* SWE-agent's edit that was taken back: what it shows first is not the file. */
	if (call.kind == CALL_EDIT && output && strstr(output, "changes have NOT been applied"))
		call.failed = true;
	if (call.kind == CALL_EDIT && !call.path && call.command)
		return report_patch(transcript, call, call.command);
	return transcript->sink(&call, transcript->data);
}
