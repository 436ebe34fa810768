/* Entries: see transcript_entry.h. */
#include "cli/agents/transcript_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t entry_hash(const char *text, size_t length)
{
	uint64_t hash = XXH3_64bits(text, length);
	return hash ? hash : 1;
}

/* ---- members ---- */

static const char *string_at(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static bool is_string(const json_t *object, const char *name, const char *text)
{
	const char *value = string_at(object, name);
	return value && strcmp(value, text) == 0;
}

/* The number of a member that is a name; 0: there is none. */
static uint64_t hash_at(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	return json_is_string(value)
		       ? entry_hash(json_string_value(value), json_string_length(value))
		       : 0;
}

/* RFC 3339, as all of them write it: 2026-11-22T18:49:08.811Z. */
static uint64_t time_at(const json_t *object, const char *name)
{
	const char *text = string_at(object, name);
	struct tm tm = { .tm_isdst = 0 };
	unsigned milliseconds = 0;

	if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3u", &tm.tm_year, &tm.tm_mon,
			    &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &milliseconds) < 6)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	time_t seconds = timegm(&tm);
	return seconds > 0 ? (uint64_t)seconds * 1000000000 + milliseconds * UINT64_C(1000000) : 0;
}

/* ---- calls ---- */

/* Does a call name a command or a file, and no sub-agent to hand a task to? */
static bool is_plain(const json_t *arguments)
{
	static const char *const PLAIN[] = { "command",  "commands", "cmd",           "file_path",
					     "filePath", "path",     "absolute_path", "paths",
					     "pattern",  NULL };
	static const char *const TASKS[] = { "prompt",  "task",          "tasks", "objective",
					     "message", "subagent_type", "agent", NULL };
	bool plain = false;

	for (size_t i = 0; TASKS[i]; i++)
		if (json_object_get(arguments, TASKS[i]))
			return false;
	for (size_t i = 0; PLAIN[i]; i++)
		plain = plain || json_object_get(arguments, PLAIN[i]);
	return plain;
}

static void add_call(struct entry *entry, uint64_t id, bool plain)
{
	/* Too many: one that is not plain stands for the rest. */
	if (entry->call_count == ENTRY_CALLS_MAX)
		entry->calls[ENTRY_CALLS_MAX - 1].is_plain = false;
	else
		entry->calls[entry->call_count++] = (struct entry_call){ .id = id,
									 .is_plain = plain };
	entry->state = ENTRY_ANSWERED;
}

/* ---- results ---- */

static struct entry_result *add_result(struct entry *entry, uint64_t call)
{
	if (entry->result_count == ENTRY_RESULTS_MAX)
		return NULL;
	entry->state = ENTRY_ASKED;
	struct entry_result *result = &entry->results[entry->result_count++];
	*result = (struct entry_result){ .call = call, .text = "" };
	return result;
}

/* The text of a content: a string, or a list of parts of which those with a `text` count. */
static void set_text(struct entry_result *result, const json_t *content)
{
	const json_t *part;
	size_t i, length = 0;

	if (json_is_string(content)) {
		result->text = json_string_value(content);
		length = json_string_length(content);
	} else if (json_array_size(content) == 1 &&
		   json_is_string(json_object_get(json_array_get(content, 0), "text"))) {
		part = json_object_get(json_array_get(content, 0), "text");
		result->text = json_string_value(part);
		length = json_string_length(part);
	} else if (json_is_array(content)) {
		json_array_foreach((json_t *)content, i, part)
			length += json_string_length(json_object_get(part, "text"));
		result->owned = malloc(length + 1);
		if (!result->owned)
			return;
		length = 0;
		json_array_foreach((json_t *)content, i, part)
		{
			const json_t *text = json_object_get(part, "text");
			if (json_is_string(text))
				memcpy(result->owned + length, json_string_value(text),
				       json_string_length(text));
			length += json_string_length(text);
		}
		result->owned[length] = '\0';
		result->text = result->owned;
	}
	result->length = result->body_length = length;
}

/* The body begins behind a mark at the beginning of a line of the text's head. */
static void skip_head(struct entry_result *result, const char *mark)
{
	enum { HEAD_BYTES = 4096 };
	size_t length = strlen(mark);
	const char *at = result->text;
	size_t head = result->length < HEAD_BYTES ? result->length : HEAD_BYTES;

	while ((at = memmem(at, head - (size_t)(at - result->text), mark, length))) {
		if (at == result->text || at[-1] == '\n') {
			result->body = (size_t)(at - result->text) + length;
			result->body_length = result->length - result->body;
			return;
		}
		at++;
	}
}

