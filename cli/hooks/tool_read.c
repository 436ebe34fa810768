/* What the model is given for an own read: see tool_read.h. */
#include "cli/hooks/tool_read.h"

#include "tracker/answer/decision_delivery.h"
#include "tracker/content/baseline.h"
#include "tracker/sys/sys.h"

static void decide(struct tool_read *read)
{
	decision_reported(read->segment, &read->request, read->path, &read->stat, &read->content,
			  read->is_whole ? NULL : &read->span, read->bytes, &read->answer);
}

/* The model is given the file, or what leads to it.  answer: NULL: the file, whatever was
 * decided. */
static void deliver(struct tool_read *read, const struct answer *answer)
{
	const struct segment *segment = read->segment;
	struct stamp stamp = stamp_of(&read->stat);
	struct delivered delivered;
	struct pending pending;

	if (decision_pend(segment, &read->request, read->path, &read->stat, answer, &pending) < 0)
		return;
	baseline_add_name(segment, read->path);
	if (read->is_whole) {
		decision_deliver(segment, &read->request, &pending, &stamp, &read->content.version,
				 &delivered);
		if (delivered.is_given)
			read->means->keep(read->data, pending.file_key);
	} else {
		decision_give_lines(segment, &read->request, &pending, &stamp, &read->content,
				    &read->span, 1);
	}
}

static bool deliver_diff(struct tool_read *read)
{
	const struct answer *answer = &read->answer;
	uint64_t age_ns = sys_boottime_ns() - answer->given.time_ns, length = 0;
	const struct diff_question question = { .before = answer->delivered,
						.now = answer->content.version,
						.given_realtime_ns = sys_realtime_ns() - age_ns,
						.path = read->path };

	if (!read->means->diff(read->data, &question, &length))
		return false;
	decision_diffed(read->segment, &read->request, answer, length);
	deliver(read, answer);
	read->means->record(read->data, JOURNAL_DIFFED, read->bytes - length);
	request_count_in_process(read->segment, &read->request, length);
	return true;
}

static bool deliver_notice(struct tool_read *read)
{
	const struct answer *answer = &read->answer;

	if (!read->means->notice(read->data, answer->notice, answer->notice_bytes)) {
		decision_undo(read->segment, &read->request, answer);
		read->answer.decision = DECISION_CONTENT;
		return false;
	}
	read->means->record(read->data, JOURNAL_NOTICE, answer->saved_bytes);
	request_count_in_process(read->segment, &read->request, answer->notice_bytes);
	return true;
}

/* The real bytes, as they were asked for. */
static enum tool_read_result deliver_content(struct tool_read *read)
{
	bool again = read->answer.decision == DECISION_GIVEN_AGAIN;

	deliver(read, again ? &read->answer : NULL);
	if (again)
		read->means->record(read->data, JOURNAL_YIELDED, 0);
	else if (read->is_whole)
		read->means->record(read->data, JOURNAL_GIVEN, read->bytes);
	request_count_in_process(read->segment, &read->request, read->bytes);
	return again ? TOOL_READ_AGAIN : TOOL_READ_CONTENT;
}

enum tool_read_result tool_read_answer(struct tool_read *read)
{
	decide(read);
	if (read->answer.decision == DECISION_NOTICE && deliver_notice(read))
		return TOOL_READ_NOTICE;
	if (read->answer.decision == DECISION_DIFF && deliver_diff(read))
		return TOOL_READ_DIFF;
	return deliver_content(read);
}

enum tool_read_result tool_read_unchanged(struct tool_read *read)
{
	decide(read);
	bool is_gone = read->answer.decision != DECISION_NOTICE &&
		       decision_is_past(read->segment, &read->request, read->answer.path_key);
	if (read->answer.decision == DECISION_NOTICE)
		decision_undo(read->segment, &read->request, &read->answer);
	if (read->is_changed && read->answer.decision == DECISION_DIFF && deliver_diff(read))
		return TOOL_READ_DIFF;
	bool errs = read->is_changed || is_gone || read->answer.decision == DECISION_GIVEN_AGAIN;
	if (!errs || !read->means->content(read->data))
		return TOOL_READ_UNKNOWN;
	return deliver_content(read);
}
