/*
 * Claude Code's transcripts: a line for each message.  Calls are blocks of type tool_use in an
 * assistant's message, results blocks of type tool_result in a user's; toolUseResult beside the
 * latter tells more of it than the model was given.
 *
 * A sub-agent has a context of its own: its lines have isSidechain, and agentId in versions that
 * write them to files of their own;
 * in older ones they are told apart by the message that they begin at.
 * A line that is in the file twice, which some versions did when a session was resumed, counts
 * once: by its uuid.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_pending.h"
#include "cli/replay/transcript_reader.h"
#include "cli/replay/transcript_tool.h"

enum { CHAINS_SEARCHED = 512 }; /* a line follows one that is not far above it */

/* Messages of sub-agents without a name: which one each is of. */
struct chain {
	uint64_t uuid, root;
};

struct claude {
	struct transcript *transcript;
	struct pending_calls pending;
	struct id_set answered; /* uuids of lines with results */
	struct chain *chains;
	size_t chain_count, chain_capacity;
};

/* Which sub-agent a line without agentId is of: that of the line it follows, else a new one. */
static int chain_of(struct claude *claude, const json_t *line, uint64_t *ret_root)
{
	const char *uuid = transcript_string(line, "uuid"),
		   *parent = transcript_string(line, "parentUuid");
	uint64_t id = uuid ? transcript_hash(uuid, 0) : 1;
	uint64_t follows = parent ? transcript_hash(parent, 0) : 0;

	*ret_root = id;
	size_t oldest = claude->chain_count > CHAINS_SEARCHED
				? claude->chain_count - CHAINS_SEARCHED
				: 0;
	for (size_t i = claude->chain_count; follows && i-- > oldest;)
		if (claude->chains[i].uuid == follows) {
			*ret_root = claude->chains[i].root;
			break;
		}
	if (claude->chain_count == claude->chain_capacity) {
		size_t capacity = claude->chain_capacity ? claude->chain_capacity * 2 : 16;
		struct chain *grown = realloc(claude->chains, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		claude->chains = grown;
		claude->chain_capacity = capacity;
	}
	claude->chains[claude->chain_count++] = (struct chain){ id, *ret_root };
	return 0;
}

static int around_of(struct claude *claude, const json_t *line, struct call *ret_call)
{
	const char *session = transcript_string(line, "sessionId"),
		   *agent = transcript_string(line, "agentId"),
		   *directory = transcript_string(line, "cwd");
	int error = 0;

	*ret_call = (struct call){ .kind = CALL_OTHER };
	ret_call->session = session ? transcript_hash(session, 0) : claude->transcript->file_id;
	ret_call->scope = ret_call->session;
	ret_call->directory = directory && directory[0] == '/' ? directory : NULL;
	ret_call->time_ns = transcript_time(json_object_get(line, "timestamp"));
	if (agent)
		ret_call->scope = transcript_hash(agent, ret_call->session);
	else if (json_is_true(json_object_get(line, "isSidechain"))) {
		error = chain_of(claude, line, &ret_call->scope);
		ret_call->scope ^= ret_call->session;
	}
	return error;
}

/* What toolUseResult holds for a read: the file's lines in all. */
static uint64_t total_lines(const json_t *line)
{
	const json_t *file = json_object_get(json_object_get(line, "toolUseResult"), "file");
	json_int_t total = json_integer_value(json_object_get(file, "totalLines"));

	return total > 0 ? (uint64_t)total : 0;
}

static bool is_stub(const json_t *line)
{
	const char *type = transcript_string(json_object_get(line, "toolUseResult"), "type");
	return type && strcmp(type, "file_unchanged") == 0;
}

static int report_result(struct claude *claude, const json_t *line, const json_t *block,
			 const struct call *around)
{
	const char *id = transcript_string(block, "tool_use_id");
	struct pending_call pending;
	struct tool_call tool;
	struct call call = *around;
	char *owned;
	size_t bytes;

	if (!id || !pending_remove(&claude->pending, transcript_hash(id, 0), &pending))
		return 0;
	int error = transcript_tool(pending.name, pending.arguments, &tool);
	const char *text = transcript_text(json_object_get(block, "content"), &owned, &bytes);
	call.failed = json_is_true(json_object_get(block, "is_error"));
	call.total_lines = total_lines(line);
	tool.call.numbered = tool.call.kind == CALL_READ;
	/* The agent's own notice in place of a file shows none of it. */
	if (tool.call.kind == CALL_READ && is_stub(line))
		call.failed = true;
	if (error == 0)
		error = transcript_tool_result(claude->transcript, &tool, &call, text, bytes);
	free(owned);
	tool_done(&tool);
	pending_done(&pending);
	return error;
}

static int report_blocks(struct claude *claude, const json_t *line, const char *type)
{
	const json_t *content = json_object_get(json_object_get(line, "message"), "content");
	const char *uuid = transcript_string(line, "uuid");
	struct call around;
	bool counted = false;
	size_t i;
	json_t *block;
	int error = around_of(claude, line, &around);

	if (!json_is_array(content))
		return error;
	json_array_foreach(content, i, block)
	{
		const char *kind = transcript_string(block, "type");
		if (error < 0)
			break;
		if (kind && strcmp(kind, "tool_use") == 0 && strcmp(type, "assistant") == 0) {
			const char *id = transcript_string(block, "id"),
				   *name = transcript_string(block, "name");
			if (id && name)
				error = pending_add(&claude->pending, transcript_hash(id, 0), name,
						    json_object_get(block, "input"), false);
		} else if (kind && strcmp(kind, "tool_result") == 0 && strcmp(type, "user") == 0) {
			int is_new = counted || !uuid ? 1
						      : id_set_add(&claude->answered,
								   transcript_hash(uuid, 0));
			counted = is_new > 0;
			if (is_new <= 0)
				return is_new;
			error = report_result(claude, line, block, &around);
		}
	}
	return error;
}

static int report_line(void *reader, const json_t *line)
{
	struct claude *claude = reader;
	const char *type = transcript_string(line, "type");
	struct call call;

	if (!type)
		return 0;
	if (transcript_is_cut(claude->transcript)) {
		int error = around_of(claude, line, &call);
		call.kind = CALL_INVALIDATED;
		return error < 0 ? error
				 : claude->transcript->sink(&call, claude->transcript->data);
	}
	if (strcmp(type, "assistant") == 0 || strcmp(type, "user") == 0)
		return report_blocks(claude, line, type);
	return 0;
}

int transcript_claude(struct transcript *transcript)
{
	struct claude claude = { .transcript = transcript };
	int error = transcript_lines(transcript, report_line, &claude);

	pending_free(&claude.pending);
	id_set_free(&claude.answered);
	free(claude.chains);
	return error;
}