/* It ends before the first of the lines at its end that begin so. */
static void drop_tail(struct entry_result *result, const char *const *marks)
{
	const char *body = result->text + result->body;
	size_t end = result->body_length;

	for (bool found = true; found && end;) {
		const char *newline = memrchr(body, '\n', end);
		size_t line = newline ? (size_t)(newline - body) + 1 : 0;
		found = false;
		for (size_t i = 0; marks[i] && !found; i++)
			found = end - line >= strlen(marks[i]) &&
				memcmp(body + line, marks[i], strlen(marks[i])) == 0;
		if (found)
			end = line ? line - 1 : 0;
	}
	result->body_length = end;
}

/* ---- Claude Code ---- */

static bool begins_with(const json_t *content, const char *words)
{
	const char *text = json_string_value(content);

	if (!text)
		text = string_at(json_array_get(content, 0), "text");
	return text && strncmp(text, words, strlen(words)) == 0;
}

static void claude_user(const json_t *line, const json_t *content, struct entry *entry)
{
	const json_t *part;
	size_t i;

	json_array_foreach((json_t *)content, i, part)
	{
		struct entry_result *result = is_string(part, "type", "tool_result")
						      ? add_result(entry,
								   hash_at(part, "tool_use_id"))
						      : NULL;
		if (result)
			set_text(result, json_object_get(part, "content"));
	}
	if (entry->result_count) {
		entry->holder = hash_at(line, "sourceToolAssistantUUID");
	} else if (begins_with(content, "[Request interrupted by user")) {
		entry->state = ENTRY_ENDED;
	} else if (!json_is_true(json_object_get(line, "isMeta")) &&
		   !begins_with(content, "<local-command-") &&
		   !begins_with(content, "<command-name>")) {
		entry->is_prompt = true;
		entry->state = ENTRY_ASKED;
	}
}

static void claude_assistant(const json_t *message, struct entry *entry)
{
	const char *stop = string_at(message, "stop_reason");
	const json_t *part;
	size_t i;

	json_array_foreach(json_object_get(message, "content"), i,
			   part) if (is_string(part, "type", "tool_use"))
		add_call(entry, hash_at(part, "id"), is_plain(json_object_get(part, "input")));
	if (stop && strcmp(stop, "tool_use") != 0 && strcmp(stop, "pause_turn") != 0)
		entry->state = ENTRY_ENDED;
	entry->cleared = json_array_size(
		json_object_get(json_object_get(message, "context_management"), "applied_edits"));
}

static bool parse_claude(const json_t *line, struct entry *entry)
{
	const json_t *parent = json_object_get(line, "parentUuid");

	if (!parent)
		return string_at(line, "sessionId") && string_at(line, "type");
	entry->is_step = true;
	entry->says_end = true;
	entry->id = hash_at(line, "uuid");
	entry->parent = hash_at(line, "parentUuid");
	entry->is_side = json_is_true(json_object_get(line, "isSidechain"));
	entry->directory = string_at(line, "cwd");
	const json_t *message = json_object_get(line, "message");
	if (is_string(line, "type", "user"))
		claude_user(line, json_object_get(message, "content"), entry);
	else if (is_string(line, "type", "assistant"))
		claude_assistant(message, entry);
	else if (is_string(line, "subtype", "turn_duration"))
		entry->state = ENTRY_ENDED;
	return true;
}

/* ---- pi ---- */

static void pi_message(const json_t *message, struct entry *entry)
{
	const json_t *content = json_object_get(message, "content"), *part;
	const char *stop = string_at(message, "stopReason");
	struct entry_result *result = NULL;
	size_t i;

	if (is_string(message, "role", "user")) {
		entry->is_prompt = true;
		entry->state = ENTRY_ASKED;
	} else if (is_string(message, "role", "toolResult")) {
		result = add_result(entry, hash_at(message, "toolCallId"));
	} else if (is_string(message, "role", "bashExecution")) {
		/* The user's own command: what it printed goes with the next prompt. */
		content = json_object_get(message, "output");
		if (!json_is_true(json_object_get(message, "excludeFromContext")))
			result = add_result(entry, entry->id);
		entry->state = ENTRY_SAME;
	} else if (is_string(message, "role", "assistant")) {
		json_array_foreach((json_t *)content, i,
				   part) if (is_string(part, "type", "toolCall"))
			add_call(entry, hash_at(part, "id"),
				 is_plain(json_object_get(part, "arguments")));
		if (stop && strcmp(stop, "toolUse") != 0)
			entry->state = ENTRY_ENDED;
	}
	if (result)
		set_text(result, content);
}

