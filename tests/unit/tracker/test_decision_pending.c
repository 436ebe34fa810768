/* decision.h: from pending to delivered, and in-process reads. */
#include "decision_case.h"
#include "tracker/answer/limits.h"

TestSuite(decision, .init = start, .fini = stop);

/* ---- from pending to delivered ---- */

Test(decision, stamp_changed_while_reading)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	cr_assert_eq(futimens(view.fd, (struct timespec[2]){ { 5, 0 }, { 5, 0 } }), 0);
	viewer_finish(&world, &request, &view);
	ASSERT_NEW("f");
}

Test(decision, fewer_bytes_than_the_file_holds)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	struct stamp stamp = stamp_of(&view.stat);
	char bytes[4096];
	cr_assert_eq(read(view.fd, bytes, sizeof(bytes)), 4096);
	struct version version = version_of_bytes(bytes, 4095);
	decision_deliver(&world.segment, &request, &view.pending, &stamp, &version,
			 &view.delivered);
	cr_assert(!view.delivered.is_given);
	(void)close(view.fd);
	ASSERT_NEW("f");
}

Test(decision, not_at_the_capture)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	struct file_slot file;
	request.at_sink = false;
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_eq(file.full_reads, 1, "it was read whole");
	cr_assert(!world_is_delivered(&world, scope, "f"), "and not given");
	ASSERT_NEW("f");
}

Test(decision, left_before_the_end)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	(void)close(view.fd); /* killed, or exit(1): no decision_deliver() */
	ASSERT_NEW("f");
}

Test(decision, invalidated_while_reading)
{
	for (int turn = 0; turn < 9; turn++) {
		struct request request = world_request(&world, scope);
		int way = turn % 4;
		struct viewed_file view;
		(void)open_view(&world, &request, "f", &view);
		if (turn >=
		    4) /* at last one that nothing is on record of: another file is forgotten */
			decision_pend_late(&world.segment, &request, &view.stat, &view.answer,
					   &view.pending);
		if (turn == 8)
			cr_assert_eq(tracker_forget(&world.segment, scope, "/no/such"), -ENOENT);
		else if (way == 0)
			cr_assert_eq(tracker_forget(&world.segment, scope, view.path), 0);
		else if (way == 1)
			cr_assert_eq(tracker_forget(&world.segment, 0, view.path), 0);
		else if (way == 2)
			cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
		else
			cr_assert_eq(tracker_forget_all(&world.segment, 0), 0);
		viewer_finish(&world, &request, &view);
		cr_assert(!world_is_delivered(&world, scope, "f"), "turn %d", turn);
	}
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
}

/* A file that is put on record when it was read is given as one that was when it was opened. */
Test(decision, pends_late)
{
	struct request request = world_request(&world, scope);
	struct file_slot file;
	struct viewed_file view;

	(void)snprintf(view.path, sizeof(view.path), "%s", world_path(&world, "f"));
	view.fd = open(view.path, O_RDONLY | O_CLOEXEC);
	must(view.fd >= 0 && fstat(view.fd, &view.stat) == 0);
	decision_open(&world.segment, &request, view.path, "f", view.fd, &view.stat, &view.answer);
	decision_pend_late(&world.segment, &request, &view.stat, &view.answer, &view.pending);
	view.is_pending = true;
	cr_assert_eq(tracker_file(&world.segment, view.path, &file), -ENOENT);
	viewer_finish(&world, &request, &view);
	cr_assert(view.delivered.is_given);
	cr_assert_eq(tracker_file(&world.segment, view.path, &file), 0);
	cr_assert_eq(file.full_reads, 1);
	ASSERT_NOTICE("f");
}

/* Where it is put off, an answer hangs on what descriptor 1 is then, and content does not ask for it. */
Test(decision, asks_late_where_it_goes)
{
	struct request request;
	struct viewed_file view;

	ASSERT_NEW("f");
	request = world_request(&world, scope);
	request.asks_late = true;
	request.context.capture_id = 0;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_NOT_ALLOWED);
	must(close(view.fd) == 0);
}

