/*
 * OpenHands' transcripts: events, each an action with `args`, or an observation with `content` and
 * `extras`; an observation names its action by `cause`, or follows it.  They come as a list, as a
 * list `history` of an evaluation's output, in pairs there in older versions, or a line each.
 *
 * An action `condensation` takes events out of the context; which part of a file was in them is not
 * known, so it ends what the context held.  What happens between `delegate` and its observation is
 * another agent's, with a context of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/transcript_document.h"
#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_pending.h"
#include "cli/replay/transcript_reader.h"
#include "cli/replay/transcript_tool.h"

enum { DELEGATES_MAX = 16 };

struct openhands {
	struct transcript *transcript;
	struct pending_calls pending;
	uint64_t session, last_action;
	uint64_t scopes[DELEGATES_MAX]; /* the agent's, and those it works for */
	int depth;
	char *directory;
};

static int start(void *reader, uint64_t number)
{
	struct openhands *hands = reader;

	pending_free(&hands->pending);
	hands->session = transcript_hash("", hands->transcript->file_id + number);
	hands->scopes[0] = hands->session;
	hands->depth = 0;
	free(hands->directory);
	hands->directory = NULL;
	return 0;
}

static uint64_t id_of(const json_t *id)
{
	return json_is_integer(id) ? (uint64_t)json_integer_value(id) + 2 : 0;
}

static int report_action(struct openhands *hands, const json_t *event, const char *action)
{
	static const struct {
		const char *action, *tool;
	} TOOLS[] = { { "run", "bash" },      { "run_ipython", "run_ipython" },
		      { "read", "read" },     { "write", "write" },
		      { "edit", "edit" },     { "browse", "browse" },
		      { "recall", "recall" }, { "call_tool_mcp", "call_tool_mcp" } };
	const json_t *arguments = json_object_get(event, "args");
	const char *tool = NULL;

	if (strcmp(action, "condensation") == 0) {
		struct call call = { .kind = CALL_INVALIDATED,
				     .session = hands->session,
				     .scope = hands->scopes[hands->depth] };
		return hands->transcript->sink(&call, hands->transcript->data);
	}
	if (strcmp(action, "delegate") == 0 && hands->depth + 1 < DELEGATES_MAX) {
		hands->scopes[hands->depth + 1] = hands->session ^
						  transcript_hash(
							  "delegate",
							  id_of(json_object_get(event, "id")));
		hands->depth++;
		return 0;
	}
	for (size_t i = 0; i < sizeof(TOOLS) / sizeof(TOOLS[0]); i++)
		if (strcmp(TOOLS[i].action, action) == 0)
			tool = TOOLS[i].tool;
	if (!tool)
		return 0;
	/* The agent's own edit tool has other commands beside view. */
	const char *command = transcript_string(arguments, "command");
	if (strcmp(tool, "edit") == 0 && command && strcmp(command, "view") == 0)
		tool = "read";
	uint64_t id = id_of(json_object_get(event, "id"));
	hands->last_action = id ? id : 1;
	return pending_add(&hands->pending, hands->last_action, tool, arguments, false);
}

/* Where the shell was when the command ended. */
static int note_directory(struct openhands *hands, const json_t *extras)
{
	const char *directory = transcript_string(json_object_get(extras, "metadata"),
						  "working_dir");

	if (!directory || directory[0] != '/')
		return 0;
	free(hands->directory);
	hands->directory = strdup(directory);
	return hands->directory ? 0 : -ENOMEM;
}

static int report_observation(struct openhands *hands, const json_t *event, const char *observation)
{
	const json_t *extras = json_object_get(event, "extras");
	const json_t *status = json_object_get(extras, "exit_code");
	struct pending_call pending;
	struct tool_call tool;
	char *owned;
	size_t bytes;

	if (strcmp(observation, "delegate") == 0) {
		hands->depth -= hands->depth > 0;
		return 0;
	}
	uint64_t id = id_of(json_object_get(event, "cause"));
	if (!pending_remove(&hands->pending, id ? id : hands->last_action, &pending))
		return 0;
	if (!status)
		status = json_object_get(json_object_get(extras, "metadata"), "exit_code");
	struct call call = { .session = hands->session,
			     .scope = hands->scopes[hands->depth],
			     .directory = hands->directory,
			     .failed = strcmp(observation, "error") == 0 ||
				       (json_is_integer(status) && json_integer_value(status) != 0),
			     .time_ns = transcript_time(json_object_get(event, "timestamp")) };
	int error = transcript_tool(pending.name, pending.arguments, &tool);
	const char *text = transcript_text(json_object_get(event, "content"), &owned, &bytes);
	if (error == 0)
		error = transcript_tool_result(hands->transcript, &tool, &call, text, bytes);
	if (error == 0)
		error = note_directory(hands, extras);
	free(owned);
	tool_done(&tool);
	pending_done(&pending);
	return error;
}

static int report_part(void *reader, const char *list, const json_t *part)
{
	struct openhands *hands = reader;
	const char *action = transcript_string(part, "action"),
		   *observation = transcript_string(part, "observation");
	size_t i;
	json_t *event;
	int error = 0;

	if (json_is_array(part)) {
		json_array_foreach(part, i, event) if (error == 0 && json_is_object(event))
			error = report_part(reader, list, event);
		return error;
	}
	if (observation)
		return report_observation(hands, part, observation);
	return action ? report_action(hands, part, action) : 0;
}

int transcript_openhands(struct transcript *transcript)
{
	static const char *const LISTS[] = { "history", "trajectory", NULL };
	static const struct document_reader READER = {
		.lists = LISTS, .bare = true, .start = start, .part = report_part
	};
	struct openhands hands = { .transcript = transcript };
	int error = transcript_document(transcript, &READER, &hands);

	pending_free(&hands.pending);
	free(hands.directory);
	return error;
}
