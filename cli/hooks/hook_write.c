/* Edits and writes: see hook_write.h. */
#include "cli/hooks/hook_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/files/answer_diff.h"
#include "cli/hooks/hook_file.h"
#include "cli/hooks/hook_knows.h"
#include "cli/hooks/patched_files.h"
#include "cli/session/file_record.h"
#include "tracker/guard/guard.h"
#include "tracker/process/scope.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"

/* A refusal goes on record as the guard's own do. */
static void record_refusal(const struct hook_agent *agent, const struct hook_file *file,
			   const struct guard_answer *answer)
{
	const struct file_record event = { .op = JOURNAL_GUARDED,
					   .path = file->path,
					   .dev = file->stat.st_dev,
					   .ino = file->stat.st_ino,
					   .before = answer->before,
					   .after = answer->baseline,
					   .source = (enum source)GUARD_DENY,
					   .reason = (uint8_t)answer->reason,
					   .flags = JOURNAL_GUARDED_REPORTED,
					   .tid = (uint32_t)getpid() };

	file_record_write(agent->segment, agent->journal, &event);
	segment_count(agent->segment,
		      answer->reason == GUARD_STALE ? COUNTER_stale_denied : COUNTER_unread_denied,
		      1);
}

static char *words_of_stale(const struct hook_agent *agent, const struct hook_file *file,
			    const struct guard_answer *answer, const char *name)
{
	enum { DIFF_BYTES_MAX = 4096 };
	const struct diff_question question = {
		.before = answer->baseline, .now = answer->before, .path = name, .is_bare = true
	};
	size_t length = 0;
	char *text = NULL;
	char *diff = hook_file_diff(agent->segment, &question, file->fd, &length);
	bool shows = diff && length <= DIFF_BYTES_MAX;

	if (asprintf(&text,
		     "%s was modified since you last read it. Please read the file again.%s%s",
		     name, shows ? "\n" : "", shows ? diff : "") < 0)
		text = NULL;
	free(diff);
	return text;
}

static json_t *refusal(const struct hook_agent *agent, const struct hook_input *input,
		       const struct hook_file *file, enum guard_kind kind)
{
	const struct settings *settings = agent->segment->settings;
	struct context context = *agent->context;
	struct guard_answer answer;
	char *text = NULL;

	context.flags |= CONTEXT_AGENT;
	const struct guard_writer writer = { .scope_id = agent->scope_id,
					     .serial = context.agent_serial,
					     .context = &context,
					     .role = ROLE_AGENT };
	if (settings->session_mode == SESSION_MODE_OBSERVE ||
	    !guard_concerns(agent->segment, &writer, file->path))
		return NULL;
	guard_judge(agent->segment, &writer, file->path, file->fd, kind, &answer);
	/* The user may have refused the write before this one, which is reported to no hook. */
	if (hook_knows_take_back(agent, answer.file_key))
		guard_judge(agent->segment, &writer, file->path, file->fd, kind, &answer);
	if ((answer.reason == GUARD_STALE || answer.reason == GUARD_UNREAD) &&
	    hook_knows_alone(agent, input, answer.file_key, &answer.before)) {
		hook_knows_lend(agent, answer.file_key, &answer.before);
		return NULL;
	}
	if (answer.reason == GUARD_STALE &&
	    settings->guard_stale_write != GUARD_STALE_WRITE_ALLOW) {
		text = words_of_stale(agent, file, &answer, input->file);
	} else if (answer.reason == GUARD_UNREAD &&
		   settings->guard_read_before_write == GUARD_READ_BEFORE_WRITE_DENY) {
		if (asprintf(&text, "%s has not been read yet. Please read the file first.",
			     input->file) < 0)
			text = NULL;
	}
	json_t *document = text ? input->adapter->refuse(input, text) : NULL;
	if (document)
		record_refusal(agent, file, &answer);
	free(text);
	return document;
}

