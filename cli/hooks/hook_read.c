/* What the model is given by an agent's read tool: see hook_read.h. */
#include "cli/hooks/hook_read.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/files/file_lines.h"
#include "cli/hooks/hook_file.h"
#include "cli/hooks/hook_knows.h"
#include "cli/hooks/hook_record.h"
#include "cli/hooks/tool_read.h"
#include "cli/session/file_record.h"
#include "tracker/answer/limits.h"
#include "tracker/answer/other_way.h"
#include "tracker/answer/request.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

struct reading {
	const struct hook_agent *agent;
	const struct hook_input *input;
	struct tool_read own;
	struct hook_file file;
	struct file_lines lines; /* that were asked for */
	json_t *output;          /* that the model is given; NULL: what the tool gave */
};

/* Does the model get a text whole, as far as is known of the agent? */
static bool is_uncut(const struct reading *reading, const char *text, size_t length)
{
	struct context context = *reading->agent->context;
	uint64_t lines = 0, longest = 0, line = 0;

	if (!reading->input->adapter->is_cut)
		return true;
	context.scope_id = reading->agent->scope_id;
	const struct output_limits limits = limits_of_context(reading->agent->segment, &context);
	for (size_t i = 0; i < length; i++) {
		line = text[i] == '\n' ? 0 : line + 1;
		longest = line > longest ? line : longest;
		lines += text[i] == '\n';
	}
	return length <= limits.bytes && lines < limits.lines && longest <= limits.line_bytes;
}

/* A document that gives the model seen's own words.  False: that cannot be. */
static bool words(struct reading *reading, const char *text, size_t length)
{
	if (!is_uncut(reading, text, length))
		return false;
	if (length && text[length - 1] == '\n')
		length--;
	const struct hook_text replaced = { .bytes = text, .length = length };
	reading->output = reading->input->adapter->replace(reading->input, &replaced);
	return reading->output != NULL;
}

static bool deliver_notice(void *data, const char *text, size_t length)
{
	return words(data, text, length);
}

static bool deliver_diff(void *data, const struct diff_question *question, uint64_t *ret_length)
{
	struct reading *reading = data;
	size_t length = 0;
	char *text = hook_file_diff(reading->agent->segment, question, reading->file.fd, &length);
	bool is_given = text && words(reading, text, length);

	free(text);
	*ret_length = length;
	return is_given;
}

static bool deliver_content(void *data)
{
	struct reading *reading = data;
	const struct hook_text text = { reading->lines.bytes, reading->lines.length,
					&reading->lines };

	reading->output = reading->input->adapter->replace(reading->input, &text);
	return reading->output != NULL;
}

static void note_given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

static void keep(void *data, uint64_t file_key)
{
	const struct reading *reading = data;
	const struct hook_file *file = &reading->file;
	struct version kept;

	baseline_given(reading->agent->segment, hook_knows_scope(reading->agent, reading->input),
		       file_key, &file->content.version);
	(void)file_change_known(reading->agent->segment, file_key, note_given, NULL);
	/* What it will be compared with. */
	if (file->content.text)
		(void)contents_save(reading->agent->segment, file->fd, file->path, CONTENTS_GIVEN,
				    &kept);
}

static void record(void *data, enum journal_op op, uint64_t amount)
{
	const struct reading *reading = data;
	const struct hook_file *file = &reading->file;
	const struct file_record event = { .op = op,
					   .path = file->path,
					   .dev = file->stat.st_dev,
					   .ino = file->stat.st_ino,
					   .before = reading->own.answer.delivered,
					   .after = file->content.version,
					   .tid = (uint32_t)getpid(),
					   .amount = amount };

	file_record_write(reading->agent->segment, reading->agent->journal, &event);
}

static const struct tool_read_means MEANS = { .notice = deliver_notice,
					      .diff = deliver_diff,
					      .content = deliver_content,
					      .keep = keep,
					      .record = record };

/* Does the model know another version of the file than it is now? */
static bool is_changed(const struct hook_agent *agent, const struct hook_file *file)
{
	struct version baseline;
	uint64_t key = path_key(agent->segment, file->path);

	return baseline_of(agent->segment, agent->scope_id, key, &baseline) &&
	       !version_equal(&baseline, &file->content.version);
}

