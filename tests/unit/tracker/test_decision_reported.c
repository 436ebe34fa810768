/* decision.h: reads that an agent's hook reports: what its conversation was given, of the lines too, and what its agent forgot. */
#include "decision_case.h"
#include "tracker/answer/line_range.h"
#include "tracker/answer/other_way.h"
#include "tracker/segment/workspace.h"

TestSuite(decision_reported, .init = start, .fini = stop);

enum { LINES = 103 }; /* of 4096 bytes */

static struct request reported_of(const char *conversation)
{
	const struct context context = { .flags = CONTEXT_ATTACHED,
					 .anchor_pid = (uint32_t)getpid(),
					 .profile = world.profile };
	struct request request;

	cr_assert(
		request_prepare_reported(&world.segment, &context, scope, conversation, &request));
	cr_assert_neq(request.context.scope_id, scope);
	return request;
}

struct reported {
	struct stat stat;
	struct content content;
	struct answer answer;
	struct pending pending;
};

/* One read by the tool: of these lines; NULL: of all.  Returns what is answered. */
static enum decision read_span(struct request *request, const char *name, const struct span *span,
			       uint64_t bytes, struct reported *ret_read)
{
	const char *path = world_path(&world, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && fstat(fd, &ret_read->stat) == 0 &&
	     content_of_descriptor(fd, UINT64_MAX, &ret_read->content) == 0 && close(fd) == 0);
	request_init_in_process(&world.segment, request);
	decision_reported(&world.segment, request, path, &ret_read->stat, &ret_read->content, span,
			  bytes, &ret_read->answer);
	must(decision_pend(&world.segment, request, path, &ret_read->stat, &ret_read->answer,
			   &ret_read->pending) == 0);
	return ret_read->answer.decision;
}

/* The hook behind the tool reports that it gave them. */
static void deliver_span(struct request *request, const struct reported *read,
			 const struct span *span)
{
	const struct stamp stamp = stamp_of(&read->stat);
	struct delivered delivered;

	if (span)
		decision_give_lines(&world.segment, request, &read->pending, &stamp, &read->content,
				    span, 1);
	else
		decision_deliver(&world.segment, request, &read->pending, &stamp,
				 &read->content.version, &delivered);
}

static enum reason read_and_deliver(struct request *request, const char *name,
				    const struct span *span)
{
	struct reported read;

	if (read_span(request, name, span, 2000, &read) != DECISION_NOTICE)
		deliver_span(request, &read, span);
	return read.answer.reason;
}

Test(decision_reported, lines)
{
	const struct span FIRST = { 1, 50 }, LAST = { 51, LINES }, MIDDLE = { 40, 60 };
	struct request request = reported_of("one");
	struct reported read;

	world.settings->notice_insist_requests = 0; /* other lines are not asked for again */
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_NOT_DELIVERED);
	cr_expect_eq(read_span(&request, "f", &FIRST, 2000, &read), DECISION_NOTICE);
	cr_expect_not_null(strstr(read.answer.notice, "[Lines 1-50 previously read: "));
	cr_expect_eq(read.answer.saved_bytes, 2000 - read.answer.notice_bytes);
	/* lines that were not given, and the whole file */
	cr_expect_eq(read_span(&request, "f", &MIDDLE, 2000, &read), DECISION_CONTENT);
	cr_expect_eq(read_span(&request, "f", NULL, 0, &read), DECISION_CONTENT);
	cr_expect_eq(read_and_deliver(&request, "f", &LAST), REASON_NOT_DELIVERED);
	cr_expect_eq(read_span(&request, "f", &MIDDLE, 2000, &read), DECISION_NOTICE);
	/* fewer bytes than a notice has: the lines themselves */
	cr_expect_eq(read_span(&request, "f", &(struct span){ 2, 2 }, 40, &read), DECISION_CONTENT);
	cr_expect_eq(read_span(&request, "f", NULL, 0, &read), DECISION_NOTICE);
	/* another conversation has none of it, nor has a command */
	struct request other = reported_of("two");
	cr_expect_eq(read_span(&other, "f", &FIRST, 2000, &read), DECISION_CONTENT);
	ASSERT_NEW("f");
}

Test(decision_reported, lines_of_another_version)
{
	const struct span FIRST = { 1, 50 };
	struct request request = reported_of("one");

	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_NOT_DELIVERED);
	world_fill(&world, "f", 4096, 2);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_CHANGED);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_REPEATED);
	world_fill(&world, "f", 4097, 2);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_CHANGED);
}

/* Of a file that is larger than what is answered, lines are. */
Test(decision_reported, lines_of_a_large_file)
{
	const struct span FIRST = { 1, 50 };
	struct request request = reported_of("one");

	world_fill(&world, "large", world.settings->notice_max_bytes + 1, 1);
	cr_expect_eq(read_and_deliver(&request, "large", &FIRST), REASON_NOT_DELIVERED);
	cr_expect_eq(read_and_deliver(&request, "large", &FIRST), REASON_REPEATED);
	world.settings->content_max_file_bytes = world.settings->notice_max_bytes;
	cr_expect_eq(read_and_deliver(&request, "large", &FIRST), REASON_UNREADABLE);
}