Test(decision, command_output_exactly_at_the_limit)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	sends(&world.segment, request.command_id, SETTINGS_MAX_OUTPUT_BYTES - 4096);
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	ASSERT_NOTICE("f");
}

Test(decision, command_output_one_beyond_the_limit)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	sends(&world.segment, request.command_id, SETTINGS_MAX_OUTPUT_BYTES - 4096 + 1);
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	ASSERT_NEW("f");
}

Test(decision, command_output_beyond_the_limit_afterwards)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	sends(&world.segment, request.command_id, SETTINGS_MAX_OUTPUT_BYTES);
	ASSERT_NEW("f");
}

Test(decision, limit_of_a_profile)
{
	struct context context = { .profile = 0 };
	cr_assert_eq(limits_baseline(&world.segment, &context), SETTINGS_MAX_OUTPUT_BYTES);
	context.profile = 1;
	cr_assert_eq(limits_baseline(&world.segment, &context),
		     world.settings->profiles[0].max_output_bytes);
	context.profile = (uint32_t)world.settings->profile_count;
	cr_assert_eq(limits_baseline(&world.segment, &context),
		     world.settings->profiles[context.profile - 1].max_output_bytes);
	context.profile++;
	cr_assert_eq(limits_baseline(&world.segment, &context), SETTINGS_MAX_OUTPUT_BYTES);
	world.settings->profile_count = UINT64_MAX; /* damaged */
	context.profile = SETTINGS_PROFILES_MAX + 1;
	cr_assert_eq(limits_baseline(&world.segment, &context), SETTINGS_MAX_OUTPUT_BYTES);
	context.profile = UINT32_MAX;
	cr_assert_eq(limits_baseline(&world.segment, &context), SETTINGS_MAX_OUTPUT_BYTES);
}

Test(decision, second_conversation_costs_one_request)
{
	/* Two contexts in one process: the second one's notice says how, and one repetition brings the content. */
	ASSERT_NEW("f");
	pass(7);
	ASSERT_NOTICE("f");
	ASSERT_GIVEN_AGAIN("f");
}

Test(decision, full_tables_are_harmless)
{
	struct world small;
	uint64_t own;
	char name[16];
	unsigned notices = 0;
	world_open(&small, "session.files=128", "session.deliveries=128",
		   "session.arena_bytes=16384", "session.scopes=16", NULL);
	own = world_scope(&small, "s");
	for (int i = 0; i < 600; i++) { /* the arena is full on the way */
		(void)snprintf(name, sizeof(name), "%d", i);
		world_fill(&small, name, 600, (unsigned)i);
		cr_assert_eq(world_cat(&small, own, name), DECISION_CONTENT);
		notices += world_cat(&small, own, name) == DECISION_NOTICE;
	}
	cr_assert_gt(segment_counter(&small.segment, COUNTER_lost_files), 0);
	cr_assert_gt(notices, 100);
	world_close(&small);
}

/* ---- in-process reads of a whitelisted process ---- */

static struct request own_of(uint64_t serial, uint64_t agent_scope)
{
	const struct context context = { .flags = CONTEXT_ATTACHED,
					 .capture_id = 77,
					 .profile = world.profile };
	struct request request;

	cr_assert(request_prepare_in_process(&world.segment, &context, serial, agent_scope, "reads",
					     &request));
	return request;
}

/* One own read of the whole file, by the same request as before or by the next one. */
static enum decision in_process_read(struct request *request, bool next, enum reason *ret_reason)
{
	struct viewed_file view;

	if (next)
		request_init_in_process(&world.segment, request);
	enum decision decision = open_view(&world, request, "f", &view);
	*ret_reason = view.answer.reason;
	viewer_finish(&world, request, &view);
	return decision;
}

