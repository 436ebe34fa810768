/* decision.h: what changed instead of a file, when, and the result. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/segment/workspace.h"

enum { SIZE = 4096, DIFF_BYTES = 500 };

static struct world world;
static uint64_t scope;

static void start(void)
{
	world_open(&world, "notice.on_change=diff", NULL);
	scope = world_scope(&world, "a");
	world_fill(&world, "f", SIZE, 1);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(decision_diff, .init = start, .fini = stop);

static uint64_t counter(enum counter which)
{
	return segment_counter(&world.segment, which);
}

static struct request next_request(void)
{
	struct request request = world_request(&world, scope);
	request.accepts_diff = true;
	return request;
}

static void keep(const char *name)
{
	struct version kept;
	int fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && contents_save(&world.segment, fd, world_path(&world, name), CONTENTS_GIVEN,
				      &kept) == 0);
	must(close(fd) == 0);
}

/* What the viewer of a diff does at its end: the text went out, and it left by exit(0). */
static void deliver_diff(const struct request *request, struct viewed_file *view, size_t bytes)
{
	struct scope_slot *one = scope_find(&world.segment, request->context.scope_id);

	sends(&world.segment, request->command_id, bytes);
	if (one)
		one->bytes_given += bytes;
	decision_deliver(&world.segment, request, &view->pending, &view->pending.stamp,
			 &view->answer.content.version, &view->delivered);
}

/* One `cat NAME`.  A diff is made, and given. */
static enum decision cat_reason(const char *name, enum reason *ret_reason)
{
	struct request request = next_request();
	struct viewed_file view;
	enum decision decision = open_view(&world, &request, name, &view);

	*ret_reason = view.answer.reason;
	if (decision == DECISION_DIFF) {
		decision_diffed(&world.segment, &request, &view.answer, DIFF_BYTES);
		deliver_diff(&request, &view, DIFF_BYTES);
		must(close(view.fd) == 0);
	} else {
		viewer_finish(&world, &request, &view);
		if (decision == DECISION_CONTENT)
			keep(name);
	}
	return decision;
}

#define ASSERT_CAT(name, decision_, reason_) \
	do { \
		enum reason got; \
		cr_assert_eq(cat_reason(name, &got), decision_, "%s: reason %d", name, (int)got); \
		cr_assert_eq(got, reason_, "%s: reason %d", name, (int)got); \
	} while (0)
#define ASSERT_NEW(name) ASSERT_CAT(name, DECISION_CONTENT, REASON_NOT_DELIVERED)
#define ASSERT_WHOLE(name) ASSERT_CAT(name, DECISION_CONTENT, REASON_CHANGED)
#define ASSERT_DIFF(name) ASSERT_CAT(name, DECISION_DIFF, REASON_CHANGED)
#define ASSERT_NOTICE(name) ASSERT_CAT(name, DECISION_NOTICE, REASON_REPEATED)
#define ASSERT_GIVEN_AGAIN(name) ASSERT_CAT(name, DECISION_GIVEN_AGAIN, REASON_ASKED_AGAIN)

static void pass(unsigned requests)
{
	while (requests-- > 0)
		(void)scope_request(&world.segment, scope);
}

Test(decision_diff, less_than_half_as_long)
{
	cr_assert(decision_is_short(0, 1));
	cr_assert_not(decision_is_short(0, 0));
	cr_assert(decision_is_short(49, 100));
	cr_assert_not(decision_is_short(50, 100));
	cr_assert(decision_is_short(50, 101));
	cr_assert_not(decision_is_short(51, 101));
	cr_assert_not(decision_is_short(UINT64_MAX, UINT64_MAX));
	cr_assert_not(decision_is_short(UINT64_MAX / 2 + 1, UINT64_MAX));
	cr_assert(decision_is_short(UINT64_MAX / 2, UINT64_MAX));
}

