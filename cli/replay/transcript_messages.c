/*
 * Chats with tool calls, as data sets keep them: a list `messages` (or `trajectory`) of {role,
 * content}.  Three forms of a call are known:
 *
 * 	tool_calls of the message, its result a message of role `tool` with tool_call_id;
 * 	<function=NAME><parameter=KEY>VALUE</parameter>...</function> in its text, its result the next message of the user;
 * 	a block ```...``` of the shell in its text, likewise.
 *
 * Before a result a harness may have put "OBSERVATION:" or "EXECUTION RESULT of [TOOL]:", behind it
 * where its shell is.
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

struct chat {
	struct transcript *transcript;
	struct pending_calls pending;
	uint64_t session;
	char *directory;
};

enum { NEXT_MESSAGE = 1 }; /* id of a call whose result has none */

static int start(void *reader, uint64_t number)
{
	struct chat *chat = reader;

	pending_free(&chat->pending);
	chat->session = transcript_hash("", chat->transcript->file_id + number);
	free(chat->directory);
	chat->directory = NULL;
	return 0;
}

/* ---- calls ---- */

static int add_tool_calls(struct chat *chat, const json_t *calls)
{
	size_t i;
	json_t *call;
	int error = 0;

	json_array_foreach(calls, i, call)
	{
		const json_t *function = json_object_get(call, "function");
		const char *id = transcript_string(call, "id"),
			   *name = transcript_string(function, "name"),
			   *text = transcript_string(function, "arguments");
		if (error < 0 || !name)
			continue;
		json_t *arguments = text ? json_loads(text, JSON_ALLOW_NUL, NULL)
					 : json_incref(json_object_get(function, "arguments"));
		error = pending_add(&chat->pending, id ? transcript_hash(id, 0) : NEXT_MESSAGE,
				    name, arguments, false);
		json_decref(arguments);
	}
	return error;
}

/* The arguments of a call in the text: from behind `<function=NAME>`. */
static json_t *parameters(const char *at, const char *end)
{
	static const char PARAMETER[] = "<parameter=", CLOSE[] = "</parameter>";
	json_t *arguments = json_object();

	while ((at = strstr(at, PARAMETER)) && at < end) {
		at += sizeof(PARAMETER) - 1;
		size_t name = strcspn(at, ">\n");
		const char *value = at + name + 1;
		const char *close = at[name] == '>' ? strstr(value, CLOSE) : NULL;
		if (!close)
			break;
		const char *last = close;
		/* The newlines beside the tags are not the value's. */
		value += *value == '\n';
		last -= last > value && last[-1] == '\n';
		char *key = strndup(at, name);
		if (key)
			(void)json_object_set_new(
				arguments, key,
				json_stringn_nocheck(value, (size_t)(last - value)));
		free(key);
		at = close;
	}
	return arguments;
}

static int add_function(struct chat *chat, const char *at)
{
	static const char CLOSE[] = "</function>";
	char name[64];
	size_t length = strcspn(at, ">\n");
	const char *end = strstr(at, CLOSE);

	if (length == 0 || length >= sizeof(name))
		return 0;
	memcpy(name, at, length);
	name[length] = '\0';
	json_t *arguments = parameters(at + length, end ? end : at + strlen(at));
	int error = arguments ? pending_add(&chat->pending, NEXT_MESSAGE, name, arguments, false)
			      : -ENOMEM;
	json_decref(arguments);
	return error;
}

/* The last block ```...``` of a text: what the harness ran. */
static int add_block(struct chat *chat, const char *text)
{
	static const char FENCE[] = "```";
	const char *open = NULL, *close = NULL;

	for (const char *at = strstr(text, FENCE); at;) {
		const char *end = strstr(at + 3, FENCE);
		if (!end)
			break;
		open = at + 3;
		close = end;
		at = strstr(end + 3, FENCE);
	}
	if (!open)
		return 0;
	/* A language behind the fence. */
	size_t language = strcspn(open, "\n");
	if (open + language < close && memchr(open, ' ', language) == NULL)
		open += language;
	open += strspn(open, "\n");
	char *command = open < close ? strndup(open, (size_t)(close - open)) : NULL;
	if (!command)
		return 0;
	for (size_t end = strlen(command); end > 0 && strchr("\n \r", command[end - 1]);)
		command[--end] = '\0';
	int error = pending_add(&chat->pending, NEXT_MESSAGE, command, NULL, true);
	free(command);
	return error;
}

static int add_calls(struct chat *chat, const json_t *message, const char *text)
{
	static const char FUNCTION[] = "<function=";
	const json_t *calls = json_object_get(message, "tool_calls");

	/* What has no answer is dropped. */
	pending_free(&chat->pending);
	if (json_array_size(calls))
		return add_tool_calls(chat, calls);
	if (!text)
		return 0;
	const char *function = strstr(text, FUNCTION);
	return function ? add_function(chat, function + sizeof(FUNCTION) - 1)
			: add_block(chat, text);
}

