/* What the model is given by an agent's read tool: see hook_read.h. */
#include "cli/hooks/hook_read.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/files/answer_diff.h"
#include "cli/files/file_lines.h"
#include "cli/hooks/hook_file.h"
#include "cli/session/file_record.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/decision_delivery.h"
#include "tracker/answer/request.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

struct reading {
	const struct hook_agent *agent;
	const struct hook_input *input;
	struct request request;
	struct hook_file file;
	struct file_lines lines; /* that were asked for */
	struct answer answer;
};

/* A document that gives the model seen's own words. */
static json_t *words(const struct reading *reading, const char *text, size_t length)
{
	if (length && text[length - 1] == '\n')
		length--;
	const struct hook_text replaced = { .bytes = text, .length = length };
	return reading->input->adapter->replace(reading->input, &replaced);
}

static void record(const struct reading *reading, enum journal_op op, uint64_t amount)
{
	const struct hook_file *file = &reading->file;
	const struct file_record event = { .op = op,
					   .path = file->path,
					   .dev = file->stat.st_dev,
					   .ino = file->stat.st_ino,
					   .before = reading->answer.delivered,
					   .after = file->content.version,
					   .tid = (uint32_t)getpid(),
					   .amount = amount };

	file_record_write(reading->agent->segment, reading->agent->journal, &event);
}

static void note_given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

/* The model is given the file, or what leads to it.  answer: NULL: the file, whatever was
 * decided. */
static void deliver(const struct reading *reading, const struct answer *answer)
{
	const struct segment *segment = reading->agent->segment;
	const struct hook_file *file = &reading->file;
	struct stamp stamp = stamp_of(&file->stat);
	struct delivered delivered;
	struct pending pending;
	struct version kept;

	if (decision_pend(segment, &reading->request, file->path, &file->stat, answer, &pending) <
	    0)
		return;
	baseline_add_name(segment, file->path);
	if (reading->lines.is_whole) {
		decision_deliver(segment, &reading->request, &pending, &stamp,
				 &file->content.version, &delivered);
		if (!delivered.is_given)
			return;
		baseline_given(segment, reading->agent->scope_id, pending.file_key,
			       &file->content.version);
		(void)file_change_known(segment, pending.file_key, note_given, NULL);
		/* What it will be compared with. */
		if (file->content.text)
			(void)contents_save(segment, file->fd, file->path, CONTENTS_GIVEN, &kept);
	} else {
		decision_give_lines(segment, &reading->request, &pending, &stamp, &file->content,
				    &reading->lines.span, 1);
	}
}

static json_t *answer_diff_of(struct reading *reading)
{
	const struct segment *segment = reading->agent->segment;
	const struct answer *answer = &reading->answer;
	uint64_t age_ns = sys_boottime_ns() - answer->given.time_ns;
	const struct diff_question question = { .before = answer->delivered,
						.now = answer->content.version,
						.given_realtime_ns = sys_realtime_ns() - age_ns,
						.path = reading->file.path };
	size_t length = 0;
	char *text = hook_file_diff(segment, &question, reading->file.fd, &length);
	json_t *output = text ? words(reading, text, length) : NULL;

	free(text);
	if (!output)
		return NULL;
	uint64_t saved = reading->file.length - length;
	decision_diffed(segment, &reading->request, answer, length);
	deliver(reading, answer);
	record(reading, JOURNAL_DIFFED, saved);
	request_count_in_process(segment, &reading->request, length);
	return output;
}

/* The real bytes, as they were asked for. */
static void deliver_content(struct reading *reading)
{
	bool again = reading->answer.decision == DECISION_GIVEN_AGAIN;

	deliver(reading, again ? &reading->answer : NULL);
	if (again)
		record(reading, JOURNAL_YIELDED, 0);
	else if (reading->lines.is_whole)
		record(reading, JOURNAL_GIVEN, reading->file.length);
	request_count_in_process(reading->agent->segment, &reading->request, reading->lines.length);
}