Test(decision_diff, changed_then_diff_then_notice)
{
	struct version baseline;
	struct file_slot file;
	struct stat stat_;

	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE + 100, 2);
	ASSERT_DIFF("f");
	cr_assert_eq(counter(COUNTER_diffs), 1);
	cr_assert_eq(counter(COUNTER_bytes_saved), SIZE + 100 - DIFF_BYTES);
	cr_assert_eq(counter(COUNTER_deliveries), 1, "it was given whole once");
	cr_assert_eq(counter(COUNTER_repeats), 0);
	cr_assert_eq(counter(COUNTER_notices), 0);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_eq(file.full_reads, 1);
	cr_assert_eq(file.version.size_bytes, SIZE + 100);
	cr_assert(baseline_at(&world.segment, scope,
			      path_key(&world.segment, world_path(&world, "f")), &baseline));
	cr_assert_eq(baseline.size_bytes, SIZE + 100);
	must(stat(world_path(&world, "f"), &stat_) == 0);
	cr_assert_eq(file.stamp.ino, stat_.st_ino);
	pass(20);
	ASSERT_NOTICE("f");
}

Test(decision_diff, asked_again_at_once_it_is_whole)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	ASSERT_DIFF("f");
	pass(9);
	ASSERT_GIVEN_AGAIN("f");
	pass(20);
	ASSERT_NOTICE("f");
}

/* By a name that was never asked for: the diff was made against what the file's other name gave. */
Test(decision_diff, asked_again_by_another_name)
{
	ASSERT_NEW("f");
	must(link(world_path(&world, "f"), world_path(&world, "g")) == 0);
	world_fill(&world, "f", SIZE, 2);
	struct request request = next_request();
	struct viewed_file view;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_DIFF);
	decision_diffed(&world.segment, &request, &view.answer, DIFF_BYTES);
	(void)close(view.fd); /* its viewer was killed */
	ASSERT_CAT("g", DECISION_CONTENT, REASON_ASKED_AGAIN);
}

Test(decision_diff, asked_again_later_it_is_known)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	ASSERT_DIFF("f");
	pass(10);
	ASSERT_NOTICE("f");
}

Test(decision_diff, changed_again_and_again)
{
	ASSERT_NEW("f");
	for (unsigned i = 2; i < 8; i++) {
		world_fill(&world, "f", SIZE, i);
		keep("f"); /* as the viewer does at its end */
		ASSERT_DIFF("f");
	}
	cr_assert_eq(counter(COUNTER_diffs), 6);
}

Test(decision_diff, changed_back)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	keep("f");
	ASSERT_DIFF("f");
	world_fill(&world, "f", SIZE, 1);
	ASSERT_DIFF("f");
	pass(11);
	ASSERT_NOTICE("f");
}

/* The window is that of the whole file: what was given since is nothing without it. */
Test(decision_diff, inside_the_window_for_as_long_as_the_whole_file)
{
	ASSERT_NEW("f"); /* request 1 */
	world_fill(&world, "f", SIZE, 2);
	pass(30);
	ASSERT_DIFF("f"); /* 32 */
	pass(18);
	ASSERT_NOTICE("f"); /* 51: the last one inside */
}

Test(decision_diff, beyond_the_window)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	pass(30);
	ASSERT_DIFF("f");
	pass(19);
	ASSERT_NEW("f"); /* 52 */
}

Test(decision_diff, bytes_count_from_the_whole_file)
{
	struct delivery_slot before, after;
	uint64_t key = path_key(&world.segment, world_path(&world, "f"));

	ASSERT_NEW("f");
	cr_assert_eq(delivery_find(&world.segment, scope, key, &before), 0);
	world_fill(&world, "f", SIZE, 2);
	ASSERT_DIFF("f");
	cr_assert_eq(delivery_find(&world.segment, scope, key, &after), 0);
	cr_assert_eq(after.request, before.request);
	cr_assert_eq(after.bytes_given, before.bytes_given);
	cr_assert_eq(after.time_ns, before.time_ns);
	cr_assert_neq(after.command_id, before.command_id);
	cr_assert_not(version_equal(&after.version, &before.version));
}

/* ---- where it is the file ---- */

