/* unreported.h: what waits, for whom, that it is taken once, and what makes room. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/guard/unreported.h"
#include "tracker/segment/workspace.h"

static struct world world;
static struct context context = { .flags = CONTEXT_AGENT, .role = ROLE_AGENT };
static uint64_t scope;

static void start(void)
{
	world_open(&world, NULL);
	scope = world_scope(&world, "a");
	context.capture_id = 0;
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(unreported, .init = start, .fini = stop);

/* Path of a file on record. */
static const char *file(uint64_t number)
{
	static char path[128];
	static const struct stamp STAMP = { .ino = 1 };

	(void)snprintf(path, sizeof(path), "%s/f%lu", world.workspace, (unsigned long)number);
	must(file_update(&world.segment, path, &STAMP, NULL, NULL) != 0);
	return path;
}

static struct version version(uint64_t number)
{
	return (struct version){ number, number + 1, 7 };
}

static void add(uint64_t number, uint32_t role, enum guard_verdict verdict)
{
	const struct guard_writer writer = { .scope_id = scope, .context = &context, .role = role };
	const struct guard_answer answer = {
		.verdict = verdict, .reason = GUARD_STALE, .kept = true, .before = version(number)
	};
	unreported_add(&world.segment, &writer, file(number), &answer);
}

/* Number of the file that is taken; 0: none. */
static uint64_t claim(uint64_t id, unsigned *ret_place)
{
	char path[SEGMENT_PATH_BYTES];
	struct guard_answer answer;

	if (!unreported_claim(&world.segment, id, ret_place, &answer, path, sizeof(path)))
		return 0;
	cr_assert(answer.verdict == GUARD_WARN && answer.reason == GUARD_STALE && answer.kept);
	cr_assert_str_eq(path, file(answer.before.low));
	return answer.before.low;
}

Test(unreported, oldest_first_and_once)
{
	unsigned place;

	cr_assert(!unreported_any(&world.segment));
	add(1, ROLE_AGENT, GUARD_WARN);
	add(2, ROLE_AGENT, GUARD_WARN);
	cr_assert(unreported_any(&world.segment));
	cr_assert(unreported_waits(&world.segment, scope));
	cr_assert_eq(claim(scope, &place), 1);
	unreported_release(&world.segment, place);
	cr_assert_eq(claim(scope, &place), 1);
	cr_assert_eq(claim(scope, &place), 2);
	cr_assert_eq(claim(scope, &place), 0);
	cr_assert(!unreported_any(&world.segment));
}

Test(unreported, whose)
{
	uint64_t other = world_scope(&world, "b"), named = world_scope(&world, "c");
	unsigned place;

	add(1, ROLE_AGENT, GUARD_WARN);
	scope_set_head(&world.segment, named, scope);
	cr_assert(!unreported_waits(&world.segment, other));
	cr_assert(!unreported_waits(&world.segment, 0));
	cr_assert(!unreported_waits(&world.segment, 12345), "a scope that is not on record");
	cr_assert_eq(claim(other, &place), 0);
	cr_assert_eq(claim(named, &place), 1);
}

Test(unreported, what_waits)
{
	add(1, ROLE_AGENT, GUARD_DENY);
	add(1, ROLE_AGENT, GUARD_PASS);
	context.capture_id = 5; /* below a shell */
	add(1, ROLE_TOOL, GUARD_WARN);
	cr_assert(!unreported_any(&world.segment));
	context.capture_id = 0; /* started by the agent itself */
	add(1, ROLE_TOOL, GUARD_WARN);
	cr_assert(unreported_waits(&world.segment, scope));
}

Test(unreported, newer_ones_take_the_place_of_older_ones)
{
	enum { COUNT = UNREPORTED_MAX + 3 };
	uint64_t expected = 4;
	unsigned place;

	for (uint64_t number = 1; number <= COUNT; number++)
		add(number, ROLE_AGENT, GUARD_WARN);
	for (uint64_t number; (number = claim(scope, &place)); expected++)
		cr_assert_eq(number, expected);
	cr_assert_eq(expected, COUNT + 1);
}

Test(unreported, end_of_a_run)
{
	const struct version first = version(1), second = version(2), never = version(3);
	unsigned place;

	add(1, ROLE_AGENT, GUARD_WARN);
	cr_assert_eq(claim(scope, &place), 1);
	add(2, ROLE_AGENT, GUARD_WARN);
	cr_assert(unreported_finish(&world.segment, file(1), &first));
	cr_assert(!unreported_finish(&world.segment, file(1), &second));
	cr_assert(!unreported_finish(&world.segment, file(3), &never));
	cr_assert(!unreported_finish(&world.segment, file(2), &second));
	cr_assert(!unreported_any(&world.segment), "the end reported it");
}