/* ---- results ---- */

static int set_directory(struct chat *chat, const char *name, size_t length)
{
	if (length == 0 || name[0] != '/')
		return 0;
	free(chat->directory);
	chat->directory = strndup(name, length);
	return chat->directory ? 0 : -ENOMEM;
}

/* Finds the output proper in what the harness made of it.  ret_call: content, failed. */
static int unwrap(struct chat *chat, const char *text, size_t bytes, struct call *ret_call)
{
	static const char OBSERVATION[] = "OBSERVATION:\n", RESULT[] = "EXECUTION RESULT of [",
			  OPEN[] = "\n(Open file: ", DIRECTORY[] = "(Current directory: ",
			  STATUS[] = "\n[The command completed with exit code ",
			  RETURNCODE[] = "<returncode>", OUTPUT[] = "<output>\n";
	const char *start = text, *end = text + bytes, *found;
	int error = 0;

	if (strncmp(start, OBSERVATION, sizeof(OBSERVATION) - 1) == 0)
		start += sizeof(OBSERVATION) - 1;
	else if (strncmp(start, RESULT, sizeof(RESULT) - 1) == 0)
		start += strcspn(start, "\n") + 1;
	if (start > end)
		start = end;
	if (strncmp(start, RETURNCODE, sizeof(RETURNCODE) - 1) == 0 &&
	    (found = strstr(start, OUTPUT))) {
		ret_call->failed = strtol(start + sizeof(RETURNCODE) - 1, NULL, 10) != 0;
		start = found + sizeof(OUTPUT) - 1;
		found = strstr(start, "</output>");
		end = found ? found : end;
	}
	for (const char *at = start; (at = strstr(at, OPEN)) && at < end; at++) {
		found = strstr(at, DIRECTORY);
		if (!found || !strstr(found, "\nbash-$"))
			continue;
		found += sizeof(DIRECTORY) - 1;
		error = set_directory(chat, found, strcspn(found, ")\n"));
		end = at;
		break;
	}
	found = NULL;
	for (const char *at = start; (at = strstr(at, STATUS)) && at < end; at++)
		found = at;
	if (found) {
		ret_call->failed = strtol(found + sizeof(STATUS) - 1, NULL, 10) != 0;
		end = found;
	}
	ret_call->content = start;
	ret_call->content_bytes = (size_t)(end - start);
	return error;
}

static int report_result(struct chat *chat, const json_t *message, const char *text, size_t bytes)
{
	const char *id = transcript_string(message, "tool_call_id");
	struct pending_call pending;
	struct tool_call tool;

	if (!pending_remove(&chat->pending, id ? transcript_hash(id, 0) : NEXT_MESSAGE, &pending))
		return 0;
	/* Where the shell was before is where the call was made. */
	char *before = chat->directory ? strdup(chat->directory) : NULL;
	struct call call = { .session = chat->session,
			     .scope = chat->session,
			     .directory = before };
	int error = unwrap(chat, text, bytes, &call);
	if (error == 0)
		error = pending.is_text ? transcript_swe_action(pending.name, &tool)
					: transcript_tool(pending.name, pending.arguments, &tool);
	else
		tool = (struct tool_call){ .owned = NULL };
	if (error == 0)
		error = transcript_tool_result(chat->transcript, &tool, &call, text, bytes);
	tool_done(&tool);
	pending_done(&pending);
	free(before);
	return error;
}

static int report_part(void *reader, const char *list, const json_t *part)
{
	struct chat *chat = reader;
	const char *role = transcript_string(part, "role");
	const json_t *content = json_object_get(part, "content");
	char *owned;
	size_t bytes;
	int error = 0;

	(void)list;
	if (!role)
		return 0;
	const char *text = transcript_text(content ? content : json_object_get(part, "text"),
					   &owned, &bytes);
	if (strcmp(role, "assistant") == 0 || strcmp(role, "ai") == 0)
		error = add_calls(chat, part, text);
	else if (text && strcmp(role, "system") != 0)
		error = report_result(chat, part, text, bytes);
	free(owned);
	return error;
}

int transcript_messages(struct transcript *transcript)
{
	static const char *const LISTS[] = { "messages", "trajectory", NULL };
	static const struct document_reader READER = {
		.lists = LISTS, .bare = true, .start = start, .part = report_part
	};
	struct chat chat = { .transcript = transcript };
	int error = transcript_document(transcript, &READER, &chat);

	pending_free(&chat.pending);
	free(chat.directory);
	return error;
}
