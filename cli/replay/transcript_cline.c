/*
 * cline's record of a session: a document with its messages, written anew as they come.  Calls are
 * blocks of type tool_use in an assistant's message, results blocks of type tool_result in a user's,
 * each with a list: one call reads several files, or runs several commands.
 *
 * It is no proof of what the model was given (docs/limits.md): the agent cuts results behind it, and
 * does not record there when it compacts the conversation.
 * A sub-agent has a document of its own, whose sessionId begins with the session's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/transcript_document.h"
#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_pending.h"
#include "cli/replay/transcript_reader.h"
#include "cli/replay/transcript_tool.h"

struct cline {
	struct transcript *transcript;
	struct pending_calls pending;
	uint64_t session, scope;
};

static int start(void *reader, uint64_t number)
{
	struct cline *cline = reader;

	pending_free(&cline->pending);
	cline->session = cline->scope = cline->transcript->file_id + number;
	return 0;
}

/* "SESSION", of a sub-agent "SESSION__agent_ID". */
static void note_session(void *reader, const char *name, const json_t *value)
{
	static const char SUB_AGENT[] = "__agent_";
	struct cline *cline = reader;
	const char *id = json_string_value(value), *behind = id ? strstr(id, SUB_AGENT) : NULL;
	char *above = behind ? strndup(id, (size_t)(behind - id)) : NULL;

	(void)name;
	if (!id)
		return;
	cline->session = cline->scope = transcript_hash(above ? above : id, 0);
	if (above)
		cline->scope = transcript_hash(id, cline->session);
	free(above);
}

static uint64_t time_of(const json_t *message)
{
	json_int_t milliseconds = json_integer_value(json_object_get(message, "ts"));
	return milliseconds > 0 ? (uint64_t)milliseconds * UINT64_C(1000000) : 0;
}

/* What one of a call's results is of, as a tool that reads one file or runs one command. */
static int tool_of(const struct pending_call *pending, size_t number, struct tool_call *ret_tool)
{
	const json_t *file = json_array_get(json_object_get(pending->arguments, "files"), number);
	json_t *command = json_array_get(json_object_get(pending->arguments, "commands"), number);

	if (strcmp(pending->name, "read_files") == 0 && json_is_object(file))
		return transcript_tool("read_file", file, ret_tool);
	if (strcmp(pending->name, "run_commands") == 0 && json_is_string(command)) {
		json_t *arguments = json_pack("{s:O}", "command", command);
		int error = arguments ? transcript_tool("run_command", arguments, ret_tool)
				      : -ENOMEM;
		/* The text is the call's. */
		json_decref(arguments);
		return error;
	}
	return transcript_tool(pending->name, pending->arguments, ret_tool);
}

/* The lines of a file, without the remark behind those of a part. */
static void unwrap(struct tool_call *tool, const char *text, struct call *call)
{
	static const char MORE[] = "\n[Showing lines ";
	const char *more = strstr(text, MORE);

	tool->call.numbered = true;
	tool->call.number_end = " | ";
	if (!more)
		return;
	call->content = text;
	call->content_bytes = (size_t)(more - text);
	/* It is a part, whatever was asked for. */
	tool->call.from = tool->call.from ? tool->call.from : 1;
}

static int report_one(struct cline *cline, const struct pending_call *pending, size_t number,
		      const json_t *result, const json_t *message)
{
	const json_t *text = json_object_get(result, "result"),
		     *fault = json_object_get(result, "error");
	struct tool_call tool = { .owned = NULL };
	struct call call = { .session = cline->session,
			     .scope = cline->scope,
			     .failed = json_is_false(json_object_get(result, "success")),
			     .time_ns = time_of(message) };
	int error = tool_of(pending, number, &tool);

	if (!json_string_length(text) && json_is_string(fault))
		text = fault;
	if (error == 0 && tool.call.kind == CALL_READ && json_is_string(text))
		unwrap(&tool, json_string_value(text), &call);
	if (error == 0)
		error = transcript_tool_result(cline->transcript, &tool, &call,
					       json_string_value(text), json_string_length(text));
	tool_done(&tool);
	return error;
}

static int report_result(struct cline *cline, const json_t *message, const json_t *block)
{
	const char *id = transcript_string(block, "tool_use_id");
	const json_t *content = json_object_get(block, "content");
	struct pending_call pending;
	int error = 0;

	if (!id || !pending_remove(&cline->pending, transcript_hash(id, 0), &pending))
		return 0;
	/* A tool with one result has it as a text, which is JSON, or is it. */
	json_t *parsed = json_is_string(content) ? json_loads(json_string_value(content), 0, NULL)
						 : json_incref((json_t *)(uintptr_t)content);
	json_t *plain = json_is_array(parsed) || json_object_get(parsed, "result")
				? NULL
				: json_pack("{s:O?}", "result", content);
	if (json_is_array(parsed))
		for (size_t i = 0; i < json_array_size(parsed) && error == 0; i++)
			error = report_one(cline, &pending, i, json_array_get(parsed, i), message);
	else
		error = report_one(cline, &pending, 0, plain ? plain : parsed, message);
	json_decref(plain);
	json_decref(parsed);
	pending_done(&pending);
	return error;
}

static int report_part(void *reader, const char *list, const json_t *part)
{
	struct cline *cline = reader;
	size_t i;
	json_t *block;
	int error = 0;

	(void)list;
	json_array_foreach(json_object_get(part, "content"), i, block)
	{
		const char *type = transcript_string(block, "type"),
			   *id = transcript_string(block, "id"),
			   *name = transcript_string(block, "name");
		if (error < 0 || !type)
			continue;
		if (strcmp(type, "tool_use") == 0 && id && name)
			error = pending_add(&cline->pending, transcript_hash(id, 0), name,
					    json_object_get(block, "input"), false);
		else if (strcmp(type, "tool_result") == 0)
			error = report_result(cline, part, block);
	}
	return error;
}

int transcript_cline(struct transcript *transcript)
{
	static const char *const LISTS[] = { "messages", NULL }, *const MEMBERS[] = { "sessionId",
										      NULL };
	static const struct document_reader READER = { .lists = LISTS,
						       .members = MEMBERS,
						       .member = note_session,
						       .start = start,
						       .part = report_part };
	struct cline cline = { .transcript = transcript };

	transcript->result->is_unproven = true;
	int error = transcript_document(transcript, &READER, &cline);

	pending_free(&cline.pending);
	return error;
}