static void decide(struct reading *reading)
{
	const struct segment *segment = reading->agent->segment;
	const struct hook_file *file = &reading->file;

	if (reading->lines.is_whole)
		decision_open(segment, &reading->request, file->path, file->path, file->fd,
			      &file->stat, &reading->answer);
	else
		decision_lines(segment, &reading->request, file->path, file->fd, &file->stat,
			       &reading->lines.span, reading->lines.length, &reading->answer);
}

static json_t *answer_content(struct reading *reading)
{
	json_t *output = NULL;

	decide(reading);
	if (reading->answer.decision == DECISION_NOTICE) {
		const struct answer *answer = &reading->answer;
		output = words(reading, answer->notice, answer->notice_bytes);
		if (output) {
			record(reading, JOURNAL_NOTICE, answer->saved_bytes);
			request_count_in_process(reading->agent->segment, &reading->request,
						 answer->notice_bytes);
			return output;
		}
		decision_undo(reading->agent->segment, &reading->request, answer);
		reading->answer.decision = DECISION_CONTENT;
	} else if (reading->answer.decision == DECISION_DIFF) {
		output = answer_diff_of(reading);
	}
	if (!output)
		deliver_content(reading);
	return output;
}

/* The agent gave a notice of its own.  One that asks again, after an answer of ours, gets the
 * content. */
static json_t *answer_unchanged(struct reading *reading)
{
	json_t *output = NULL;

	decide(reading);
	if (reading->answer.decision == DECISION_NOTICE)
		decision_undo(reading->agent->segment, &reading->request, &reading->answer);
	const struct hook_text text = { reading->lines.bytes, reading->lines.length,
					&reading->lines };
	if (reading->answer.decision == DECISION_GIVEN_AGAIN)
		output = reading->input->adapter->replace(reading->input, &text);
	if (output)
		deliver_content(reading);
	return output;
}

/* A part was read, or what is not known byte for byte: the agent may edit the file again, as by its
 * own rules.  Else an edit would be refused for ever. */
static void note_read(const struct hook_agent *agent, const struct hook_file *file)
{
	struct version baseline;
	uint64_t key = path_key(agent->segment, file->path);

	if (baseline_of(agent->segment, agent->scope_id, key, &baseline) &&
	    !version_equal(&baseline, &file->content.version))
		baseline_given(agent->segment, agent->scope_id, key, &file->content.version);
}

/* The lines that were asked for. */
static bool find_asked(struct reading *reading)
{
	uint64_t first, count;

	hook_input_lines(reading->input, &first, &count);
	return file_lines_find(reading->file.bytes, reading->file.length, first, count,
			       &reading->lines);
}

static json_t *answer_shown(struct reading *reading, enum hook_shown shown)
{
	const struct hook_agent *agent = reading->agent;
	const struct hook_input *input = reading->input;
	json_t *output = NULL;

	bool is_known = shown == HOOK_SHOWN_UNCHANGED ? find_asked(reading)
						      : shown == HOOK_SHOWN_LINES;
	if (is_known && reading->lines.span.first &&
	    !input->adapter->may_differ(input, agent->context->anchor_pid) &&
	    request_prepare_reported(agent->segment, agent->context, agent->scope_id,
				     input->conversation, &reading->request)) {
		request_init_in_process(agent->segment, &reading->request);
		output = shown == HOOK_SHOWN_LINES ? answer_content(reading)
						   : answer_unchanged(reading);
	}
	if (shown == HOOK_SHOWN_LINES || shown == HOOK_SHOWN_SOMETHING)
		note_read(agent, &reading->file);
	return output;
}

json_t *hook_answer_read(const struct hook_agent *agent, const struct hook_input *input)
{
	static struct reading reading;
	struct hook_file *file = &reading.file;
	json_t *output = NULL;

	if (!input->known_tool || input->known_tool->kind != HOOK_TOOL_READ ||
	    !input->adapter->shown || !input->adapter->replace || !input->tool_output)
		return NULL;
	reading = (struct reading){ .agent = agent, .input = input };
	if (hook_file_open(agent->segment, input->path, file) &&
	    hook_file_read(agent->segment, file))
		output = answer_shown(
			&reading,
			input->adapter->shown(input, file->bytes, file->length, &reading.lines));
	hook_file_close(file);
	return output;
}
