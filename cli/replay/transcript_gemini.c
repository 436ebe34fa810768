/*
 * Gemini CLI's transcripts: a line for each message.  A call is in toolCalls of a message of type
 * gemini, which is written again as its calls come back.  What the model was given is in a message of
 * type user behind it, a functionResponse.
 *
 * {"$set": {"messages": ...}} replaces all messages, at the beginning and by a compaction,
 * {"$rewindTo": ID} drops those from that one on.  A sub-agent has a file of its own in a
 * directory that is named for the session.
 *
 * Versions before those wrote a document (0.20.0): its toolCalls have the results.  It does not say
 * when the conversation was compacted, so it is no proof of what the model has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/transcript_entry.h"
#include "cli/hooks/gemini_output.h"
#include "cli/replay/shown.h"
#include "cli/replay/transcript_document.h"
#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_pending.h"
#include "cli/replay/transcript_reader.h"
#include "cli/replay/transcript_tool.h"

struct gemini {
	struct transcript *transcript;
	struct pending_calls pending;
	struct id_set answered; /* calls whose results were reported */
	uint64_t session, scope;
	char *directory;
};

/* ---- where it works ---- */

static int set_directory(struct gemini *gemini, const char *name, size_t length)
{
	free(gemini->directory);
	gemini->directory = strndup(name, length);
	return gemini->directory ? 0 : -ENOMEM;
}

/* The first message tells the model. */
static int find_directory(struct gemini *gemini, const json_t *messages)
{
	static const char MARK[] = "- **Workspace Directories:**\n  - ";
	const json_t *first = json_array_get(
		json_object_get(json_array_get(messages, 0), "content"), 0);
	const char *text = transcript_string(first, "text");
	const char *name = text ? strstr(text, MARK) : NULL;

	if (!name || gemini->directory)
		return 0;
	name += sizeof(MARK) - 1;
	return *name == '/' ? set_directory(gemini, name, strcspn(name, "\r\n")) : 0;
}

/* The session that a sub-agent is of, by the name of its file's directory. */
static uint64_t session_above(const struct transcript *transcript)
{
	const char *end = strrchr(transcript->path, '/'), *begin = end;

	while (begin && begin > transcript->path && begin[-1] != '/')
		begin--;
	char *name = begin ? strndup(begin, (size_t)(end - begin)) : NULL;
	uint64_t session = name && name[0] ? transcript_hash(name, 0) : transcript->file_id;
	free(name);
	return session;
}

static int report_head(struct gemini *gemini, const json_t *line, const char *id)
{
	const char *kind = transcript_string(line, "kind"),
		   *directory = json_string_value(
			   json_array_get(json_object_get(line, "directories"), 0));

	gemini->session = gemini->scope = transcript_hash(id, 0);
	if (kind && strcmp(kind, "subagent") == 0) {
		gemini->session = session_above(gemini->transcript);
		gemini->scope = transcript_hash(id, gemini->session);
	}
	return directory && directory[0] == '/'
		       ? set_directory(gemini, directory, strlen(directory))
		       : 0;
}

/* ---- calls and results ---- */

static int add_calls(struct gemini *gemini, const json_t *message)
{
	size_t i;
	json_t *call;
	int error = 0;

	json_array_foreach(json_object_get(message, "toolCalls"), i, call)
	{
		const char *id = transcript_string(call, "id"),
			   *name = transcript_string(call, "name");
		uint64_t number = id ? entry_hash(id, strlen(id)) : 0;
		if (error == 0 && number && name && !pending_has(&gemini->pending, number))
			error = pending_add(&gemini->pending, number, name,
					    json_object_get(call, "args"), false);
	}
	return error;
}

/* Does a line below what the shell printed say that all was not well? */
static bool says_failure(const char *below)
{
	static const char STATUS[] = "\nExit Code: ", NONE[] = "(none)";
	static const char *const FAULTS[] = { "\nSignal: ", "\nError: " };
	const char *status = strstr(below, STATUS);

	for (size_t i = 0; i < sizeof(FAULTS) / sizeof(FAULTS[0]); i++) {
		const char *fault = strstr(below, FAULTS[i]);
		if (fault && strncmp(fault + strlen(FAULTS[i]), NONE, strlen(NONE)) != 0)
			return true;
	}
	return status && strtol(status + strlen(STATUS), NULL, 10) != 0;
}

/* Which part of a result the tool gave, and how it ended. */
static void unwrap(const struct entry_result *result, struct tool_call *tool, struct call *call)
{
	struct gemini_lines part;

	if (tool->call.kind == CALL_READ && gemini_output_lines(result->text, &part)) {
		tool->call.from = part.first;
		tool->call.to = part.last;
		call->content = part.text;
		call->content_bytes = result->length - (size_t)(part.text - result->text);
	} else if (tool->call.kind == CALL_COMMAND && result->body &&
		   !shown_is_cut(result->text, result->length)) {
		call->content = result->text + result->body;
		call->content_bytes = result->body_length;
		call->failed = says_failure(call->content + call->content_bytes);
	}
}

