/* Answers to hooks: see hook_answer.h. */
#include "cli/files/hook_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/agents/hook_rivals.h"
#include "cli/files/answer_diff.h"
#include "cli/files/file_lines.h"
#include "cli/session/file_record.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/decision_delivery.h"
#include "tracker/answer/request.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/guard/guard.h"
#include "tracker/process/scope.h"
#include "tracker/process/source.h"
#include "tracker/process/subject.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

/* A file of the workspace that a tool is about. */
struct opened_file {
	int fd;
	char path[SEGMENT_PATH_BYTES]; /* as the kernel knows it */
	struct stat stat;
	char *bytes;
	size_t length;
	struct content content; /* of these bytes */
};

static void close_file(struct opened_file *file)
{
	free(file->bytes);
	if (file->fd >= 0)
		(void)close(file->fd);
}

/* Returns false where it is none; close_file() in any case. */
static bool open_file(const struct segment *segment, const char *name, struct opened_file *ret_file)
{
	struct opened_file *file = ret_file;
	struct stat before;

	*file = (struct opened_file){ .fd = -1 };
	/* No device or FIFO is opened. */
	if (!name || name[0] != '/' || stat(name, &before) < 0 || !S_ISREG(before.st_mode))
		return false;
	file->fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return file->fd >= 0 && fstat(file->fd, &file->stat) == 0 && S_ISREG(file->stat.st_mode) &&
	       subject_link(SUBJECT_SELF, file->fd, file->path, sizeof(file->path)) > 0 &&
	       path_in_workspace(segment, file->path) && path_is_tracked(segment, file->path);
}

/* Reads it whole.  False: too large, or it changes. */
static bool read_file(const struct segment *segment, struct opened_file *file)
{
	size_t size = (size_t)file->stat.st_size;
	ssize_t got = 1;

	if (size > segment->settings->content_max_file_bytes)
		return false;
	file->bytes = malloc(size + 1);
	while (file->bytes && file->length <= size && got > 0) {
		got = pread(file->fd, file->bytes + file->length, size + 1 - file->length,
			    (off_t)file->length);
		file->length += got > 0 ? (size_t)got : 0;
	}
	if (!file->bytes || got < 0 || file->length != size ||
	    content_of_descriptor(file->fd, size, &file->content) < 0)
		return false;
	struct version version = version_of_bytes(file->bytes, size);
	return version_equal(&version, &file->content.version);
}

/* ---- what the model is given ---- */

struct reading {
	const struct hook_agent *agent;
	const json_t *response;
	struct request request;
	struct opened_file file;
	struct file_lines lines; /* that were asked for */
	struct answer answer;
};

/* A tool's output in the form of Claude Code's Read; NULL: no UTF-8. */
static json_t *output_of(const struct reading *reading, const char *bytes, size_t length,
			 uint64_t first, uint64_t total)
{
	const json_t *file = json_object_get(reading->response, "file");
	const char *path = json_string_value(json_object_get(file, "filePath"));

	return json_pack("{s:s, s:{s:s, s:s%, s:I, s:I, s:I}}", "type", "text", "file", "filePath",
			 path ? path : reading->file.path, "content", bytes, length, "numLines",
			 (json_int_t)file_lines_count(bytes, length), "startLine",
			 (json_int_t)first, "totalLines", (json_int_t)total);
}

static json_t *output_of_text(const struct reading *reading, const char *text, size_t length)
{
	if (length && text[length - 1] == '\n')
		length--;
	return output_of(reading, text, length, 1, file_lines_count(text, length));
}

