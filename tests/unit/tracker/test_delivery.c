/* delivery.h: what still counts, and the boundaries of each window. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/answer/proof.h"

static struct world world;
static uint64_t scope, command;
static const uint64_t KEY = 77;
static const struct version VERSION = { 1, 2, 3 }, OTHER = { 4, 5, 6 };
static const uint64_t SECOND = 1000000000u;

static void start(void)
{
	world_open(&world, "session.deliveries=128", NULL);
	scope = world_scope(&world, "a");
	command = world_command(&world);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(delivery, .init = start, .fini = stop);

/* Recorded at request 100; the moment is what the caller changes. */
static struct moment given(void)
{
	struct moment moment = moment_now(&world.segment, scope, 100, 0, command);
	cr_assert_neq(moment.scope_epoch, 0);
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &moment), 0);
	return moment;
}

static bool counts_within(const struct moment *moment, uint64_t limit)
{
	struct delivery_slot delivery;
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), 0);
	return delivery_is_current(&world.segment, &delivery, moment, BYTES(limit));
}

static bool counts(const struct moment *moment)
{
	return counts_within(moment, 24000);
}

Test(delivery, found_after_and_not_before)
{
	struct delivery_slot delivery;
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), -ENOENT);
	struct moment moment = given();
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), 0);
	cr_assert(version_equal(&delivery.version, &VERSION));
	cr_assert_eq(delivery_find(&world.segment, scope, KEY + 1, &delivery), -ENOENT);
	cr_assert_eq(delivery_find(&world.segment, scope + 1, KEY, &delivery), -ENOENT);
	cr_assert_eq(delivery_find(&world.segment, 0, KEY, &delivery), -ENOENT);
	cr_assert_eq(delivery_find(&world.segment, scope, 0, &delivery), -ENOENT);
	cr_assert(counts(&moment));
}

Test(delivery, of_an_unknown_scope_never_counts)
{
	struct moment moment = moment_now(&world.segment, 12345, 1, 0, command);
	struct delivery_slot delivery;
	cr_assert_eq(moment.scope_epoch, 0);
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &moment), 0);
	cr_assert_eq(delivery_find(&world.segment, 12345, KEY, &delivery), 0);
	cr_assert(!delivery_is_current(&world.segment, &delivery, &moment, BYTES(24000)));
}

Test(delivery, epochs)
{
	struct moment moment = given();
	moment.scope_epoch++;
	cr_assert(!counts(&moment));
	moment = given();
	moment.session_epoch++;
	cr_assert(!counts(&moment));
	moment.session_epoch -= 2;
	cr_assert(!counts(&moment));
}

Test(delivery, window_of_requests)
{
	struct moment moment = given();
	world.settings->window_requests = 50;
	moment.request = 150;
	cr_assert(counts(&moment), "exactly at");
	moment.request = 151;
	cr_assert(!counts(&moment), "one beyond");
	moment.request = 99;
	cr_assert(!counts(&moment), "a number from before");
	moment.request = UINT64_MAX;
	cr_assert(!counts(&moment));
}

Test(delivery, window_of_bytes)
{
	struct moment moment = given();
	uint64_t before = moment.bytes_given;
	world.settings->window_bytes = 1000;
	moment.bytes_given = before + 1000;
	cr_assert(counts(&moment), "exactly at");
	moment.bytes_given = before + 1001;
	cr_assert(!counts(&moment), "one beyond");
	world.settings->window_bytes = 0;
	moment.bytes_given = UINT64_MAX;
	cr_assert(counts(&moment), "0: no limit");
}

Test(delivery, window_of_bytes_from_before)
{
	struct scope_slot *slot = scope_find(&world.segment, scope);
	slot->bytes_given = 500;
	struct moment moment = given();
	moment.bytes_given = 499;
	cr_assert(!counts(&moment));
}

