/*
 * What an agent tells its hook: a JSON document on descriptor 0, as Claude Code writes it, with
 * `session_id`, `prompt_id`, `tool_use_id`, `tool_name`, `tool_input`, `tool_response`.
 */
#ifndef SEEN_CLI_HOOK_INPUT_H
#define SEEN_CLI_HOOK_INPUT_H

#include <stdbool.h>

#include <jansson.h>

struct hook_input {
	json_t *document;
	/* Texts of the document, borrowed from it; NULL: it has none. */
	const char *event;        /* "PreToolUse" ... */
	const char *conversation; /* the agent's id of it; a sub-agent's is its own */
	const char *prompt, *call, *tool;
	const char *file;  /* that the tool is about */
	const char *input; /* that, a command, or the words of a prompt */
	const json_t *tool_input, *tool_response;
	bool is_sub_agent;
};

/* hook_input_read(): reads descriptor 0 to its end, where it is a file, a pipe or a socket.
 *
 * Returns false for what is no such document, or too long.  hook_input_free() it in any case. */
bool hook_input_read(struct hook_input *ret_input);
void hook_input_free(struct hook_input *input);

#endif
