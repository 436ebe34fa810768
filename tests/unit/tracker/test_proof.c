/* proof.h: what a transcript states about a command, and what a delivery counts for by it. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/answer/instruction.h"
#include "tracker/answer/limits.h"
#include "tracker/answer/line_range.h"
#include "tracker/answer/proof.h"
#include "tracker/answer/remembered.h"

static struct world world;
static uint64_t scope, command;
static const uint64_t KEY = 77, LIMIT = 24000, SECOND = 1000000000u;
static const struct version VERSION = { 1, 2, 3 };

static void start(void)
{
	world_open(&world, "session.deliveries=128", "notice.min_bytes=64", NULL);
	scope = world_scope(&world, "a");
	command = world_command(&world);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(proof, .init = start, .fini = stop);

static struct command_slot *slot_of(uint64_t id)
{
	return segment_slot(&world.segment, TABLE_COMMANDS,
			    id % world.segment.capacity[TABLE_COMMANDS]);
}

Test(proof, of_a_command)
{
	const enum proof ALL[] = { PROOF_WHOLE, PROOF_CONTRADICTED, PROOF_OFF_BRANCH, PROOF_NONE };

	cr_assert_eq(proof_of_command(&world.segment, command), PROOF_NONE);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(proof_command(&world.segment, command, ALL[i]), 0);
		cr_assert_eq(proof_of_command(&world.segment, command), ALL[i]);
	}
	cr_assert_eq(proof_command(&world.segment, command + 1, PROOF_WHOLE), -ENOENT);
	cr_assert_eq(proof_command(&world.segment, 0, PROOF_WHOLE), -ENOENT);
	cr_assert_eq(proof_of_command(&world.segment, 0), PROOF_NONE);
}

Test(proof, is_not_passed_on_with_the_slot)
{
	uint64_t next = command + world.segment.capacity[TABLE_COMMANDS];

	cr_assert_eq(proof_command(&world.segment, command, PROOF_WHOLE), 0);
	slot_of(command)->id = next; /* as if written between the check of the id and the store */
	cr_assert_eq(proof_of_command(&world.segment, next), PROOF_NONE);
	cr_assert_eq(proof_of_command(&world.segment, command), PROOF_NONE);
	cr_assert_eq(proof_command(&world.segment, command, PROOF_WHOLE), -ENOENT);
}

Test(proof, flags_of_a_scope)
{
	cr_assert_eq(proof_scope_flags(&world.segment, scope), 0);
	cr_assert_eq(proof_scope(&world.segment, scope, SCOPE_PROVES | SCOPE_MUTE), 0);
	cr_assert_eq(proof_scope_flags(&world.segment, scope), SCOPE_PROVES | SCOPE_MUTE);
	cr_assert_eq(proof_scope(&world.segment, scope, SCOPE_PROVES), 0);
	cr_assert_eq(proof_scope_flags(&world.segment, scope), SCOPE_PROVES);
	cr_assert_eq(scope_new_epoch(&world.segment, scope), 0);
	cr_assert_eq(proof_scope_flags(&world.segment, scope), SCOPE_PROVES,
		     "of the scope, not of its epoch");
	cr_assert_eq(proof_scope(&world.segment, scope + 1, SCOPE_PROVES), -ENOENT);
	cr_assert_eq(proof_scope_flags(&world.segment, scope + 1), 0);
}

static struct moment given(uint64_t bytes)
{
	struct moment moment = moment_now(&world.segment, scope, 100, 0, command);

	sends(&world.segment, command, bytes);
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &moment), 0);
	moment.command_id = world_command(&world);
	return moment;
}

static enum grade grade_after(const struct moment *given, uint64_t after_ns)
{
	struct moment from = *given, moment = *given;

	from.command_id = command;
	moment.time_ns += after_ns;
	moment.scope_flags = proof_scope_flags(&world.segment, scope);
	return moment_grade(&world.segment, &from, &moment, BYTES(LIMIT));
}