Test(decision_diff, only_where_it_is_asked_for)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	struct request request = next_request();
	struct viewed_file view;

	request.accepts_diff = false;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	(void)close(view.fd);
	request = next_request();
	request.at_sink = false;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	(void)close(view.fd);
	request = next_request();
	request.is_viewer = false;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	(void)close(view.fd);
	world.settings->session_mode = SESSION_MODE_OBSERVE;
	request = next_request();
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	(void)close(view.fd);
	world.settings->session_mode = SESSION_MODE_SUBSTITUTE;
	world.settings->notice_on_change = NOTICE_ON_CHANGE_FULL;
	request = next_request();
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	(void)close(view.fd);
	world.settings->notice_on_change = NOTICE_ON_CHANGE_DIFF;
	request = next_request();
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_DIFF);
	(void)close(view.fd);
}

Test(decision_diff, of_a_size_that_may_be_answered)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", world.settings->notice_min_bytes - 1, 2);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_NOT_ALLOWED);
	world_fill(&world, "f", 0, 2);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_NOT_ALLOWED);

	world.settings->notice_max_bytes = 6000;
	world_fill(&world, "g", 6000, 1);
	ASSERT_NEW("g");
	world_fill(&world, "g", 6001, 2);
	ASSERT_CAT("g", DECISION_CONTENT, REASON_NOT_ALLOWED);
	world_fill(&world, "g", 6000, 3); /* the old one is too large */
	ASSERT_WHOLE("g");
	world_fill(&world, "g", 5999, 4);
	ASSERT_DIFF("g");
}

/* More, or fewer, bytes by half or more of what there is now. */
Test(decision_diff, of_a_size_that_a_diff_can_be_short_of)
{
	static const struct {
		size_t before, now;
		bool is_diff;
	} CASES[] = {
		{ 4000, 7999, true }, { 4000, 8000, false }, { 4000, 8001, false },
		{ 6000, 4001, true }, { 6000, 4000, false }, { 6000, 3999, false },
		{ 2001, 4001, true }, { 2000, 4001, false },
	};
	char name[16];

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		(void)snprintf(name, sizeof(name), "g%zu", i);
		world_fill(&world, name, CASES[i].before, 1);
		ASSERT_NEW(name);
		world_fill(&world, name, CASES[i].now, 2);
		if (CASES[i].is_diff)
			ASSERT_DIFF(name);
		else
			ASSERT_WHOLE(name);
	}
}

Test(decision_diff, binary_now)
{
	static char bytes[SIZE];

	ASSERT_NEW("f");
	memset(bytes, 'a', sizeof(bytes));
	bytes[SIZE - 1] = '\0';
	write_path(world_path(&world, "f"), bytes, sizeof(bytes));
	ASSERT_CAT("f", DECISION_CONTENT, REASON_BINARY);
}

Test(decision_diff, not_kept)
{
	struct request request = next_request();
	struct viewed_file view;

	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	world_fill(&world, "f", SIZE, 2);
	ASSERT_WHOLE("f");
}

Test(decision_diff, invalidated_or_of_another_scope)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	uint64_t first = scope;
	scope = world_scope(&world, "b");
	ASSERT_NEW("f");
	scope = first;
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 3);
	cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 4);
	cr_assert_eq(tracker_forget_all(&world.segment, 0), 0);
	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 5);
	ASSERT_DIFF("f");
}

Test(decision_diff, an_own_read_never)
{
	struct context context = { .flags = CONTEXT_ATTACHED, .role = ROLE_TOOL };
	struct request own;
	struct viewed_file view;

	cr_assert(request_prepare_in_process(&world.segment, &context, 5, 0, "reader", &own));
	own.accepts_diff = true;
	request_init_in_process(&world.segment, &own);
	(void)open_view(&world, &own, "f", &view);
	viewer_finish(&world, &own, &view);
	keep("f");
	world_fill(&world, "f", SIZE, 2);
	request_init_in_process(&world.segment, &own);
	cr_assert_eq(open_view(&world, &own, "f", &view), DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_CHANGED);
	(void)close(view.fd);
}

/* ---- what went wrong in between ---- */

/* It was given in part, or its viewer failed. */
Test(decision_diff, not_given_to_its_end)
{
	struct request request;
	struct viewed_file view;

	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	request = next_request();
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_DIFF);
	decision_diffed(&world.segment, &request, &view.answer, DIFF_BYTES);
	(void)close(view.fd);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_ASKED_AGAIN); /* whole */
	ASSERT_GIVEN_AGAIN("f");
	pass(11);
	ASSERT_NOTICE("f");
}

