/*
 * The databases of opencode and kilo (cli/agents/transcript_rows.h).  A part of type tool is a call
 * with its result, as the model was given it.
 *
 * A message that is a summary ends what the context held.  So does, from that time on, a result that
 * the agent took out of the context later, which has a time `compacted`.  What was taken back by
 * /undo is gone from the database, or is its end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/transcript_entry.h"
#include "cli/agents/transcript_rows.h"
#include "cli/hooks/opencode_output.h"
#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_reader.h"
#include "cli/replay/transcript_tool.h"

/* A session, and the one that its sub-agents' belong to. */
struct root {
	uint64_t id, root;
};

struct opencode {
	struct transcript *transcript;
	struct root *roots;
	size_t root_count, root_capacity;
	/* of the session that is being read */
	uint64_t session, scope;
	const char *directory;
	int64_t *cleared; /* when results were taken out of the context, in milliseconds */
	size_t cleared_count, cleared_capacity;
};

/* Room for one more; false: there is none. */
static bool grow(void **items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return true;
	size_t larger = *capacity ? 2 * *capacity : 64;
	void *grown = reallocarray(*items, larger, size);
	if (!grown)
		return false;
	*items = grown;
	*capacity = larger;
	return true;
}

static int start_session(struct opencode *opencode, const struct transcript_session *session)
{
	/* One agent takes the sessions of another over with their ids. */
	uint64_t seed = opencode->transcript->file_id, id = transcript_hash(session->id, seed),
		 parent = session->parent ? transcript_hash(session->parent, seed) : 0, root = id;

	/* A parent began before. */
	for (size_t i = 0; parent && i < opencode->root_count; i++)
		if (opencode->roots[i].id == parent)
			root = opencode->roots[i].root;
	if (!grow((void **)&opencode->roots, opencode->root_count, &opencode->root_capacity,
		  sizeof(*opencode->roots)))
		return -ENOMEM;
	opencode->roots[opencode->root_count++] = (struct root){ id, root };
	opencode->session = root;
	opencode->scope = id;
	opencode->directory = session->directory && session->directory[0] == '/'
				      ? session->directory
				      : NULL;
	opencode->cleared_count = 0;
	return 0;
}

/* ---- what the context lost ---- */

static int invalidate(const struct opencode *opencode)
{
	struct call call = { .kind = CALL_INVALIDATED,
			     .session = opencode->session,
			     .scope = opencode->scope };
	return opencode->transcript->sink(&call, opencode->transcript->data);
}

/* Milliseconds since 1970; 0: it is none. */
static int64_t time_of(const json_t *time, const char *name)
{
	double time_ms = json_number_value(json_object_get(time, name));
	return time_ms >= 1 && time_ms < 1e15 ? (int64_t)time_ms : 0;
}

/* What was taken out of it before that time. */
static int apply_cleared(struct opencode *opencode, int64_t now_ms)
{
	size_t left = 0;

	for (size_t i = 0; i < opencode->cleared_count; i++)
		if (opencode->cleared[i] > now_ms)
			opencode->cleared[left++] = opencode->cleared[i];
	bool any = left < opencode->cleared_count;
	opencode->cleared_count = left;
	return any ? invalidate(opencode) : 0;
}

static int note_cleared(struct opencode *opencode, int64_t cleared_ms)
{
	if (!cleared_ms)
		return 0;
	if (!grow((void **)&opencode->cleared, opencode->cleared_count, &opencode->cleared_capacity,
		  sizeof(*opencode->cleared)))
		return -ENOMEM;
	opencode->cleared[opencode->cleared_count++] = cleared_ms;
	return 0;
}

/* ---- results ---- */

/* The lines of a file, without what stands around them. */
static void unwrap(const char *text, struct tool_call *tool, struct call *call)
{
	const char *lines = opencode_output_lines(text);
	const char *foot = lines ? opencode_output_foot(lines) : NULL;
	const char *remark = foot ? memrchr(lines, '\n', (size_t)(foot - lines)) : NULL;

	tool->call.numbered = true;
	tool->call.number_end = OPENCODE_NUMBER_END;
	if (!remark || !opencode_output_is_remark(remark))
		return;
	call->content = lines;
	call->content_bytes = (size_t)(remark - lines);
	/* It is a part, whatever was asked for. */
	if (!opencode_output_is_whole(remark))
		tool->call.from = tool->call.from ? tool->call.from : 1;
}