/* By the conversation's scope, by its agent's, and before the lines were given. */
Test(decision_reported, lines_that_were_invalidated)
{
	const struct span FIRST = { 1, 50 };
	struct request request = reported_of("one");
	const char *path = world_path(&world, "f");

	ASSERT_NEW("f");
	must(tracker_forget(&world.segment, scope, path) == 0);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_NOT_DELIVERED);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_REPEATED);
	must(tracker_forget(&world.segment, scope, path) == 0);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_NOT_DELIVERED);
	cr_expect_eq(read_and_deliver(&request, "f", NULL), REASON_NOT_DELIVERED);
	must(tracker_forget(&world.segment, request.context.scope_id, path) == 0);
	must(tracker_forget(&world.segment, scope, path) == 0);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_NOT_DELIVERED);
	must(tracker_forget(&world.segment, scope, path) == 0);
	must(tracker_forget(&world.segment, request.context.scope_id, path) == 0);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_NOT_DELIVERED);
	must(scope_new_epoch(&world.segment, scope) == 0);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_NOT_DELIVERED);
}

/* While sub-agents of it run, nothing counts as given. */
Test(decision_reported, beside_sub_agents)
{
	const struct span FIRST = { 1, 50 };
	struct request request = reported_of("one");

	must(scope_converse(&world.segment, scope, SCOPE_SUB_AGENT_BEGINS) == 0);
	cr_expect_eq(decision_moment(&world.segment, &request).scope_epoch, 0);
	for (int i = 0; i < 2; i++)
		cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_NOT_DELIVERED);
	must(scope_converse(&world.segment, scope, SCOPE_SUB_AGENT_ENDS) == 0);
	for (int i = 0; i < 2; i++)
		cr_expect_eq(read_and_deliver(&request, "f", &FIRST),
			     i ? REASON_REPEATED : REASON_NOT_DELIVERED);
}

/* Whatever its agent passes on of a command's output: the tool gave the model the file. */
Test(decision_reported, whole)
{
	struct request request = reported_of("one");
	struct reported read;

	world.settings->profiles[world.profile - 1].max_output_bytes = 100;
	cr_expect_eq(read_and_deliver(&request, "f", NULL), REASON_NOT_DELIVERED);
	cr_expect_eq(read_span(&request, "f", NULL, 0, &read), DECISION_NOTICE);
	cr_expect_null(strstr(read.answer.notice, "Lines"));
	/* what was given can be told apart from what is there by the hook, which has both texts */
	world_fill(&world, "f", 4200, 2);
	cr_expect_eq(read_span(&request, "f", NULL, 0, &read), DECISION_CONTENT);
	cr_expect_eq(read.answer.reason, REASON_CHANGED);
	request.has_texts = true;
	cr_expect_eq(read_span(&request, "f", NULL, 0, &read), DECISION_DIFF);
	/* lines of it are given as they are */
	cr_expect_eq(read_span(&request, "f", &(struct span){ 1, 50 }, 2000, &read),
		     DECISION_CONTENT);
}

/* Given whole before it changed, and in lines since. */
Test(decision_reported, whole_and_then_in_lines)
{
	const struct span FIRST = { 1, 50 }, LAST = { 51, LINES + 3 };
	struct request request = reported_of("one");

	cr_expect_eq(read_and_deliver(&request, "f", NULL), REASON_NOT_DELIVERED);
	world_fill(&world, "f", 4200, 2);
	cr_expect_eq(read_and_deliver(&request, "f", &FIRST), REASON_CHANGED);
	cr_expect_eq(read_and_deliver(&request, "f", &LAST), REASON_CHANGED);
	cr_expect_eq(read_and_deliver(&request, "f", NULL), REASON_REPEATED);
	/* and back to what was given whole: lines of another version were given since */
	world_fill(&world, "f", 4096, 1);
	cr_expect_eq(read_and_deliver(&request, "f", NULL), REASON_CHANGED);
}

/* No place for what is given: it counts as not given. */
Test(decision_reported, without_a_key)
{
	const struct span FIRST = { 1, 50 };
	struct request request = reported_of("one");
	struct reported read;
	struct delivered delivered;

	(void)read_span(&request, "f", NULL, 0, &read);
	decision_pend_late(&world.segment, &request, &read.stat, &read.answer, &read.pending);
	read.pending.file_key = 0;
	const struct stamp stamp = stamp_of(&read.stat);
	decision_deliver(&world.segment, &request, &read.pending, &stamp, &read.content.version,
			 &delivered);
	cr_expect_not(delivered.is_given);
	cr_expect_eq(counter(COUNTER_lost_deliveries), 1);
	decision_give_lines(&world.segment, &request, &read.pending, &stamp, &read.content, &FIRST,
			    1);
	cr_expect_eq(counter(COUNTER_lost_parts), 1);
	cr_expect_eq(read_and_deliver(&request, "f", NULL), REASON_NOT_DELIVERED);
}

/* A command's read is no repeat where the tool gave another version since. */
Test(decision_reported, beside_a_command)
{
	const struct version other = { 1, 2, 4096 };

	ASSERT_NEW("f");
	other_way_note(&world.segment, scope, path_key(&world.segment, world_path(&world, "f")),
		       &other);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
}