#define ASSERT_OWN(request, next, decision_, reason_) \
	do { \
		enum reason got; \
		cr_assert_eq(in_process_read(request, next, &got), decision_, "reason %d", \
			     (int)got); \
		cr_assert_eq(got, reason_, "reason %d", (int)got); \
	} while (0)

Test(decision, in_process_reads)
{
	struct request own = own_of(5, scope);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	ASSERT_OWN(&own, false, DECISION_CONTENT, REASON_NOT_DELIVERED); /* the same request */
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
	ASSERT_OWN(&own, false, DECISION_NOTICE, REASON_REPEATED);
	cr_assert_eq(counter(COUNTER_notices), 1);
	cr_assert_eq(counter(COUNTER_repeats), 1);
	ASSERT_OWN(&own, true, DECISION_GIVEN_AGAIN, REASON_ASKED_AGAIN);
	cr_assert_eq(counter(COUNTER_requests), 3);

	/* Neither the scope of its agent, nor another process, has what it read; nor the other way round. */
	ASSERT_NEW("f");
	struct request other = own_of(6, scope);
	ASSERT_OWN(&other, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_neq(own.context.scope_id, other.context.scope_id);
	cr_assert_eq(own.context.capture_id, 0);
	cr_assert(!request_prepare_in_process(&world.segment, &own.context, 0, 0, "x", &other));
}

/* Its read tool cuts, too: each limit, and one that an agent which was never measured does not exceed. */
Test(decision, in_process_reads_within_what_the_agent_passes_on)
{
	struct settings_profile *profile = &world.settings->profiles[world.profile - 1];
	struct shape shape;
	struct request own;
	int fd = open(world_path(&world, "f"), O_RDONLY);

	cr_assert_eq(lines_shape(fd, &(struct span){ 1, UINT64_MAX }, 1, &shape), 0);
	(void)close(fd);
	const struct {
		uint64_t bytes, lines, line_bytes;
		bool holds;
	} LIMITS[] = {
		{ 4096, 0, 0, true },
		{ 4095, 0, 0, false },
		{ 24000, shape_lines(&shape), 0, true },
		{ 24000, shape_lines(&shape) - 1, 0, false },
		{ 24000, 0, shape.longest, true },
		{ 24000, 0, shape.longest - 1, false },
	};
	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
		profile->max_output_bytes = LIMITS[i].bytes;
		profile->max_output_lines = LIMITS[i].lines;
		profile->max_line_bytes = LIMITS[i].line_bytes;
		own = own_of(10 + i, 0);
		ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
		if (LIMITS[i].holds)
			ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
		else
			ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	}
}

Test(decision, in_process_reads_of_another_version)
{
	struct request own = own_of(5, 0);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
	world_fill(&world, "f", 4096, 2);
	ASSERT_OWN(&own, false, DECISION_CONTENT, REASON_CHANGED);
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
}

Test(decision, in_process_reads_are_invalidated_with_their_agents)
{
	struct request own = own_of(5, scope);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget(&world.segment, 0, world_path(&world, "f")), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget_all(&world.segment, 0), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget_all(&world.segment, own.context.scope_id), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	/* Another's forgetting is not this one's. */
	uint64_t another = world_scope(&world, "b");
	cr_assert_eq(tracker_forget(&world.segment, another, world_path(&world, "f")), 0);
	cr_assert_eq(tracker_forget_all(&world.segment, another), 0);
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
}

/* What its agent was made to forget before, this one has read since. */
Test(decision, in_process_reads_since_their_agents_forgot)
{
	struct request own = own_of(5, scope);

	ASSERT_NEW("f");
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
}

/* What its agent's commands were given is no forgetting. */
Test(decision, in_process_reads_beside_commands)
{
	struct request own = own_of(5, scope);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	ASSERT_NEW("f");
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
}

Test(decision, in_process_reads_beyond_the_window)
{
	struct request own = own_of(5, 0);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	for (unsigned i = 0; i < world.settings->window_requests; i++)
		request_init_in_process(&world.segment, &own);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	request_count_in_process(&world.segment, &own, world.settings->window_bytes + 1);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
}