Test(delivery, window_of_age)
{
	struct moment moment = given();
	uint64_t before = moment.time_ns;
	world.settings->window_age_s = 300;
	moment.time_ns = before + 300 * SECOND;
	cr_assert(counts(&moment), "exactly at");
	moment.time_ns = before + 300 * SECOND + 1;
	cr_assert(!counts(&moment), "one beyond");
	moment.time_ns = before - 1;
	cr_assert(!counts(&moment), "a time from before");
	world.settings->window_age_s = 0;
	moment.time_ns = before + 1000000 * SECOND;
	cr_assert(counts(&moment), "0: no limit");
}

Test(delivery, output_limit_of_its_command)
{
	struct moment moment = given();
	sends(&world.segment, command, 24000);
	cr_assert(counts(&moment), "exactly at");
	sends(&world.segment, command, 1); /* by a later viewer of that command */
	cr_assert(!counts(&moment), "one beyond");
	cr_assert(counts_within(&moment, 24001));
}

Test(delivery, of_a_command_pushed_out_of_the_table_does_not_count)
{
	struct moment moment = given();
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_COMMANDS]; i++)
		(void)world_command(&world);
	cr_assert(!counts(&moment));
}

Test(delivery, recorded_again_replaces_and_renews)
{
	struct delivery_slot delivery;
	struct moment moment = given();
	moment.request = 140;
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &moment), 0);
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), 0);
	cr_assert_eq(delivery.request, 140);
	cr_assert_eq(delivery_record(&world.segment, KEY, &OTHER, &moment), 0);
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), 0);
	cr_assert(version_equal(&delivery.version, &OTHER));
}

static void assert_noted(const struct moment *moment, const struct version *version,
			 uint64_t notice_request, uint64_t yield_until)
{
	struct note note = delivery_noted(&world.segment, moment, KEY, version);
	cr_assert_eq(note.notice_request, notice_request, "%lu",
		     (unsigned long)note.notice_request);
	cr_assert_eq(note.yield_until, yield_until, "%lu", (unsigned long)note.yield_until);
}

static void note(const struct moment *moment, const struct version *version,
		 uint64_t notice_request, uint64_t yield_until)
{
	delivery_note(&world.segment, moment, KEY, version,
		      (struct note){ notice_request, yield_until });
}

Test(delivery, a_note_needs_no_delivery_and_is_none)
{
	struct moment moment = moment_now(&world.segment, scope, 100, 0, command);
	struct delivery_slot delivery;
	assert_noted(&moment, &VERSION, 0, 0);
	note(&moment, &VERSION, 5, 0);
	assert_noted(&moment, &VERSION, 5, 0);
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), -ENOENT);
	moment = given();
	assert_noted(&moment, &VERSION, 5, 0);
	cr_assert(counts(&moment));
	cr_assert_eq(delivery_record(&world.segment, KEY, &OTHER, &moment), 0);
	assert_noted(&moment, &VERSION, 5, 0);
	assert_noted(&moment, &OTHER, 0, 0);
}

Test(delivery, of_two_notes_the_later_stands)
{
	struct moment moment = given();
	note(&moment, &VERSION, 5, 16);
	note(&moment, &VERSION, 4, 15);
	assert_noted(&moment, &VERSION, 5, 16);
	note(&moment, &VERSION, 17, 0);
	assert_noted(&moment, &VERSION, 17, 16);
}

Test(delivery, a_note_is_of_its_version_and_epoch)
{
	struct moment moment = given();
	note(&moment, &VERSION, 5, 16);
	assert_noted(&moment, &OTHER, 0, 0);
	moment.scope_epoch++;
	assert_noted(&moment, &VERSION, 0, 0);
	note(&moment, &VERSION, 3, 0); /* of a scope that was lost and counts anew */
	assert_noted(&moment, &VERSION, 3, 0);
	moment.session_epoch++;
	assert_noted(&moment, &VERSION, 0, 0);
	moment.session_epoch--;
	note(&moment, &OTHER, 1, 0);
	assert_noted(&moment, &OTHER, 1, 0);
	assert_noted(&moment, &VERSION, 0, 0);
}