static void record(const struct reading *reading, enum journal_op op, uint64_t amount)
{
	const struct opened_file *file = &reading->file;
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
	const struct opened_file *file = &reading->file;
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

/* A diff, whole, from memory.  The caller frees it; NULL: there is none. */
static char *diff_of(const struct segment *segment, const struct diff_question *question, int fd,
		     size_t *ret_length)
{
	int memory = memfd_create("seen-diff", MFD_CLOEXEC);
	char *text = NULL;
	struct stat stat;

	if (memory >= 0 && answer_diff(segment, question, fd, memory) == DIFF_MADE &&
	    fstat(memory, &stat) == 0)
		text = malloc((size_t)stat.st_size + 1);
	if (text && pread(memory, text, (size_t)stat.st_size, 0) != stat.st_size) {
		free(text);
		text = NULL;
	}
	if (text) {
		*ret_length = (size_t)stat.st_size;
		text[*ret_length] = '\0';
	}
	if (memory >= 0)
		(void)close(memory);
	return text;
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
	char *text = diff_of(segment, &question, reading->file.fd, &length);
	json_t *output = text ? output_of_text(reading, text, length) : NULL;

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
	const struct opened_file *file = &reading->file;

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
		output = output_of_text(reading, answer->notice, answer->notice_bytes);
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
	if (reading->answer.decision == DECISION_GIVEN_AGAIN)
		output = output_of(reading, reading->lines.bytes, reading->lines.length,
				   reading->lines.first, reading->lines.total);
	if (output)
		deliver_content(reading);
	return output;
}

/* A part was read, or what is not known byte for byte: the agent may edit the file again, as by its
 * own rules.  Else an edit would be refused for ever. */
static void note_read(const struct hook_agent *agent, const struct opened_file *file)
{
	struct version baseline;
	uint64_t key = path_key(agent->segment, file->path);

	if (baseline_of(agent->segment, agent->scope_id, key, &baseline) &&
	    !version_equal(&baseline, &file->content.version))
		baseline_given(agent->segment, agent->scope_id, key, &file->content.version);
}

/* Lines `offset` and so many as `limit` says; NULL: all. */
static bool asked_lines(const struct hook_input *input, struct reading *reading)
{
	const json_t *offset = json_object_get(input->tool_input, "offset");
	const json_t *limit = json_object_get(input->tool_input, "limit");
	uint64_t first = json_is_integer(offset) && json_integer_value(offset) > 0
				 ? (uint64_t)json_integer_value(offset)
				 : 1;
	uint64_t count = json_is_integer(limit) && json_integer_value(limit) > 0
				 ? (uint64_t)json_integer_value(limit)
				 : UINT64_MAX;

	return file_lines_find(reading->file.bytes, reading->file.length, first, count,
			       &reading->lines);
}

/* Is that what the tool gave: these lines of the file as it is, byte for byte? */
static bool is_given(const json_t *response, struct reading *reading)
{
	const json_t *file = json_object_get(response, "file");
	const json_t *content = json_object_get(file, "content");
	json_int_t first = json_integer_value(json_object_get(file, "startLine"));
	json_int_t count = json_integer_value(json_object_get(file, "numLines"));
	json_int_t total = json_integer_value(json_object_get(file, "totalLines"));
	struct file_lines *lines = &reading->lines;

	return json_is_string(content) && first > 0 && count > 0 &&
	       file_lines_find(reading->file.bytes, reading->file.length, (uint64_t)first,
			       (uint64_t)count, lines) &&
	       lines->count == (uint64_t)count && lines->total == (uint64_t)total &&
	       lines->length == json_string_length(content) &&
	       memcmp(lines->bytes, json_string_value(content), lines->length) == 0;
}

static json_t *answer_read(struct reading *reading, const struct hook_input *input)
{
	const struct hook_agent *agent = reading->agent;
	const char *type = json_string_value(json_object_get(input->tool_response, "type"));
	const char *directory = json_string_value(json_object_get(input->document, "cwd"));
	bool is_text = strcmp(type, "text") == 0;
	json_t *output = NULL;

	bool is_known = is_text ? is_given(input->tool_response, reading)
				: asked_lines(input, reading);
	if (is_known && reading->lines.span.first &&
	    !hook_rivals_are(input->tool, directory, agent->context->anchor_pid) &&
	    request_prepare_reported(agent->segment, agent->context, agent->scope_id,
				     input->conversation, &reading->request)) {
		request_init_in_process(agent->segment, &reading->request);
		output = is_text ? answer_content(reading) : answer_unchanged(reading);
	}
	if (is_text)
		note_read(agent, &reading->file);
	return output;
}

json_t *hook_answer_read(const struct hook_agent *agent, const struct hook_input *input)
{
	static struct reading reading;
	const char *type = json_string_value(json_object_get(input->tool_response, "type"));
	json_t *output = NULL;

	if (!input->tool || strcmp(input->tool, "Read") != 0 || !type ||
	    (strcmp(type, "text") != 0 && strcmp(type, "file_unchanged") != 0))
		return NULL;
	reading = (struct reading){ .agent = agent, .response = input->tool_response };
	if (open_file(agent->segment, input->file, &reading.file) &&
	    read_file(agent->segment, &reading.file))
		output = answer_read(&reading, input);
	close_file(&reading.file);
	return output;
}

/* ---- writes ---- */

static bool kind_of(const char *tool, enum guard_kind *ret_kind)
{
	static const struct {
		const char *tool;
		enum guard_kind kind;
	} TOOLS[] = {
		{ "Edit", GUARD_WRITES },
		{ "MultiEdit", GUARD_WRITES },
		{ "NotebookEdit", GUARD_WRITES },
		{ "Write", GUARD_REPLACES },
	};

	for (size_t i = 0; tool && i < sizeof(TOOLS) / sizeof(TOOLS[0]); i++)
		if (strcmp(tool, TOOLS[i].tool) == 0) {
			*ret_kind = TOOLS[i].kind;
			return true;
		}
	return false;
}

/* A refusal goes on record as the guard's own do. */
static void record_refused(const struct hook_agent *agent, const struct opened_file *file,
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

static char *words_of_stale(const struct hook_agent *agent, const struct opened_file *file,
			    const struct guard_answer *answer, const char *name)
{
	enum { DIFF_BYTES_MAX = 4096 };
	const struct diff_question question = {
		.before = answer->baseline, .now = answer->before, .path = name, .is_bare = true
	};
	size_t length = 0;
	char *text = NULL;
	char *diff = diff_of(agent->segment, &question, file->fd, &length);
	bool shows = diff && length <= DIFF_BYTES_MAX;

	if (asprintf(&text,
		     "%s was modified since you last read it. Please read the file again.%s%s",
		     name, shows ? "\n" : "", shows ? diff : "") < 0)
		text = NULL;
	free(diff);
	return text;
}

static char *refusal(const struct hook_agent *agent, const struct hook_input *input,
		     const struct opened_file *file, enum guard_kind kind)
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
	if (answer.reason == GUARD_STALE &&
	    settings->guard_stale_write != GUARD_STALE_WRITE_ALLOW) {
		text = words_of_stale(agent, file, &answer, input->file);
	} else if (answer.reason == GUARD_UNREAD &&
		   settings->guard_read_before_write == GUARD_READ_BEFORE_WRITE_DENY) {
		if (asprintf(&text, "%s has not been read yet. Please read the file first.",
			     input->file) < 0)
			text = NULL;
	}
	if (text)
		record_refused(agent, file, &answer);
	return text;
}

char *hook_answer_write(const struct hook_agent *agent, const struct hook_input *input)
{
	struct opened_file file = { .fd = -1 };
	enum guard_kind kind;
	char *text = NULL;

	if (!kind_of(input->tool, &kind))
		return NULL;
	if (open_file(agent->segment, input->file, &file))
		text = refusal(agent, input, &file, kind);
	close_file(&file);
	return text;
}