Test(decision_diff, not_given_and_asked_for_later)
{
	struct request request;
	struct viewed_file view;

	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	request = next_request();
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_DIFF);
	decision_diffed(&world.segment, &request, &view.answer, DIFF_BYTES);
	(void)close(view.fd);
	pass(10);
	ASSERT_DIFF("f"); /* against what it was given, again */
}

/* A diff that could not be made leaves nothing: the next one may be. */
Test(decision_diff, not_made)
{
	struct request request;
	struct viewed_file view;

	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	request = next_request();
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_DIFF);
	(void)close(view.fd);
	cr_assert_eq(counter(COUNTER_diffs), 0);
	ASSERT_DIFF("f");
}

/* Begins one, has something happen, and ends it.  Is the file as it is now delivered? */
static bool is_moved_after(void (*happen)(void))
{
	struct request request = next_request();
	struct viewed_file view;

	must(open_view(&world, &request, "f", &view) == DECISION_DIFF);
	decision_diffed(&world.segment, &request, &view.answer, DIFF_BYTES);
	happen();
	deliver_diff(&request, &view, DIFF_BYTES);
	must(close(view.fd) == 0);
	return view.delivered.is_given;
}

static void nothing(void)
{
}

static void forget(void)
{
	must(tracker_forget(&world.segment, scope, world_path(&world, "f")) == 0);
}

static void forget_everything(void)
{
	must(tracker_forget_all(&world.segment, scope) == 0);
}

static void forget_in_session(void)
{
	must(tracker_forget_all(&world.segment, 0) == 0);
}

static void deliver_whole(void)
{
	struct request request = next_request();
	struct viewed_file view;

	request.accepts_diff = false;
	world_fill(&world, "f", SIZE, 9);
	must(open_view(&world, &request, "f", &view) == DECISION_CONTENT);
	viewer_finish(&world, &request, &view);
	must(view.delivered.is_given);
}

static void pass_window(void)
{
	pass(50); /* the request itself was inside, and counts */
}

static void rewrite(void)
{
	world_fill(&world, "f", SIZE, 7);
}

Test(decision_diff, what_happens_while_it_is_given)
{
	static const struct {
		void (*happen)(void);
		bool is_moved;
	} CASES[] = {
		{ nothing, true },
		{ forget, false },
		{ forget_everything, false },
		{ forget_in_session, false },
		{ deliver_whole, false },
		{ pass_window, true },
		{ rewrite, true },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		must(tracker_forget_all(&world.segment, 0) == 0);
		world_fill(&world, "f", SIZE, 1);
		ASSERT_NEW("f");
		world_fill(&world, "f", SIZE, 2);
		cr_assert_eq(is_moved_after(CASES[i].happen), CASES[i].is_moved, "case %zu", i);
	}
	/* The last one: it has the version that the diff led to, and is given what changed since. */
	world_fill(&world, "f", SIZE, 2);
	pass(11);
	ASSERT_NOTICE("f");
}

/* Its whole command sent more than the agent shows: what it was given may be cut out of it. */
Test(decision_diff, beyond_the_limit)
{
	struct request request;
	struct viewed_file view;

	ASSERT_NEW("f");
	world_fill(&world, "f", SIZE, 2);
	request = next_request();
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_DIFF);
	decision_diffed(&world.segment, &request, &view.answer, DIFF_BYTES);
	deliver_diff(&request, &view, SETTINGS_MAX_OUTPUT_BYTES + 1);
	(void)close(view.fd);
	cr_assert_not(view.delivered.is_given);
}

/* Another name of the file: its own delivery is not lost, and this name gets one. */
Test(decision_diff, by_another_name)
{
	ASSERT_NEW("f");
	must(link(world_path(&world, "f"), world_path(&world, "other")) == 0);
	world_fill(&world, "f", SIZE, 2);
	ASSERT_DIFF("other");
	pass(11);
	ASSERT_NOTICE("other");
}