/* Is the file as it was while the tool ran?  That takes no second. */
static bool is_older_than_call(const struct hook_file *file)
{
	uint64_t changed_ns = (uint64_t)file->stat.st_ctim.tv_sec * 1000000000 +
			      (uint64_t)file->stat.st_ctim.tv_nsec;
	return changed_ns + 1000000000 < sys_realtime_ns();
}

/* A part was read, or what is not known byte for byte: the agent may edit the file again, as by its
 * own rules.  Else an edit would be refused for ever. */
static void note_read(const struct hook_agent *agent, const struct hook_input *input,
		      const struct hook_file *file, enum hook_shown shown)
{
	const struct version *version = &file->content.version;

	if (shown != HOOK_SHOWN_SOMETHING || is_older_than_call(file))
		(void)hook_file_known(agent->segment, hook_knows_scope(agent, input), file,
				      version);
	other_way_note(agent->segment, agent->scope_id, path_key(agent->segment, file->path),
		       version);
}

/* The lines that were asked for. */
static bool find_asked(struct reading *reading)
{
	uint64_t first, count;

	hook_input_lines(reading->input, &first, &count);
	return file_lines_find(reading->file.bytes, reading->file.length, first, count,
			       &reading->lines);
}

static void answer(struct reading *reading, enum hook_shown shown)
{
	const struct hook_file *file = &reading->file;
	struct tool_read *own = &reading->own;

	own->segment = reading->agent->segment;
	own->path = file->path;
	own->stat = file->stat;
	own->content = file->content;
	own->is_whole = reading->lines.is_whole;
	own->span = reading->lines.span;
	own->bytes = own->is_whole ? file->length : reading->lines.length;
	own->means = &MEANS;
	own->data = reading;
	own->is_changed = is_changed(reading->agent, file);
	enum tool_read_result result = shown == HOOK_SHOWN_LINES ? tool_read_answer(own)
								 : tool_read_unchanged(own);
	/* What a diff leads to stands in no result whole. */
	if (result == TOOL_READ_CONTENT || result == TOOL_READ_AGAIN || result == TOOL_READ_DIFF)
		hook_record_given(reading->agent, reading->input, file->path,
				  &file->content.version,
				  own->is_whole && result != TOOL_READ_DIFF);
}

static void answer_shown(struct reading *reading, enum hook_shown shown)
{
	const struct hook_agent *agent = reading->agent;
	const struct hook_input *input = reading->input;
	struct request *request = &reading->own.request;

	const char *output = json_string_value(input->tool_output);
	if (shown == HOOK_SHOWN_LINES && output &&
	    !is_uncut(reading, output, json_string_length(input->tool_output)))
		shown = HOOK_SHOWN_SOMETHING;
	bool is_known = shown == HOOK_SHOWN_UNCHANGED ? find_asked(reading)
						      : shown == HOOK_SHOWN_LINES;
	if (is_known && reading->lines.span.first &&
	    !input->adapter->may_differ(input, agent->context->anchor_pid) &&
	    request_prepare_reported(agent->segment, agent->context, agent->scope_id,
				     input->conversation, request)) {
		request->is_turn_reported = input->adapter->reports_conversations;
		request_init_in_process(agent->segment, request);
		answer(reading, shown);
	}
	if (shown != HOOK_SHOWN_NOTHING)
		note_read(agent, input, &reading->file, shown);
}

json_t *hook_answer_read(const struct hook_agent *agent, const struct hook_input *input)
{
	static struct reading reading;
	struct hook_file *file = &reading.file;

	if (!input->known_tool || input->known_tool->kind != HOOK_TOOL_READ ||
	    !input->adapter->shown || !input->adapter->replace || !input->tool_output)
		return NULL;
	reading = (struct reading){ .agent = agent, .input = input };
	if (hook_file_open(agent->segment, input->path, file) &&
	    hook_file_read(agent->segment, file))
		answer_shown(&reading, input->adapter->shown(input, file->bytes, file->length,
							     &reading.lines));
	hook_file_close(file);
	return reading.output;
}