/* Did a command end well? */
static bool is_failed(const json_t *state)
{
	const char *status = transcript_string(state, "status");
	const json_t *exit = json_object_get(json_object_get(state, "metadata"), "exit");

	return !status || strcmp(status, "completed") != 0 ||
	       (exit && (!json_is_number(exit) || json_number_value(exit) != 0));
}

static int report_tool(struct opencode *opencode, const struct entry *entry)
{
	const json_t *state = json_object_get(entry->json, "state"),
		     *time = json_object_get(state, "time"),
		     *output = json_object_get(state, "output");
	const char *name = transcript_string(entry->json, "tool"), *text = entry->results[0].text;
	size_t length = entry->results[0].length;
	int64_t start_ms = time_of(time, "start"), cleared_ms = time_of(time, "compacted");
	struct tool_call tool;
	struct call call = { .session = opencode->session,
			     .scope = opencode->scope,
			     .directory = opencode->directory,
			     .failed = is_failed(state),
			     .time_ns = (uint64_t)start_ms * UINT64_C(1000000) };
	int error = apply_cleared(opencode, start_ms);

	if (error < 0 || !name)
		return error;
	/* It was given in full before it was taken out. */
	if (cleared_ms && json_is_string(output)) {
		text = json_string_value(output);
		length = json_string_length(output);
	}
	error = transcript_tool(name, json_object_get(state, "input"), &tool);
	if (error == 0 && tool.call.kind == CALL_READ)
		unwrap(text, &tool, &call);
	if (error == 0)
		error = transcript_tool_result(opencode->transcript, &tool, &call, text, length);
	tool_done(&tool);
	return error < 0 ? error : note_cleared(opencode, cleared_ms);
}

static void note_damage(struct transcript_result *result, const struct transcript_row *row)
{
	if (!result->damaged++)
		(void)snprintf(result->error, sizeof(result->error),
			       "%s %.64s is not JSON: passed over, the rest was read",
			       row->is_part ? "part" : "message", row->id);
}

static int report_row(const struct transcript_row *row, void *data)
{
	struct opencode *opencode = data;
	struct entry entry;
	size_t length;
	const char *text = transcript_row_data(row, &length);
	int error = 0;

	entry_of_row(text ? text : "", length, row->is_part, &entry);
	if (!entry.json)
		note_damage(opencode->transcript->result, row);
	else if (entry.begins)
		error = invalidate(opencode);
	else if (row->is_part && entry.result_count)
		error = report_tool(opencode, &entry);
	entry_done(&entry);
	return error;
}

int transcript_opencode(struct transcript *transcript)
{
	struct opencode opencode = { .transcript = transcript };
	struct transcript_result *result = transcript->result;
	struct transcript_session session;
	struct transcript_rows *rows;
	char fault[TRANSCRIPT_ROWS_ERROR_BYTES];
	int error = transcript_rows_open(transcript->path, ROWS_OF_ANY, INT64_MIN, &rows, fault);

	if (error < 0) {
		(void)snprintf(result->error, sizeof(result->error), "%s", fault);
		return error;
	}
	while (error == 0 && (error = transcript_rows_session(rows, &session)) > 0) {
		error = start_session(&opencode, &session);
		if (error == 0)
			error = transcript_rows_each(rows, "", report_row, &opencode);
	}
	transcript_rows_close(rows);
	free(opencode.roots);
	free(opencode.cleared);
	if (error == -EBADMSG)
		(void)snprintf(result->error, sizeof(result->error),
			       "it is damaged; what comes before was read");
	else if (error == -EAGAIN)
		(void)snprintf(result->error, sizeof(result->error),
			       "its agent writes to it now; run this again");
	return error;
}