Test(proof, whole_counts_for_any_size)
{
	struct moment moment = given(LIMIT + 1);
	cr_assert_eq(grade_after(&moment, 0), GRADE_NONE);
	cr_assert_eq(proof_command(&world.segment, command, PROOF_WHOLE), 0);
	cr_assert_eq(grade_after(&moment, 0), GRADE_PROVEN);
	world.settings->window_age_s = 1;
	cr_assert_eq(grade_after(&moment, 2 * SECOND), GRADE_NONE,
		     "inside the window all the same");
}

Test(proof, contradicted_and_off_branch_count_for_nothing)
{
	struct moment moment = given(100);
	cr_assert_eq(grade_after(&moment, 0), GRADE_MEASURED);
	cr_assert_eq(proof_command(&world.segment, command, PROOF_CONTRADICTED), 0);
	cr_assert_eq(grade_after(&moment, 0), GRADE_NONE);
	cr_assert_eq(proof_command(&world.segment, command, PROOF_OFF_BRANCH), 0);
	cr_assert_eq(grade_after(&moment, 0), GRADE_NONE);
	cr_assert_eq(proof_command(&world.segment, command, PROOF_NONE), 0);
	cr_assert_eq(grade_after(&moment, 0), GRADE_MEASURED);
}

Test(proof, is_waited_for_where_a_transcript_is_read)
{
	struct moment moment = given(ASSUMED_LINE_BYTES);
	sends(&world.segment, command, ASSUMED_LINE_BYTES);
	sends(&world.segment, command, ASSUMED_BYTES - 2 * ASSUMED_LINE_BYTES);
	cr_assert_eq(proof_scope(&world.segment, scope, SCOPE_PROVES), 0);
	cr_assert_eq(grade_after(&moment, 0), GRADE_NONE);
	cr_assert_eq(grade_after(&moment, PROOF_WAIT_NS - 1), GRADE_NONE);
	cr_assert_eq(grade_after(&moment, PROOF_WAIT_NS), GRADE_ASSUMED);
	sends(&world.segment, command, 1);
	cr_assert_eq(grade_after(&moment, PROOF_WAIT_NS), GRADE_NONE, "too long to be assumed");
	cr_assert_eq(proof_command(&world.segment, command, PROOF_WHOLE), 0);
	cr_assert_eq(grade_after(&moment, 0), GRADE_PROVEN);
}

Test(proof, mute_counts_for_nothing)
{
	struct moment moment = given(100);
	cr_assert_eq(proof_command(&world.segment, command, PROOF_WHOLE), 0);
	cr_assert_eq(proof_scope(&world.segment, scope, SCOPE_MUTE), 0);
	cr_assert_eq(grade_after(&moment, 0), GRADE_NONE);
}

Test(proof, large_files_are_answered_once_proven)
{
	world_fill(&world, "big", 20000, 1);
	cr_assert_eq(proof_scope(&world.segment, scope, SCOPE_PROVES), 0);
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	sends(&world.segment, request.command_id, 10000); /* make; cat big */
	cr_assert_eq(open_view(&world, &request, "big", &view), DECISION_CONTENT);
	viewer_finish(&world, &request, &view);
	cr_assert(view.delivered.is_given);
	cr_assert(!world_is_delivered(&world, scope, "big"), "not proven");
	cr_assert_eq(proof_command(&world.segment, request.command_id, PROOF_WHOLE), 0);
	cr_assert(world_is_delivered(&world, scope, "big"));
	cr_assert_eq(world_cat(&world, scope, "big"), DECISION_NOTICE);
	cr_assert_eq(proof_command(&world.segment, request.command_id, PROOF_CONTRADICTED), 0);
	cr_assert_eq(world_cat(&world, scope, "big"), DECISION_CONTENT);
}

