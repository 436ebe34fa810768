/* pi's transcripts: a line for each entry, messages in `message`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_pending.h"
#include "cli/replay/transcript_reader.h"
#include "cli/replay/transcript_tool.h"

struct pi {
	struct transcript *transcript;
	struct pending_calls pending;
	uint64_t session;
	char *directory;
};

static int add_calls(struct pi *pi, const json_t *message)
{
	const json_t *content = json_object_get(message, "content");
	size_t i;
	json_t *block;
	int error = 0;

	json_array_foreach(content, i, block)
	{
		const char *type = transcript_string(block, "type"),
			   *id = transcript_string(block, "id"),
			   *name = transcript_string(block, "name");
		if (error == 0 && type && strcmp(type, "toolCall") == 0 && id && name)
			error = pending_add(&pi->pending, transcript_hash(id, 0), name,
					    json_object_get(block, "arguments"), false);
	}
	return error;
}

static int report_result(struct pi *pi, const json_t *line, const json_t *message)
{
	const char *id = transcript_string(message, "toolCallId");
	struct pending_call pending;
	struct tool_call tool;
	char *owned;
	size_t bytes;

	if (!id || !pending_remove(&pi->pending, transcript_hash(id, 0), &pending))
		return 0;
	struct call call = { .session = pi->session,
			     .scope = pi->session,
			     .directory = pi->directory,
			     .failed = json_is_true(json_object_get(message, "isError")),
			     .time_ns = transcript_time(json_object_get(line, "timestamp")) };
	int error = transcript_tool(pending.name, pending.arguments, &tool);
	const char *text = transcript_text(json_object_get(message, "content"), &owned, &bytes);
	if (error == 0)
		error = transcript_tool_result(pi->transcript, &tool, &call, text, bytes);
	free(owned);
	tool_done(&tool);
	pending_done(&pending);
	return error;
}

static int report_line(void *reader, const json_t *line)
{
	struct pi *pi = reader;
	const json_t *message = json_object_get(line, "message");
	const char *type = transcript_string(line, "type"),
		   *role = transcript_string(message, "role"),
		   *cwd = transcript_string(line, "cwd");

	if (type && strcmp(type, "session") == 0 && cwd && cwd[0] == '/') {
		free(pi->directory);
		pi->directory = strdup(cwd);
		return pi->directory ? 0 : -ENOMEM;
	}
	if (transcript_is_cut(pi->transcript)) {
		struct call call = { .kind = CALL_INVALIDATED,
				     .session = pi->session,
				     .scope = pi->session };
		return pi->transcript->sink(&call, pi->transcript->data);
	}
	if (role && strcmp(role, "assistant") == 0)
		return add_calls(pi, message);
	if (role && strcmp(role, "toolResult") == 0)
		return report_result(pi, line, message);
	return 0;
}

int transcript_pi(struct transcript *transcript)
{
	struct pi pi = { .transcript = transcript, .session = transcript->file_id };
	int error = transcript_lines(transcript, report_line, &pi);

	pending_free(&pi.pending);
	free(pi.directory);
	return error;
}