Test(delivery, a_notice_that_was_not_given_is_not_noted)
{
	struct moment moment = given();
	note(&moment, &VERSION, 5, 3);
	delivery_unnote(&world.segment, scope, KEY, 4);
	assert_noted(&moment, &VERSION, 5, 3);
	delivery_unnote(&world.segment, scope, KEY, 5);
	assert_noted(&moment, &VERSION, 0, 3);
	delivery_unnote(&world.segment, scope, KEY + 1, 5); /* there is none */
}

Test(delivery, forget_takes_the_note_along)
{
	struct moment moment = given();
	note(&moment, &VERSION, 5, 16);
	cr_assert_eq(delivery_forget(&world.segment, scope, KEY), 1);
	assert_noted(&moment, &VERSION, 0, 0);
}

Test(delivery, forget_of_other_names_leaves_the_time)
{
	uint64_t other = world_scope(&world, "b");
	struct delivery_slot delivery;
	struct moment moment = given();
	delivery_forget_names(&world.segment, scope, KEY + 1);
	cr_assert_eq(delivery_find(&world.segment, scope, KEY + 1, &delivery), 0);
	cr_assert_geq(delivery.time_ns, moment.time_ns);
	cr_assert(!delivery_is_current(&world.segment, &delivery, &moment, BYTES(24000)));
	cr_assert_eq(delivery_find(&world.segment, other, KEY + 1, &delivery), -ENOENT);
	delivery_forget_names(&world.segment, 0, KEY + 2);
	cr_assert_eq(delivery_find(&world.segment, scope, KEY + 2, &delivery), 0);
	cr_assert_eq(delivery_find(&world.segment, other, KEY + 2, &delivery), 0);
	cr_assert(counts(&moment), "another file stays");
}

Test(delivery, forget_one_scope_or_all)
{
	uint64_t other = world_scope(&world, "b");
	struct moment moment = given();
	struct moment moment_other = moment_now(&world.segment, other, 1, 0, command);
	struct delivery_slot delivery;
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &moment_other), 0);
	cr_assert_eq(delivery_record(&world.segment, KEY + 1, &VERSION, &moment), 0);
	cr_assert_eq(delivery_forget(&world.segment, scope, KEY), 1);
	cr_assert_eq(delivery_forget(&world.segment, scope, KEY), 0, "already");
	cr_assert(!counts(&moment));
	cr_assert_eq(delivery_find(&world.segment, other, KEY, &delivery), 0);
	cr_assert(delivery_is_current(&world.segment, &delivery, &moment_other, BYTES(24000)));
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &moment), 0);
	cr_assert(counts(&moment), "recorded anew");
	cr_assert_eq(delivery_forget(&world.segment, 0, KEY), 2);
	cr_assert_eq(delivery_find(&world.segment, other, KEY, &delivery), 0);
	cr_assert(!delivery_is_current(&world.segment, &delivery, &moment_other, BYTES(24000)));
	cr_assert_eq(delivery_find(&world.segment, scope, KEY + 1, &delivery), 0);
	cr_assert(delivery_is_current(&world.segment, &delivery, &moment, BYTES(24000)),
		  "another file stays");
}

Test(delivery, full_table_forgets_the_oldest_and_goes_on)
{
	struct moment moment = moment_now(&world.segment, scope, 1, 0, command);
	struct delivery_slot delivery;
	unsigned found = 0;
	for (uint64_t key = 1; key <= 400; key++) {
		moment.time_ns++;
		cr_assert_eq(delivery_record(&world.segment, key, &VERSION, &moment), 0);
		cr_assert_eq(delivery_find(&world.segment, scope, key, &delivery), 0);
	}
	for (uint64_t key = 1; key <= 400; key++)
		found += delivery_find(&world.segment, scope, key, &delivery) == 0;
	cr_assert_leq(found, 128);
	cr_assert_geq(found, 64);
}