static bool parse_pi(const json_t *line, struct entry *entry)
{
	if (is_string(line, "type", "session") && string_at(line, "id")) {
		entry->directory = string_at(line, "cwd");
		entry->state = ENTRY_ENDED;
		return true;
	}
	if (!json_object_get(line, "parentId") || !string_at(line, "id") ||
	    !string_at(line, "type"))
		return false;
	entry->is_step = true;
	entry->says_end = true;
	entry->id = hash_at(line, "id");
	entry->parent = hash_at(line, "parentId");
	if (is_string(line, "type", "message"))
		pi_message(json_object_get(line, "message"), entry);
	return true;
}

/* ---- codex ---- */

static void codex_call(const json_t *item, struct entry *entry)
{
	const char *text = string_at(item, "arguments");
	json_t *arguments = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
	bool custom = is_string(item, "type", "custom_tool_call") ||
		      is_string(item, "type", "local_shell_call");

	add_call(entry, hash_at(item, "call_id"), custom || is_plain(arguments));
	json_decref(arguments);
}

static void codex_result(const json_t *item, struct entry *entry)
{
	const json_t *output = json_object_get(item, "output");
	struct entry_result *result = add_result(entry, hash_at(item, "call_id"));

	if (!result)
		return;
	set_text(result, json_is_object(output) ? json_object_get(output, "content") : output);
	skip_head(result, "Output:\n");
}

static void codex_event(const json_t *event, struct entry *entry)
{
	const char *type = string_at(event, "type");

	if (!type)
		return;
	if (strcmp(type, "task_started") == 0 || strcmp(type, "turn_started") == 0) {
		entry->is_prompt = true;
		entry->state = ENTRY_ASKED;
	} else if (strcmp(type, "task_complete") == 0 || strcmp(type, "turn_complete") == 0 ||
		   strcmp(type, "turn_aborted") == 0) {
		entry->state = ENTRY_ENDED;
	}
}

static bool parse_codex(const json_t *line, struct entry *entry)
{
	const json_t *payload = json_object_get(line, "payload");
	const char *type = string_at(line, "type");

	if (!type || !json_is_object(payload))
		return false;
	entry->is_list = true;
	entry->says_end = true;
	if (strcmp(type, "session_meta") == 0) {
		entry->directory = string_at(payload, "cwd");
		entry->is_side = json_object_get(json_object_get(payload, "source"), "subagent");
		entry->state = ENTRY_ENDED;
	} else if (strcmp(type, "event_msg") == 0) {
		codex_event(payload, entry);
	} else if (strcmp(type, "compacted") == 0) {
		entry->begins = true;
	} else if (strcmp(type, "response_item") == 0) {
		const char *item = string_at(payload, "type");
		size_t length = item ? strlen(item) : 0;
		entry->is_step = true;
		if (length > 5 && strcmp(item + length - 5, "_call") == 0)
			codex_call(payload, entry);
		else if (length > 12 && strcmp(item + length - 12, "_call_output") == 0)
			codex_result(payload, entry);
	}
	return true;
}

/* ---- Gemini CLI ---- */

bool entry_of_response(const json_t *part, struct entry_result *ret_result)
{
	static const char *const TAIL[] = { "</untrusted_context>",
					    "Process Group PGID: ",
					    "Background PIDs: ",
					    "Exit Code: ",
					    "Signal: ",
					    "Error: ",
					    NULL };
	const json_t *response = json_object_get(part, "functionResponse");

	if (!response)
		return false;
	*ret_result = (struct entry_result){ .call = hash_at(response, "id"), .text = "" };
	response = json_object_get(response, "response");
	set_text(ret_result, json_object_get(response, "output"));
	skip_head(ret_result, "Output: ");
	if (ret_result->body)
		drop_tail(ret_result, TAIL);
	return true;
}

static void gemini_parts(const json_t *content, struct entry *entry)
{
	const json_t *part;
	size_t i;

	json_array_foreach((json_t *)content, i, part)
	{
		struct entry_result result, *place;
		if (!entry_of_response(part, &result))
			continue;
		place = add_result(entry, result.call);
		if (place)
			*place = result;
		else
			free(result.owned);
	}
}

static void gemini_message(const json_t *message, struct entry *entry)
{
	const json_t *content = json_object_get(message, "content");

	if (is_string(message, "type", "user")) {
		unsigned before = entry->result_count;
		gemini_parts(content, entry);
		entry->is_prompt = entry->result_count == before;
		entry->state = ENTRY_ASKED;
	} else if (is_string(message, "type", "gemini")) {
		/* Its calls are reported once they have come back. */
		entry->state = json_array_size(json_object_get(message, "toolCalls"))
				       ? ENTRY_ASKED
				       : ENTRY_ANSWERED;
	}
}

