/*
 * What an agent tells its hook: a JSON document on descriptor 0, whose members its adapter names.
 */
#ifndef SEEN_CLI_HOOK_INPUT_H
#define SEEN_CLI_HOOK_INPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/hooks/adapter.h"

struct hook_input {
	const struct hook_adapter *adapter;
	json_t *document;
	enum hook_moment moment;
	/* Texts of the document, borrowed from it; NULL: it has none. */
	const char *event;        /* as the agent calls it */
	const char *directory;    /* that it works in */
	const char *conversation; /* the agent's id of it; a sub-agent's is its own */
	const char *source;       /* of HOOK_START */
	const char *transcript;   /* its path */
	const char *prompt, *call, *tool;
	char *made_call;   /* owned; what `call` is of an agent that has no ids; NULL: it has */
	const char *words; /* of a prompt */
	const char *input; /* a file, a command, or the words of a prompt */
	const json_t *tool_input, *tool_output;
	const json_t *results; /* by ids of calls: what a resumed conversation has; NULL: not told */
	bool is_sub_agent;
	bool is_unread; /* it could not be read to its end, or was too long: what happened is not known */
	/* Of a tool that the adapter knows. */
	const struct hook_tool *known_tool; /* NULL: it is none */
	const char *file;                   /* as the agent named it; NULL: none */
	char path[PATH_MAX];                /* the same, absolute; empty: none */
};

/* hook_input_read(): reads descriptor 0 to its end, where it is a file, a pipe or a socket.
 *
 * Returns false for what is no such document, or too long.  hook_input_free() it in any case. */
bool hook_input_read(const struct hook_adapter *adapter, struct hook_input *ret_input);
void hook_input_free(struct hook_input *input);

/* hook_input_set_file(): the file that a known tool is about.  name: absolute, or from the directory;
 * borrowed; NULL: none. */
void hook_input_set_file(struct hook_input *input, const char *name);

/* hook_input_lines(): the lines that a read tool was asked for: the first, from 1, and how many, at
 * most UINT64_MAX. */
void hook_input_lines(const struct hook_input *input, uint64_t *ret_first, uint64_t *ret_count);

#endif
