/*
 * codex's transcripts ("rollouts"): a line for each item, its fields in `payload`.  A call and its
 * result have the same call_id.
 *
 * What a command printed is behind a few lines on its end ("Process exited with code 0",
 * "Output:"), or, in older versions, in a JSON text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_pending.h"
#include "cli/replay/transcript_reader.h"
#include "cli/replay/transcript_tool.h"

struct codex {
	struct transcript *transcript;
	struct pending_calls pending;
	uint64_t session;
	char *directory;
};

static int add_call(struct codex *codex, const json_t *payload, const char *id)
{
	const char *name = transcript_string(payload, "name"),
		   *text = transcript_string(payload, "arguments"),
		   *input = transcript_string(payload, "input");
	json_t *arguments = NULL;

	if (text) {
		arguments = json_loads(text, JSON_ALLOW_NUL, NULL);
	} else if (input) {
		arguments = json_pack("{s:s}", "input", input);
	} else {
		name = "local_shell";
		arguments = json_incref(json_object_get(payload, "action"));
	}
	int error = name ? pending_add(&codex->pending, transcript_hash(id, 0), name, arguments,
				       false)
			 : 0;
	json_decref(arguments);
	return error;
}

/* Finds what the command printed, and how it ended. */
static void unwrap(const char *output, size_t bytes, struct call *call)
{
	static const char HEAD[] = "\nOutput:\n", STATUS[] = "Process exited with code ",
			  OLD_STATUS[] = "Exit code: ";
	const char *behind = strstr(output, HEAD);
	const char *status = strstr(output, STATUS);
	size_t length = sizeof(STATUS) - 1;

	if (!status || (behind && status > behind)) {
		status = strncmp(output, OLD_STATUS, sizeof(OLD_STATUS) - 1) == 0 ? output : NULL;
		length = sizeof(OLD_STATUS) - 1;
	}
	if (!behind || !status)
		return;
	call->failed = strtol(status + length, NULL, 10) != 0;
	call->content = behind + sizeof(HEAD) - 1;
	call->content_bytes = bytes - (size_t)(call->content - output);
}

static int report_result(struct codex *codex, const json_t *line, const json_t *payload,
			 const char *id)
{
	const json_t *output = json_object_get(payload, "output");
	struct pending_call pending;
	struct tool_call tool;
	struct call call = { .session = codex->session,
			     .scope = codex->session,
			     .directory = codex->directory,
			     .time_ns = transcript_time(json_object_get(line, "timestamp")) };
	char *owned;
	size_t bytes;

	if (!pending_remove(&codex->pending, transcript_hash(id, 0), &pending))
		return 0;
	int error = transcript_tool(pending.name, pending.arguments, &tool);
	if (json_is_object(output)) {
		call.failed = json_is_false(json_object_get(output, "success"));
		output = json_object_get(output, "content");
	}
	const char *text = transcript_text(output, &owned, &bytes);
	json_t *wrapped = text && text[0] == '{' ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
	const char *inner = transcript_string(wrapped, "output");
	if (inner) {
		text = inner;
		bytes = json_string_length(json_object_get(wrapped, "output"));
		const json_t *metadata = json_object_get(wrapped, "metadata");
		call.failed = json_integer_value(json_object_get(metadata, "exit_code")) != 0;
	} else if (text) {
		unwrap(text, bytes, &call);
	}
	if (error == 0)
		error = transcript_tool_result(codex->transcript, &tool, &call, text, bytes);
	json_decref(wrapped);
	free(owned);
	tool_done(&tool);
	pending_done(&pending);
	return error;
}

static int report_line(void *reader, const json_t *line)
{
	struct codex *codex = reader;
	const json_t *payload = json_object_get(line, "payload");
	const char *type = transcript_string(line, "type"),
		   *item = transcript_string(payload, "type"),
		   *id = transcript_string(payload, "call_id"),
		   *cwd = transcript_string(payload, "cwd");

	if (!type)
		return 0;
	if ((strcmp(type, "session_meta") == 0 || strcmp(type, "turn_context") == 0) && cwd &&
	    cwd[0] == '/') {
		free(codex->directory);
		codex->directory = strdup(cwd);
		return codex->directory ? 0 : -ENOMEM;
	}
	if (transcript_is_cut(codex->transcript)) {
		struct call call = { .kind = CALL_INVALIDATED,
				     .session = codex->session,
				     .scope = codex->session };
		return codex->transcript->sink(&call, codex->transcript->data);
	}
	if (strcmp(type, "response_item") != 0 || !item || !id)
		return 0;
	if (strcmp(item, "function_call") == 0 || strcmp(item, "custom_tool_call") == 0 ||
	    strcmp(item, "local_shell_call") == 0)
		return add_call(codex, payload, id);
	if (strcmp(item, "function_call_output") == 0 ||
	    strcmp(item, "custom_tool_call_output") == 0)
		return report_result(codex, line, payload, id);
	return 0;
}

int transcript_codex(struct transcript *transcript)
{
	struct codex codex = { .transcript = transcript, .session = transcript->file_id };
	int error = transcript_lines(transcript, report_line, &codex);

	pending_free(&codex.pending);
	free(codex.directory);
	return error;
}