Test(unreported, of_a_call_that_failed)
{
	const struct version first = version(1), second = version(2);
	unsigned place;

	add(1, ROLE_AGENT, GUARD_WARN);
	add(2, ROLE_AGENT, GUARD_WARN);
	unreported_withdraw(&world.segment, path_key(&world.segment, file(1)), &second);
	cr_assert(!unreported_finish(&world.segment, file(3), &first));
	unreported_withdraw(&world.segment, path_key(&world.segment, file(1)), &first);
	cr_assert_eq(claim(scope, &place), 2);
	cr_assert_eq(claim(scope, &place), 0);
	cr_assert(unreported_finish(&world.segment, file(1), &first));
	add(1, ROLE_AGENT, GUARD_WARN);
	add(1, ROLE_AGENT, GUARD_WARN);
	unreported_withdraw(&world.segment, path_key(&world.segment, file(1)), &first);
	cr_assert(!unreported_finish(&world.segment, file(1), &first), "the other call did not");
}

/* Of a warning that a hook's process gave, of a writer of no agent, or without a scope, nothing waits. */
Test(unreported, what_does_not_wait)
{
	struct guard_writer writer = { .scope_id = 0, .context = &context, .role = ROLE_AGENT };
	struct guard_answer answer = { .verdict = GUARD_WARN, .before = version(1) };
	const char *path = file(1);

	unreported_add(&world.segment, &writer, path, &answer);
	writer.scope_id = scope;
	answer.reported = true;
	unreported_add(&world.segment, &writer, path, &answer);
	answer.reported = false;
	context.flags = 0;
	unreported_add(&world.segment, &writer, path, &answer);
	context.flags = CONTEXT_AGENT;
	cr_assert(!unreported_any(&world.segment));
	unreported_withdraw(&world.segment, path_key(&world.segment, path), &answer.before);
	unreported_release(&world.segment, UNREPORTED_MAX);
	cr_assert(!unreported_any(&world.segment));
}

Test(unreported, one_that_was_never_read)
{
	const struct guard_writer writer = { .scope_id = scope,
					     .context = &context,
					     .role = ROLE_AGENT };
	struct guard_answer answer = { .verdict = GUARD_WARN,
				       .reason = GUARD_UNREAD,
				       .before = version(1) };
	char path[SEGMENT_PATH_BYTES];
	unsigned place;

	unreported_add(&world.segment, &writer, file(1), &answer);
	cr_assert(unreported_claim(&world.segment, scope, &place, &answer, path, sizeof(path)));
	cr_assert_eq(answer.reason, GUARD_UNREAD);
	cr_assert(!answer.kept);
}

/* A file that is on record no more, or whose path has no room, is passed over. */
Test(unreported, without_a_path)
{
	const struct guard_writer writer = { .scope_id = scope,
					     .context = &context,
					     .role = ROLE_AGENT };
	struct guard_answer answer = { .verdict = GUARD_WARN,
				       .reason = GUARD_STALE,
				       .before = version(1) };
	char path[SEGMENT_PATH_BYTES];
	unsigned place;

	unreported_add(&world.segment, &writer, "/no/such", &answer);
	cr_assert(!unreported_claim(&world.segment, scope, &place, &answer, path, sizeof(path)));
	cr_assert(unreported_waits(&world.segment, scope), "left to the end of the run");
	add(2, ROLE_AGENT, GUARD_WARN);
	cr_assert(!unreported_claim(&world.segment, scope, &place, &answer, path, 4));
	cr_assert_eq(claim(scope, &place), 2);
}

/* Two scopes of one agent, whichever of them is its head. */
Test(unreported, scopes_of_one_agent)
{
	uint64_t one = world_scope(&world, "one"), two = world_scope(&world, "two");
	uint64_t other = world_scope(&world, "other");
	unsigned place;

	add(1, ROLE_AGENT, GUARD_WARN);
	scope_set_head(&world.segment, scope, one);
	cr_assert(unreported_waits(&world.segment, one), "the head of the one that it waits for");
	scope_set_head(&world.segment, two, other);
	cr_assert(!unreported_waits(&world.segment, two));
	scope_set_head(&world.segment, two, one);
	cr_assert_eq(claim(two, &place), 1);
}

/* A slot that is being written is passed over. */
Test(unreported, slots_in_use)
{
	struct unreported_slot *slot, copy;
	const struct version first = version(1);
	unsigned place;

	add(1, ROLE_AGENT, GUARD_WARN);
	cr_assert(unreported_waits(&world.segment, scope));
	for (unsigned i = 0; (slot = segment_slot(&world.segment, TABLE_UNREPORTED, i)); i++)
		must(slot_acquire(slot, &copy, sizeof(copy)));
	cr_assert_eq(claim(scope, &place), 0);
	cr_assert(!unreported_finish(&world.segment, file(1), &first));
}

/* The same of one file, twice: the end reports it if either waits. */
Test(unreported, the_end_of_two)
{
	const struct version first = version(1);
	unsigned oldest, youngest;

	world.segment.capacity[TABLE_UNREPORTED] = 2;
	add(1, ROLE_AGENT, GUARD_WARN);
	add(1, ROLE_AGENT, GUARD_WARN);
	cr_assert_eq(claim(scope, &oldest), 1);
	cr_assert_eq(claim(scope, &youngest), 1);
	unreported_release(&world.segment, oldest);
	cr_assert(!unreported_finish(&world.segment, file(1), &first));
	cr_assert(unreported_finish(&world.segment, file(1), &first));
	for (uint64_t number = 2; number < 6; number++)
		add(number, ROLE_AGENT, GUARD_WARN);
	cr_assert_eq(claim(scope, &oldest), 4, "there are two places");
}
