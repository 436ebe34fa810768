/* What hooks would have answered: see replay_hooks.h. */
#include "cli/replay/replay_hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/tokens.h"
#include "cli/files/hunks.h"
#include "cli/hooks/tool_read.h"
#include "tracker/answer/line_range.h"
#include "tracker/path/path.h"
#include "tracker/process/process.h"
#include "tracker/process/scope.h"
#include "tracker/segment/segment_create.h"
#include "tracker/segment/workspace.h"

/* What distinguishes versions that are those of lines from others. */
enum { VERSION_OF_LINES = 1, VERSION_OF_TIME = 2 };

/* ---- the session's segment ---- */

/* The scope of its agent. */
static uint64_t agent_scope(const struct session *session)
{
	return session->agent_scope;
}

static struct context context_of(void)
{
	return (struct context){ .anchor_pid = (uint32_t)getpid(), .role = ROLE_AGENT };
}

/* With the workspace that the transcript tells. */
static int make_segment(const struct replay *replay, struct session *session)
{
	const struct settings_only *only = &replay->only;
	const char *root = session->root ? session->root : "/";
	size_t used = only->text_used, length = strlen(root) + 1;
	struct settings *settings = malloc(sizeof(*settings));
	char *text = malloc(used + length);
	int error = -ENOMEM;

	if (settings && text) {
		*settings = *only->settings;
		memcpy(text, only->text, used);
		memcpy(text + used, root, length);
		settings->paths_workspace = (struct settings_text){ .offset = (uint32_t)used,
								    .size_bytes = (uint32_t)length,
								    .count = 1 };
		error = segment_create_private(settings, text, used + length, &session->segment);
	}
	free(settings);
	free(text);
	if (error < 0)
		return error;
	struct context context = context_of();
	session->agent_scope = scope_id_of(1, NULL);
	session->segment.replayed_ns = 1;
	return scope_claim(&session->segment, session->agent_scope, &context, context.anchor_pid, 0,
			   "agent")
		       ? 0
		       : -ENOMEM;
}

/* The file as the segment knows it; false: it is not in the workspace. */
static bool path_of(const struct session *session, const char *directory, const char *path,
		    char ret_path[static PATH_MAX])
{
	char below[PATH_MAX];

	if (path_normalize(directory, path, ret_path, PATH_MAX) >= 0)
		return path_is_tracked(&session->segment, ret_path);
	/* Where its directory is not known, all are in one. */
	return snprintf(below, sizeof(below), "/%s", path) < (int)sizeof(below) &&
	       path_normalize(NULL, below, ret_path, PATH_MAX) >= 0 &&
	       path_is_tracked(&session->segment, ret_path);
}

void replay_hooks_forget(struct session *session, uint64_t scope_id, const char *directory,
			 const char *path)
{
	const struct segment *segment = &session->segment;
	char normal[PATH_MAX];

	if (!segment->header || (scope_id && scope_id != session->id))
		return;
	if (!path) {
		(void)scope_new_epoch(segment, agent_scope(session));
	} else if (path_of(session, directory, path, normal)) {
		session->segment.replayed_ns++;
		(void)delivery_forget(segment, 0, path_key(segment, normal));
		(void)line_range_forget(segment, 0, path_key(segment, normal));
	}
}

void replay_hooks_sub_agent(struct session *session)
{
	session->had_sub_agents = true;
}

/* ---- what was read ---- */

struct hooked {
	struct replay *replay;
	const struct judged_read *read;
	const struct call *call;
	uint64_t place_bytes, place_lines; /* of what is given in place of the output */
};

/* What its tool puts before each line that it shows. */
static uint64_t number_bytes(const struct hooked *hooked)
{
	const struct call *call = hooked->call;
	const struct shown *shown = hooked->read->shown;
	uint64_t bytes = call->content ? call->content_bytes : call->output_bytes;

	return shown->count && bytes > shown->bytes ? (bytes - shown->bytes) / shown->count : 0;
}

static uint64_t place_bytes(const struct hooked *hooked)
{
	return hooked->place_bytes + hooked->place_lines * number_bytes(hooked);
}

static bool deliver_notice(void *data, const char *text, size_t length)
{
	struct hooked *hooked = data;

	(void)text;
	hooked->place_bytes = length;
	hooked->place_lines = 1;
	return true;
}

static bool deliver_diff(void *data, const struct diff_question *question, uint64_t *ret_length)
{
	struct hooked *hooked = data;
	const struct judged_read *read = hooked->read;
	const struct record *record = memory_record(read->file, read->scope->id, REPLAY_OWN_TOOLS,
						    false);
	struct line_script script = { .removed = 0 };
	uint64_t length = UINT64_MAX;
	size_t count;

	if (!record || !record->has_whole || record->whole_version != question->before.low)
		return false;
	struct line_key *lines = memory_whole(record, &count);
	if (lines &&
	    line_script_of_keys(lines, count, read->shown->lines, read->shown->count, &script) == 0)
		length = answer_diff_bytes(&read->session->segment, question, &script);
	hooked->place_lines = script.removed + script.added;
	line_script_free(&script);
	free(lines);
	hooked->place_bytes = length;
	*ret_length = length;
	return decision_is_short(length, question->now.size_bytes);
}