Test(proof, an_instruction_is_not_given_twice_before_its_proof_is_due)
{
	struct moment moment = moment_now(&world.segment, scope, 1, 0, command);
	sends(&world.segment, command, ASSUMED_BYTES + 1);
	cr_assert_eq(proof_scope(&world.segment, scope, SCOPE_PROVES), 0);
	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 6, &VERSION), 0);
	moment.command_id = world_command(&world);
	moment.scope_flags = proof_scope_flags(&world.segment, scope);
	cr_assert(instruction_is_given(&world.segment, &moment, 5, 6, &VERSION, BYTES(LIMIT)));
	cr_assert_eq(proof_command(&world.segment, command, PROOF_CONTRADICTED), 0);
	cr_assert(!instruction_is_given(&world.segment, &moment, 5, 6, &VERSION, BYTES(LIMIT)));
	cr_assert_eq(proof_command(&world.segment, command, PROOF_WHOLE), 0);
	cr_assert(instruction_is_given(&world.segment, &moment, 5, 6, &VERSION, BYTES(LIMIT)));
	cr_assert_eq(proof_command(&world.segment, command, PROOF_OFF_BRANCH), 0);
	cr_assert(!instruction_is_given(&world.segment, &moment, 5, 6, &VERSION, BYTES(LIMIT)));
	cr_assert_eq(proof_command(&world.segment, command, PROOF_NONE), 0);
	moment.time_ns += PROOF_WAIT_NS;
	cr_assert(!instruction_is_given(&world.segment, &moment, 5, 6, &VERSION, BYTES(LIMIT)));
}

/* ---- limits ---- */

static uint64_t other_agent(const char *name, struct context *ret_context)
{
	*ret_context = (struct context){ .scope_id = world_scope(&world, name) };
	for (uint64_t i = 0; i < world.settings->profile_count; i++)
		if (strcmp(segment_text(&world.segment, world.settings->profiles[i].name, NULL),
			   name) == 0)
			ret_context->profile = (uint32_t)i + 1;
	return ret_context->scope_id;
}

static void assert_limits(const struct context *context, uint64_t bytes, uint64_t lines,
			  uint64_t line_bytes, bool is_measured)
{
	struct output_limits limits = limits_of_context(&world.segment, context);
	cr_expect_eq(limits.bytes, bytes, "%lu", limits.bytes);
	cr_expect_eq(limits.lines, lines, "%lu", limits.lines);
	cr_expect_eq(limits.line_bytes, line_bytes, "%lu", limits.line_bytes);
	cr_expect_eq(limits.is_measured, is_measured);
}

Test(proof, limits_of_agents, .init = NULL)
{
	struct context context = { 0 };

	world_open(&world, "agent one.measured=7", "agent one.max_output_bytes=10001",
		   "agent one.max_output_lines=2000", "agent two.max_output_bytes=900",
		   "agent two.max_output_lines=50", "agent any.measured=*",
		   "agent any.max_line_bytes=768", NULL);
	assert_limits(&context, ASSUMED_BYTES, ASSUMED_LINES, ASSUMED_LINE_BYTES, false);
	uint64_t id = other_agent("one", &context);
	assert_limits(&context, 5000, 1000, UINT64_MAX, true);
	cr_assert_eq(scope_set_flags(&world.segment, id, SCOPE_VERSION, SCOPE_VERSION), 0);
	assert_limits(&context, 10001, 2000, UINT64_MAX, true);
	cr_assert_eq(proof_scope(&world.segment, id, SCOPE_PROVES), 0);
	assert_limits(&context, 10001, 2000, UINT64_MAX, true);
	(void)other_agent("two", &context);
	assert_limits(&context, 900, 50, ASSUMED_LINE_BYTES, false);
	(void)other_agent("any", &context);
	assert_limits(&context, 24000, UINT64_MAX, 768, true);
	context.profile = 0;
	world.settings->generic_profile = world.profile;
	assert_limits(&context, 24000, UINT64_MAX, UINT64_MAX, true);
	context.profile = UINT32_MAX;
	assert_limits(&context, ASSUMED_BYTES, ASSUMED_LINES, ASSUMED_LINE_BYTES, false);
}