static json_t *add_unchanged(const struct hook_input *input)
{
	char *text = NULL;

	if (asprintf(&text, "[%s already held this content.]", input->file) < 0)
		return NULL;
	json_t *document = input->adapter->add(input, text);
	free(text);
	return document;
}

/* Would the file hold what it holds?  It is asked before the tool runs: afterwards that is not
 * known. */
static json_t *unchanged(const struct hook_agent *agent, const struct hook_input *input,
			 struct hook_file *file)
{
	const char *member = input->known_tool->content;
	const json_t *content = member ? json_object_get(input->tool_input, member) : NULL;

	if (!json_is_string(content) || !input->adapter->add ||
	    json_string_length(content) != (size_t)file->stat.st_size ||
	    !hook_file_read(agent->segment, file) || file->length != json_string_length(content) ||
	    memcmp(file->bytes, json_string_value(content), file->length) != 0)
		return NULL;
	return add_unchanged(input);
}

/* One file.  input: with that file. */
static json_t *answer_file(const struct hook_agent *agent, const struct hook_input *input,
			   enum hook_tool_kind kind)
{
	struct hook_file file = { .fd = -1 };
	json_t *answer = NULL;

	if (hook_file_open(agent->segment, input->path, &file)) {
		answer = refusal(agent, input, &file,
				 kind == HOOK_TOOL_WRITE ? GUARD_REPLACES : GUARD_WRITES);
		if (!answer)
			answer = unchanged(agent, input, &file);
	}
	hook_file_close(&file);
	return answer;
}

json_t *hook_answer_write(const struct hook_agent *agent, const struct hook_input *input)
{
	const struct hook_tool *tool = input->known_tool;
	struct hook_input one = *input;
	struct patched_file patched;
	json_t *answer = NULL;

	if (!tool || (tool->kind != HOOK_TOOL_EDIT && tool->kind != HOOK_TOOL_WRITE) ||
	    !input->adapter->refuse)
		return NULL;
	if (!tool->patch)
		return answer_file(agent, input, tool->kind);
	const char *patch = json_string_value(json_object_get(input->tool_input, tool->patch));
	for (size_t i = 0; !answer && patch && patched_files_at(patch, i, &patched); i++) {
		hook_input_set_file(&one, patched.name);
		answer = answer_file(agent, &one, patched.kind);
	}
	/* An adapter's document borrows nothing of its input. */
	return answer; /* cppcheck-suppress returnDanglingLifetime */
}

/* One file.  Of one that is on record by another name, the next write takes it back. */
static void note_file(const struct hook_agent *agent, const struct hook_input *input)
{
	struct hook_file file = { .fd = -1 };

	if (hook_file_open(agent->segment, input->path, &file))
		(void)hook_knows_take_back(agent, path_key(agent->segment, file.path));
	hook_file_close(&file);
}

void hook_note_written(const struct hook_agent *agent, const struct hook_input *input)
{
	const struct hook_tool *tool = input->known_tool;
	struct hook_input one = *input;
	struct patched_file patched;

	if (!tool || (tool->kind != HOOK_TOOL_EDIT && tool->kind != HOOK_TOOL_WRITE))
		return;
	if (!tool->patch) {
		note_file(agent, input);
		return;
	}
	const char *patch = json_string_value(json_object_get(input->tool_input, tool->patch));
	for (size_t i = 0; patch && patched_files_at(patch, i, &patched); i++) {
		hook_input_set_file(&one, patched.name);
		note_file(agent, &one);
	}
}

json_t *hook_answer_written(const struct hook_input *input)
{
	const struct hook_tool *tool = input->known_tool;
	const struct hook_adapter *adapter = input->adapter;

	if (!tool || (tool->kind != HOOK_TOOL_EDIT && tool->kind != HOOK_TOOL_WRITE) ||
	    !input->file || !adapter->add || !adapter->is_unchanged ||
	    !adapter->is_unchanged(input))
		return NULL;
	return add_unchanged(input);
}