Test(delivery, damage_is_no_delivery_and_heals)
{
	struct delivery_slot delivery, *slot = NULL;
	struct moment moment = given();
	for (uint64_t i = 0; i < 128; i++) {
		struct delivery_slot *at = segment_slot(&world.segment, TABLE_DELIVERIES, i);
		slot = at->file_key == KEY ? at : slot;
	}
	cr_assert_not_null(slot);
	slot->version.low ^= 1;
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), -ENOENT);
	cr_assert_eq(delivery_forget(&world.segment, 0, KEY), 0);
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), -ENOENT);
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &moment), 0);
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), 0);
	slot->head.sequence |= 1; /* its writer died */
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &delivery), -ENOENT);
	cr_assert_eq(delivery_forget(&world.segment, 0, KEY), 1);
	cr_assert(!counts(&moment));
}

Test(delivery, of_no_command_and_no_scope)
{
	struct moment moment = given(), of_nothing = moment;

	of_nothing.command_id = 0;
	cr_assert_eq(command_grade(&world.segment, &of_nothing, &moment, BYTES(24000)), GRADE_NONE);
	cr_assert_eq(moment_grade(&world.segment, &of_nothing, &moment, BYTES(24000)), GRADE_NONE);
	of_nothing = moment;
	of_nothing.scope_id = 0;
	cr_assert_eq(moment_grade(&world.segment, &of_nothing, &moment, BYTES(24000)), GRADE_NONE);
	of_nothing.scope_epoch = 0;
	cr_assert_eq(moment_grade(&world.segment, &of_nothing, &moment, BYTES(24000)), GRADE_NONE);
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &of_nothing), -ENOSPC);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_deliveries), 1);
	delivery_note(&world.segment, &of_nothing, KEY, &VERSION,
		      (struct note){ .notice_request = 5 });
	cr_assert_eq(delivery_noted(&world.segment, &of_nothing, KEY, &VERSION).notice_request, 0);
}

/* A number from before the note: a scope's slot that was lost counts from elsewhere. */
Test(delivery, asked_again_before_the_notice)
{
	struct note note = { .notice_request = 50 };

	cr_assert(note_asks_again(&world.segment, note, 50));
	cr_assert(!note_asks_again(&world.segment, note, 49));
	cr_assert(!note_asks_again(&world.segment, (struct note){ 0 }, 1));
}

/* `seen replay` has the clock of a transcript. */
Test(delivery, a_clock_of_another_time)
{
	world.segment.replayed_ns = 12345;
	cr_assert_eq(given().time_ns, 12345);
	cr_assert_gt(delivery_forget(&world.segment, scope, KEY), 0);
	struct delivery_slot slot;
	cr_assert_eq(delivery_find(&world.segment, scope, KEY, &slot), 0);
	cr_assert_eq(slot.time_ns, 12345);
}

/* What a damaged segment has in a proof's place proves nothing, and denies nothing. */
Test(delivery, of_a_damaged_proof)
{
	struct moment moment = given();

	must(proof_command(&world.segment, command, (enum proof)7) == 0);
	cr_assert_eq(command_grade(&world.segment, &moment, &moment, BYTES(24000)), GRADE_MEASURED);
}

/* The least of both. */
Test(delivery, limits_that_are_assumed)
{
	const struct output_limits all = limits_assumed(NULL);
	struct output_limits limits = all;

	limits.line_bytes--;
	cr_assert_eq(limits_assumed(&limits).line_bytes, all.line_bytes - 1);
	limits.line_bytes += 2;
	limits.bytes--;
	limits.lines--;
	limits = limits_assumed(&limits);
	cr_assert_eq(limits.line_bytes, all.line_bytes);
	cr_assert_eq(limits.bytes, all.bytes - 1);
	cr_assert_eq(limits.lines, all.lines - 1);
}