Test(proof, assumed_of_an_agent_that_was_never_measured)
{
	struct moment moment = moment_now(&world.segment, scope, 100, 0, command);
	struct shape shape = { .bytes = ASSUMED_BYTES,
			       .newlines = ASSUMED_LINES,
			       .longest = ASSUMED_LINE_BYTES };
	struct output_limits limits = limits_assumed(NULL);
	struct moment now = moment;

	now.command_id = world_command(&world);
	command_add(&world.segment, command, NULL, &shape);
	cr_assert_eq(moment_grade(&world.segment, &moment, &now, &limits), GRADE_ASSUMED);
	for (int i = 0; i < 3; i++) {
		struct shape more = shape;
		*(uint64_t *[]){ &more.bytes, &more.newlines, &more.longest }[i] += 1;
		moment.command_id = world_command(&world);
		command_add(&world.segment, moment.command_id, NULL, &more);
		cr_assert_eq(moment_grade(&world.segment, &moment, &now, &limits), GRADE_NONE, "%d",
			     i);
	}
}

/* ---- proof_each_delivery() ---- */

struct seen {
	unsigned kinds[4], count;
	struct proof_delivery last[4];
	char path[512];
	int stop;
};

static int see(const struct proof_delivery *delivery, void *data)
{
	struct seen *seen = data;
	seen->count++;
	seen->kinds[delivery->kind]++;
	seen->last[delivery->kind] = *delivery;
	if (delivery->path)
		(void)snprintf(seen->path, sizeof(seen->path), "%s", delivery->path);
	return seen->stop;
}