static bool deliver_content(void *data)
{
	(void)data;
	return false;
}

static void keep(void *data, uint64_t file_key)
{
	(void)data;
	(void)file_key;
}

static void record_event(void *data, enum journal_op op, uint64_t amount)
{
	(void)data;
	(void)op;
	(void)amount;
}

static const struct tool_read_means MEANS = { .notice = deliver_notice,
					      .diff = deliver_diff,
					      .content = deliver_content,
					      .keep = keep,
					      .record = record_event };

/* What is known of the file's bytes. */
static struct content content_of(const struct judged_read *read, const struct call *call)
{
	struct file *file = read->file;
	const struct shown *shown = read->shown;
	struct content content = { .text = !memchr(call->output, '\0', call->output_bytes) };

	if (shown->whole) {
		file->whole_bytes = shown->bytes;
		file->whole_lines = shown->count;
	}
	if (shown->whole || file->version) {
		content.version = (struct version){ .low = shown->whole ? shown->version
									: file->version,
						    .high = VERSION_OF_LINES,
						    .size_bytes = file->whole_bytes };
		content.lines = file->whole_lines;
		return content;
	}
	content.version = (struct version){ .low = file->generation,
					    .high = VERSION_OF_TIME,
					    .size_bytes = 1 };
	content.lines = call->total_lines ? call->total_lines : UINT32_MAX;
	return content;
}

/* ---- sums ---- */

static void count_answer(const struct hooked *hooked, struct replay_saving *saving)
{
	uint64_t output = hooked->call->output_bytes, place = place_bytes(hooked),
		 tokens = tokens_of_bytes(place);

	saving->answered++;
	saving->bytes += output > place ? output - place : 0;
	saving->tokens += hooked->replay->tokens > tokens ? hooked->replay->tokens - tokens : 0;
}

static void count(const struct hooked *hooked, const struct tool_read *own,
		  enum tool_read_result given)
{
	const struct answer *answer = &own->answer;
	bool is_changed = given == TOOL_READ_DIFF || answer->reason == REASON_CHANGED ||
			  (answer->reason == REASON_ASKED_AGAIN && given == TOOL_READ_CONTENT);
	enum replay_hook hook = is_changed ? (hooked->read->file->is_edited ? REPLAY_HOOK_EDITED
									    : REPLAY_HOOK_CHANGED)
				: own->is_whole ? REPLAY_HOOK_WHOLE
						: REPLAY_HOOK_LINES;
	struct replay_saving *saving = &hooked->replay->sums->hooks[hook];

	/* Lines of a file that is another now are no repeat. */
	if (answer->reason == REASON_NOT_DELIVERED || answer->reason == REASON_NOT_TRACKED ||
	    (is_changed && (!own->is_whole || version_is_none(&answer->delivered))))
		return;
	saving->repeats++;
	if (given == TOOL_READ_NOTICE || given == TOOL_READ_DIFF)
		count_answer(hooked, saving);
	else if (answer->reason == REASON_ASKED_AGAIN)
		saving->given_again++;
	else
		saving->unfit++;
}

/* ---- a read ---- */

static bool prepare(struct session *session, const struct call *call, struct request *ret_request)
{
	struct segment *segment = &session->segment;
	struct context context = context_of();
	char conversation[24];

	if (session->had_sub_agents) {
		(void)scope_new_epoch(segment, agent_scope(session));
		session->had_sub_agents = false;
	}
	segment->replayed_ns = call->time_ns > segment->replayed_ns ? call->time_ns
								    : segment->replayed_ns + 1;
	(void)snprintf(conversation, sizeof(conversation), "%" PRIx64, session->id);
	if (!request_prepare_reported(segment, &context, agent_scope(session), conversation,
				      ret_request))
		return false;
	ret_request->has_texts = true;
	request_init_in_process(segment, ret_request);
	return true;
}

int replay_hooks_read(struct replay *replay, const struct judged_read *read,
		      const struct call *call)
{
	struct session *session = read->session;
	const struct shown *shown = read->shown;
	struct hooked hooked = { .replay = replay, .read = read, .call = call };
	char path[PATH_MAX];

	if (read->scope->id != session->id) {
		replay_hooks_sub_agent(session);
		return 0;
	}
	if (!session->segment.header && make_segment(replay, session) < 0)
		return -ENOMEM;
	struct tool_read own = { .segment = &session->segment,
				 .path = path,
				 .is_whole = shown->whole,
				 .span = { shown->first, shown->first + shown->count - 1 },
				 .bytes = shown->bytes,
				 .means = &MEANS,
				 .data = &hooked };
	own.content = content_of(read, call);
	own.stat = (struct stat){ .st_mode = S_IFREG,
				  .st_dev = 1,
				  .st_size = (off_t)own.content.version.size_bytes };
	if (!path_of(session, call->directory, read->path, path) ||
	    !prepare(session, call, &own.request))
		return 0;
	own.stat.st_ino = path_key(&session->segment, path);
	count(&hooked, &own, tool_read_answer(&own));
	if (shown->whole)
		read->file->is_edited = false;
	return 0;
}
