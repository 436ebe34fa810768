/*
 * What a tool call of a transcript is: a read, a write, a command.
 */
#ifndef SEEN_CLI_TRANSCRIPT_TOOL_H
#define SEEN_CLI_TRANSCRIPT_TOOL_H

#include "cli/replay/transcript_reader.h"

/* What a tool call is, with the texts that `call` points to. */
struct tool_call {
	struct call call;
	char *owned;      /* free() */
	char *owned_path; /* free() */
};

/* transcript_tool(): what a tool is, by name and arguments.
 *
 * arguments: an object, or NULL.  ret_tool: kind, path, command, from, to are set; the rest is
 * zero.
 * Returns 0 or -ENOMEM; tool_done() it. */
int transcript_tool(const char *name, const json_t *arguments, struct tool_call *ret_tool);

/* transcript_swe_action(): the same for a line of SWE-agent's shell (`open f 10`, `scroll_down`,
 * `edit 3:5 ...`, `str_replace_editor view f`, or any command). */
int transcript_swe_action(const char *action, struct tool_call *ret_tool);
void tool_done(struct tool_call *tool);

/* transcript_tool_result(): the same, completed by its result, and given to the sink.
 *
 * around: session, scope, directory, failed, time_ns, total_lines, content are taken from it.
 * output: may be NULL. */
int transcript_tool_result(struct transcript *transcript, struct tool_call *tool,
			   const struct call *around, const char *output, size_t output_bytes);

#endif