Test(proof, each_delivery)
{
	const struct span SPAN = { 3, 9 };
	struct inputs inputs = { .size_bytes = 0 };
	struct seen seen = { .count = 0 };
	uint64_t other = world_scope(&world, "b");

	world_fill(&world, "f", 1000, 1);
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	struct moment moment = moment_now(&world.segment, scope, 2, 0, command);
	cr_assert_eq(line_range_record(&world.segment, KEY, &VERSION, 20, &SPAN, 1, &moment), 0);
	cr_assert_eq(instruction_record(&world.segment, &moment, 5, 6, &VERSION), 0);
	cr_assert_eq(remembered_record(&world.segment, &VERSION, &inputs, 1234, &moment), 0);
	moment.command_id = DELIVERY_UNCUT;
	cr_assert_eq(delivery_record(&world.segment, KEY, &VERSION, &moment), 0);

	cr_assert_eq(proof_command(&world.segment, request.command_id, PROOF_WHOLE), 0);
	cr_assert_eq(proof_each_delivery(&world.segment, scope, see, &seen), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(seen.kinds[i], 1, "kind %d: %u", i, seen.kinds[i]);
	cr_assert_str_eq(seen.path, world_path(&world, "f"));
	const struct proof_delivery *file = &seen.last[PROOF_OF_FILE];
	cr_assert_eq(file->command_id, request.command_id);
	cr_assert_eq(file->proof, PROOF_WHOLE);
	cr_assert_eq(file->version.size_bytes, 1000);
	cr_assert_eq(file->command_bytes, 1000);
	cr_assert_eq(file->request, request.number);
	cr_assert_eq(seen.last[PROOF_OF_LINES].first_line, 3);
	cr_assert_eq(seen.last[PROOF_OF_LINES].last_line, 9);
	cr_assert_eq(seen.last[PROOF_OF_LINES].command_id, command);
	cr_assert_eq(seen.last[PROOF_OF_REQUEST].output_bytes, 1234);
	cr_assert_eq(seen.last[PROOF_OF_INSTRUCTION].scope_id, scope);

	seen = (struct seen){ .count = 0 };
	cr_assert_eq(proof_each_delivery(&world.segment, other, see, &seen), 0);
	cr_assert_eq(seen.count, 0);
	seen.stop = 7;
	cr_assert_eq(proof_each_delivery(&world.segment, 0, see, &seen), 7);
	cr_assert_eq(seen.count, 1);
	seen = (struct seen){ .count = 0 };
	cr_assert_eq(scope_new_epoch(&world.segment, scope), 0);
	cr_assert_eq(proof_each_delivery(&world.segment, 0, see, &seen), 0);
	cr_assert_eq(seen.count, 0, "of an epoch that is over");
}

static unsigned count_of(uint64_t scope_id)
{
	struct seen seen = { .count = 0 };

	cr_assert_eq(proof_each_delivery(&world.segment, scope_id, see, &seen), 0);
	return seen.count;
}

/* Neither what was forgotten, nor what no command gave or one that is on no record any more, nor of a session's epoch that is over. */
Test(proof, what_is_no_delivery)
{
	const struct span SPANS[] = { { 3, 9 }, { 12, 15 } };
	struct moment moment = moment_now(&world.segment, scope, 2, 0, command);
	struct inputs inputs = { .size_bytes = 0 };
	struct seen seen = { .count = 0 };
	struct delivery_slot *slot;

	must(line_range_record(&world.segment, KEY, &VERSION, 20, SPANS, 2, &moment) == 0);
	cr_assert_eq(count_of(scope), 2);
	seen.stop = 3; /* behind the first of two */
	cr_assert_eq(proof_each_delivery(&world.segment, 0, see, &seen), 3);
	cr_assert_eq(seen.count, 1);
	cr_assert_str_eq(seen.path, "", "its file is on no record");
	(void)line_range_forget(&world.segment, scope, KEY);
	cr_assert_eq(count_of(scope), 0);

	must(remembered_record(&world.segment, &VERSION, &inputs, 1234, &moment) == 0);
	cr_assert_eq(count_of(scope), 1);
	(void)remembered_forget(&world.segment, scope);
	cr_assert_eq(count_of(scope), 0);

	moment.command_id = command + 1; /* there was none */
	must(delivery_record(&world.segment, KEY, &VERSION, &moment) == 0);
	cr_assert_eq(count_of(scope), 0);
	moment.command_id = command;
	must(delivery_record(&world.segment, KEY, &VERSION, &moment) == 0);
	cr_assert_eq(count_of(scope), 1);
	(void)tracker_forget_all(&world.segment, 0);
	cr_assert_eq(count_of(scope), 0);

	moment = moment_now(&world.segment, scope, 2, 0, command);
	must(delivery_record(&world.segment, KEY, &VERSION, &moment) == 0);
	cr_assert_eq(count_of(scope), 1);
	moment.scope_epoch = 0; /* as of a scope with sub-agents */
	must(delivery_record(&world.segment, KEY, &VERSION, &moment) == 0);
	cr_assert_eq(count_of(scope), 0);
	moment.scope_epoch = scope_epoch(&world.segment, scope);
	must(delivery_record(&world.segment, KEY, &VERSION, &moment) == 0);
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_DELIVERIES]; i++) {
		slot = segment_slot(&world.segment, TABLE_DELIVERIES, i);
		slot->head.check ^= slot->file_key == KEY;
	}
	cr_assert_eq(count_of(scope), 0, "it is damaged");
}

/* The file of what was given has no path any more. */
static void lose_path(struct file_slot *file, const void *data)
{
	(void)data;
	file->path_bytes = 0;
}

Test(proof, of_a_file_without_a_path)
{
	struct moment moment = moment_now(&world.segment, scope, 2, 0, command);
	struct seen seen = { .count = 0 };

	world_fill(&world, "f", 1000, 1);
	uint64_t key = file_update(&world.segment, world_path(&world, "f"), NULL, NULL, NULL);
	must(key && delivery_record(&world.segment, key, &VERSION, &moment) == 0);
	must(file_change_known(&world.segment, key, lose_path, NULL) == 0);
	cr_assert_eq(proof_each_delivery(&world.segment, scope, see, &seen), 0);
	cr_assert_eq(seen.count, 1);
	cr_assert_null(seen.last[PROOF_OF_FILE].path);
}