static bool parse_gemini(const json_t *line, struct entry *entry)
{
	const json_t *set = json_object_get(line, "$set"), *message;
	const char *type = string_at(line, "type");
	size_t i;

	entry->is_list = true;
	if (json_object_get(line, "$rewindTo")) {
		entry->back_to = hash_at(line, "$rewindTo");
		entry->state = ENTRY_ENDED;
		return true;
	}
	if (json_is_object(set)) {
		const json_t *messages = json_object_get(set, "messages");
		entry->begins = entry->is_step = messages;
		json_array_foreach((json_t *)messages, i,
				   message) if (is_string(message, "type", "user"))
			gemini_parts(json_object_get(message, "content"), entry);
		entry->state = ENTRY_SAME;
		return true;
	}
	if (string_at(line, "projectHash") && string_at(line, "sessionId")) {
		entry->is_side = is_string(line, "kind", "subagent");
		entry->state = ENTRY_ENDED;
		return true;
	}
	if (!type || !string_at(line, "id") || !json_object_get(line, "content"))
		return false;
	entry->is_step = true;
	entry->id = hash_at(line, "id");
	gemini_message(line, entry);
	return true;
}

/* ---- opencode and kilo ---- */

static void opencode_tool(const json_t *state, struct entry *entry)
{
	static const char CLEARED[] = "[cleared]"; /* by whatever words the agent says it */
	struct entry_result *result;

	if (is_string(state, "status", "pending") || is_string(state, "status", "running")) {
		add_call(entry, 0, is_plain(json_object_get(state, "input")));
		return;
	}
	result = add_result(entry, 0);
	if (!result)
		return;
	if (json_object_get(json_object_get(state, "time"), "compacted")) {
		result->text = CLEARED;
		result->length = result->body_length = sizeof(CLEARED) - 1;
	} else if (is_string(state, "status", "completed")) {
		set_text(result, json_object_get(state, "output"));
	} else {
		/* What an interrupted command printed, or what went wrong. */
		const json_t *output = json_object_get(json_object_get(state, "metadata"),
						       "output");
		set_text(result, output ? output : json_object_get(state, "error"));
	}
}

static void opencode_message(const json_t *message, struct entry *entry)
{
	const char *finish = string_at(message, "finish");
	bool is_failed = json_is_object(json_object_get(message, "error"));

	if (is_string(message, "role", "user")) {
		entry->is_prompt = true;
		entry->state = ENTRY_ASKED;
		return;
	}
	bool is_summary = json_is_true(json_object_get(message, "summary"));
	/* From a summary's beginning on nothing counts: its end may be followed at once. */
	if (is_failed || is_summary ||
	    (finish && strcmp(finish, "tool-calls") != 0 && strcmp(finish, "unknown") != 0))
		entry->state = ENTRY_ENDED;
	entry->begins = finish && !is_failed && is_summary;
}

void entry_of_row(const char *data, size_t length, bool is_part, struct entry *ret_entry)
{
	json_t *json = json_loadb(data, length, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	bool is_tool = is_part && is_string(json, "type", "tool");

	*ret_entry = (struct entry){ .json = json,
				     .is_known = is_tool || (!is_part && string_at(json, "role")),
				     .is_step = true,
				     .is_list = true,
				     .says_end = true };
	if (is_tool)
		opencode_tool(json_object_get(json, "state"), ret_entry);
	else if (ret_entry->is_known)
		opencode_message(json, ret_entry);
}

/* ---- a line ---- */

void entry_parse(const char *line, size_t length, struct entry *ret_entry)
{
	static bool (*const FORMS[])(const json_t *line,
				     struct entry *entry) = { parse_codex, parse_claude, parse_pi,
							      parse_gemini };
	json_t *json = json_loadb(line, length, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);

	*ret_entry = (struct entry){ .json = json };
	for (size_t i = 0;
	     json_is_object(json) && !ret_entry->is_known && i < sizeof(FORMS) / sizeof(FORMS[0]);
	     i++) {
		struct entry entry = { .json = json };
		if (FORMS[i](json, &entry)) {
			*ret_entry = entry;
			ret_entry->is_known = true;
		}
	}
	if (ret_entry->is_known)
		ret_entry->time_ns = time_at(json, "timestamp");
}

void entry_done(struct entry *entry)
{
	for (unsigned i = 0; i < entry->result_count; i++)
		free(entry->results[i].owned);
	json_decref(entry->json);
	*entry = (struct entry){ .json = NULL };
}