static int report_result(struct gemini *gemini, const json_t *part, const json_t *time,
			 struct entry_result *result)
{
	const json_t *response = json_object_get(json_object_get(part, "functionResponse"),
						 "response");
	const json_t *fault = json_object_get(response, "error");
	struct pending_call pending;
	struct tool_call tool = { .owned = NULL };
	struct call call = { .session = gemini->session,
			     .scope = gemini->scope,
			     .directory = gemini->directory,
			     .time_ns = transcript_time(time) };

	if (!pending_remove(&gemini->pending, result->call, &pending))
		return 0;
	/* What is kept by a compaction is there again. */
	int is_new = id_set_add(&gemini->answered, result->call);
	int error = is_new > 0 ? transcript_tool(pending.name, pending.arguments, &tool) : is_new;
	if (error == 0 && is_new) {
		if (json_is_string(fault)) {
			call.failed = true;
			result->text = json_string_value(fault);
			result->length = json_string_length(fault);
		} else {
			unwrap(result, &tool, &call);
		}
		error = transcript_tool_result(gemini->transcript, &tool, &call, result->text,
					       result->length);
	}
	tool_done(&tool);
	pending_done(&pending);
	return error;
}

/* The results among the parts of a message, or of a call. */
static int report_parts(struct gemini *gemini, const json_t *parts, const json_t *time)
{
	size_t i;
	json_t *part;
	int error = 0;

	json_array_foreach(parts, i, part)
	{
		struct entry_result result;
		if (error < 0 || !entry_of_response(part, &result))
			continue;
		error = report_result(gemini, part, time, &result);
		free(result.owned);
	}
	return error;
}

static int report_message(struct gemini *gemini, const json_t *message)
{
	const char *type = transcript_string(message, "type");

	if (type && strcmp(type, "gemini") == 0)
		return add_calls(gemini, message);
	if (!type || strcmp(type, "user") != 0)
		return 0;
	return report_parts(gemini, json_object_get(message, "content"),
			    json_object_get(message, "timestamp"));
}

static int report_line(void *reader, const json_t *line)
{
	struct gemini *gemini = reader;
	const char *id = transcript_string(line, "sessionId");

	if (id && json_object_get(line, "projectHash"))
		return report_head(gemini, line, id);
	/* Before anything was given there is nothing to lose. */
	if (gemini->answered.count && transcript_is_cut(gemini->transcript)) {
		struct call call = { .kind = CALL_INVALIDATED,
				     .session = gemini->session,
				     .scope = gemini->scope };
		return gemini->transcript->sink(&call, gemini->transcript->data);
	}
	const json_t *messages = json_object_get(json_object_get(line, "$set"), "messages");
	return messages ? find_directory(gemini, messages) : report_message(gemini, line);
}

/* ---- a document ---- */

static int start(void *reader, uint64_t number)
{
	struct gemini *gemini = reader;

	pending_free(&gemini->pending);
	gemini->session = gemini->scope = gemini->transcript->file_id + number;
	return 0;
}

static void note_session(void *reader, const char *name, const json_t *value)
{
	struct gemini *gemini = reader;
	const char *id = json_string_value(value);

	(void)name;
	if (id)
		gemini->session = gemini->scope = transcript_hash(id, 0);
}

static int report_calls(void *reader, const char *list, const json_t *message)
{
	struct gemini *gemini = reader;
	size_t i;
	json_t *call;
	int error = add_calls(gemini, message);

	(void)list;
	json_array_foreach(json_object_get(message, "toolCalls"), i, call) if (error == 0)
		error = report_parts(gemini, json_object_get(call, "result"),
				     json_object_get(call, "timestamp"));
	return error;
}

/* Has the first object messages of its own?  A pipe has lines. */
static bool is_document(struct transcript *transcript)
{
	struct json_walk *walk = &transcript->walk;
	char key[48];
	bool is = false;

	if (json_walk_rewind(walk) < 0)
		return false;
	if (json_walk_peek(walk) == '{' && json_walk_is(walk, '{'))
		while (!is && json_walk_key(walk, key, sizeof(key)) > 0) {
			is = strcmp(key, "messages") == 0;
			if (!is && json_walk_pass(walk) < 0)
				break;
		}
	return json_walk_rewind(walk) == 0 && is;
}

int transcript_gemini(struct transcript *transcript)
{
	static const char *const LISTS[] = { "messages", NULL }, *const MEMBERS[] = { "sessionId",
										      NULL };
	static const struct document_reader READER = { .lists = LISTS,
						       .members = MEMBERS,
						       .member = note_session,
						       .start = start,
						       .part = report_calls };
	struct gemini gemini = { .transcript = transcript,
				 .session = transcript->file_id,
				 .scope = transcript->file_id };

	transcript->result->is_unproven = is_document(transcript);
	int error = transcript->result->is_unproven
			    ? transcript_document(transcript, &READER, &gemini)
			    : transcript_lines(transcript, report_line, &gemini);

	pending_free(&gemini.pending);
	id_set_free(&gemini.answered);
	free(gemini.directory);
	return error;
}
