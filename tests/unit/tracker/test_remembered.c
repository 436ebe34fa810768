/* remembered.h: when a command counts, how it was answered, how many of a scope, and what is kept of its inputs. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/answer/notice.h"
#include "tracker/answer/remembered.h"
#include "tracker/content/contents_inputs.h"

static struct world world;
static struct inputs inputs, loaded;
static uint64_t scope;

enum { LIMIT = 24000, OUTPUT = 900 };

static void start(void)
{
	world_open(&world, "window.requests=5", "notice.insist_requests=3", NULL);
	scope = world_scope(&world, "a");
	must(inputs_init(&inputs) == 0 && inputs_init(&loaded) == 0);
	must(inputs_add(&inputs, INPUT_TYPE, 0, world.workspace, -1, 0) == 0);
}

static void stop(void)
{
	inputs_done(&inputs);
	inputs_done(&loaded);
	world_close(&world);
}

TestSuite(remembered, .init = start, .fini = stop);

static struct version command(uint64_t number)
{
	return (struct version){ number, number + 1, 7 };
}

static struct moment next_of(uint64_t id)
{
	return moment_now(&world.segment, id, scope_request(&world.segment, id), 0,
			  world_command(&world));
}

static struct moment deliver(uint64_t number)
{
	struct moment moment = next_of(scope);
	struct version identity = command(number);
	must(remembered_record(&world.segment, &identity, &inputs, OUTPUT, &moment) == 0);
	return moment;
}

static bool counts_for(uint64_t id, uint64_t number, struct moment moment)
{
	struct remembered_slot slot;
	struct version identity = command(number);
	return remembered_find(&world.segment, id, &identity, &slot) == 0 &&
	       remembered_is_current(&world.segment, &slot, &moment, BYTES(LIMIT));
}

static bool counts(uint64_t number)
{
	return counts_for(scope, number,
			  moment_now(&world.segment, scope,
				     scope_find(&world.segment, scope)->requests + 1, 0, 0));
}

static struct remembered_slot slot_of(uint64_t number)
{
	struct remembered_slot slot;
	struct version identity = command(number);
	must(remembered_find(&world.segment, scope, &identity, &slot) == 0);
	return slot;
}

Test(remembered, given)
{
	cr_assert_not(counts(1));
	deliver(1);
	cr_assert(counts(1));
	cr_assert_not(counts(2));
	struct remembered_slot slot = slot_of(1);
	cr_assert_eq(slot.output_bytes, OUTPUT);
	cr_assert_eq(remembered_inputs(&world.segment, &slot, &loaded), 0);
	cr_assert_eq(loaded.size_bytes, inputs.size_bytes);
	cr_assert_eq(memcmp(loaded.bytes, inputs.bytes, inputs.size_bytes), 0);
	cr_assert(inputs_are_same(&loaded, true));
}

Test(remembered, another_command_of_the_same_key)
{
	struct version other = command(1);
	struct remembered_slot slot;
	deliver(1);
	other.high++;
	cr_assert_eq(remembered_find(&world.segment, scope, &other, &slot), -ENOENT);
}

Test(remembered, window)
{
	struct moment moment = deliver(1);
	moment.request += 5;
	cr_assert(counts_for(scope, 1, moment));
	moment.request++;
	cr_assert_not(counts_for(scope, 1, moment));
}

Test(remembered, window_in_time_and_bytes)
{
	struct moment first = deliver(1), later = next_of(scope);
	const uint64_t SECOND = 1000000000;

	world.settings->window_age_s = 60;
	world.settings->window_bytes = 5000;
	later.time_ns = first.time_ns + 60 * SECOND;
	later.bytes_given = first.bytes_given + 5000;
	cr_assert(counts_for(scope, 1, later));
	later.time_ns++;
	cr_assert_not(counts_for(scope, 1, later));
	later.time_ns--;
	later.bytes_given++;
	cr_assert_not(counts_for(scope, 1, later));
}

Test(remembered, scopes_and_epochs)
{
	uint64_t other = world_scope(&world, "b");
	deliver(1);
	cr_assert_not(counts_for(other, 1, next_of(other)));
	(void)tracker_forget_all(&world.segment, other);
	cr_assert(counts(1));
	(void)tracker_forget_all(&world.segment, scope);
	cr_assert_not(counts(1));
	deliver(1);
	(void)tracker_forget_all(&world.segment, 0);
	cr_assert_not(counts(1));
}

Test(remembered, invalidated)
{
	uint64_t other = world_scope(&world, "b");
	deliver(1);
	deliver(2);
	cr_assert_eq(remembered_forget(&world.segment, other), 0);
	cr_assert(counts(1) && counts(2));
	cr_assert_eq(remembered_forget(&world.segment, scope), 2);
	cr_assert_not(counts(1) || counts(2));
	deliver(1);
	cr_assert_eq(remembered_forget(&world.segment, 0), 1);
	cr_assert_not(counts(1));
}

Test(remembered, a_file_is_invalidated)
{
	deliver(1);
	cr_assert_eq(tracker_forget(&world.segment, scope, "/nowhere/at/all"), -ENOENT);
	cr_assert(counts(1));
	cr_assert_eq(tracker_forget(&world.segment, scope, world.workspace), 0);
	cr_assert_not(counts(1));
	cr_assert_eq(tracker_forget(&world.segment, scope, world.workspace), -ENOENT);
}

Test(remembered, fifty_of_a_scope)
{
	uint64_t other = world_scope(&world, "b");
	struct moment of_other = next_of(other);
	struct version identity = command(1000);
	must(remembered_record(&world.segment, &identity, &inputs, OUTPUT, &of_other) == 0);
	for (uint64_t i = 1; i <= REMEMBERED_OF_SCOPE_MAX; i++)
		deliver(i);
	deliver(REMEMBERED_OF_SCOPE_MAX); /* again: no other one */
	unsigned known = 0;
	for (uint64_t i = 1; i <= REMEMBERED_OF_SCOPE_MAX; i++)
		known += slot_of(i).command_id != 0;
	cr_assert_eq(known, REMEMBERED_OF_SCOPE_MAX);
	deliver(REMEMBERED_OF_SCOPE_MAX + 1);
	struct remembered_slot slot;
	identity = command(1);
	cr_assert(remembered_find(&world.segment, scope, &identity, &slot) < 0 || !slot.command_id);
	cr_assert(slot_of(2).command_id && slot_of(REMEMBERED_OF_SCOPE_MAX + 1).command_id);
	identity = command(1000);
	cr_assert_eq(remembered_find(&world.segment, other, &identity, &slot), 0);
	cr_assert(slot.command_id);
}

Test(remembered, asks_again)
{
	uint64_t at = deliver(1).request + 1;
	struct remembered_slot slot = slot_of(1);
	uint64_t insist = world.segment.settings->notice_insist_requests;
	cr_assert_not(remembered_yields(&world.segment, &slot, at));
	remembered_note(&world.segment, &slot, (struct note){ .notice_request = at });
	slot = slot_of(1);
	cr_assert_not(remembered_yields(&world.segment, &slot, at + 4));
	cr_assert_eq(segment_counter(&world.segment, COUNTER_yields), 0);
	cr_assert_eq(slot_of(1).yield_until, 0);
	cr_assert(remembered_yields(&world.segment, &slot, at + 3));
	cr_assert_eq(segment_counter(&world.segment, COUNTER_yields), 1);
	cr_assert_eq(slot_of(1).yield_until, at + 3 + insist);
	slot = slot_of(1);
	cr_assert(remembered_yields(&world.segment, &slot, at + 3 + insist));
	cr_assert_eq(slot_of(1).yield_until, at + 3 + insist); /* not for ever */
	cr_assert_not(remembered_yields(&world.segment, &slot, at + 4 + insist));
	/* given anew, from the same: it stays noted; from others: not */
	deliver(1);
	cr_assert_eq(slot_of(1).yield_until, at + 3 + insist);
	must(inputs_add(&inputs, INPUT_TYPE, 0, world.root, -1, 0) == 0);
	deliver(1);
	cr_assert_eq(slot_of(1).yield_until, 0);
	cr_assert_eq(slot_of(1).notice_request, 0);
}

Test(remembered, a_notice_that_could_not_be_given)
{
	deliver(1);
	struct remembered_slot slot = slot_of(1);
	remembered_note(&world.segment, &slot, (struct note){ .notice_request = 9 });
	remembered_unnote(&world.segment, &slot, 8);
	cr_assert_eq(slot_of(1).notice_request, 9);
	remembered_unnote(&world.segment, &slot, 9);
	cr_assert_eq(slot_of(1).notice_request, 0);
}

Test(remembered, a_list_that_is_another)
{
	char name[32], path[200];
	deliver(1);
	struct remembered_slot slot = slot_of(1);
	(void)snprintf(name, sizeof(name), "inputs-%llu", (unsigned long long)slot.file);
	cr_assert(contents_is_inputs(name));
	(void)snprintf(path, sizeof(path), "%s/%s", world.contents, name);
	int fd = open(path, O_RDWR);
	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, "x", 1, 60), 1);
	cr_assert_eq(remembered_inputs(&world.segment, &slot, &loaded), -EBADMSG);
	must(ftruncate(fd, 0) == 0);
	cr_assert_eq(remembered_inputs(&world.segment, &slot, &loaded), -EBADMSG);
	must(unlink(path) == 0);
	cr_assert_eq(remembered_inputs(&world.segment, &slot, &loaded), -ENOENT);
	must(mkfifo(path, 0600) == 0);
	cr_assert_eq(remembered_inputs(&world.segment, &slot, &loaded), -EBADMSG);
	cr_assert_eq(loaded.size_bytes, 0);
}

Test(remembered, names_of_lists)
{
	cr_assert_not(contents_is_inputs("inputs-"));
	cr_assert_not(contents_is_inputs("inputs-1x"));
	cr_assert_not(contents_is_inputs("inputs"));
	cr_assert_not(contents_is_inputs("index"));
	cr_assert(contents_is_inputs("inputs-0"));
}

static int notice_of(char *const words[], uint64_t age_ns, char *ret_text, size_t capacity)
{
	char command[SEGMENT_PATH_BYTES];

	notice_command(words, command, sizeof(command));
	return notice_request(&world.segment, command, true, 900, age_ns, ret_text, capacity);
}

Test(remembered, notice_in_other_words)
{
	char text[2000];
	int length = notice_request(&world.segment, "grep -rn 'a b' f", false, 900, 0, text,
				    sizeof(text));
	cr_assert_eq((size_t)length, strlen(text));
	cr_assert(strstr(text, "[Command already run in other words: grep -rn 'a b' f. Same output "
			       "as 0 seconds ago") == text,
		  "%s", text);
}

Test(remembered, notice)
{
	char *words[] = { (char *)"grep", (char *)"-rn", (char *)"a\nb", NULL }, text[2000];
	int length = notice_of(words, 61000000000u, text, sizeof(text));
	cr_assert_gt(length, 0);
	cr_assert_eq((size_t)length, strlen(text));
	cr_assert(strstr(text,
			 "[Command already run: grep -rn 'a\\nb'. Same output as 1 minute ago") ==
		  text);
	char *unusual[] = { (char *)"grep", (char *)"it's a", (char *)"",
			    (char *)"-e$x", (char *)"\u00e9", NULL };
	cr_assert_gt(notice_of(unusual, 0, text, sizeof(text)), 0);
	cr_assert(strstr(text, "run: grep 'it'\\\\''s a' '' '-e$x' \u00e9. Same") != NULL, "%s",
		  text);
	cr_assert_gt(notice_of(words, 61000000000u, text, sizeof(text)), 0);
	cr_assert(strstr(text, world.segment.header->nonce));
	cr_assert_eq(strchr(text, '\n'), text + length - 1);
	for (size_t capacity = 0; capacity <= (size_t)length; capacity++)
		cr_assert_lt(notice_of(words, 61000000000u, text, capacity), 0);
	/* of a long one the beginning, not cut inside a character */
	char large[1000];
	for (size_t i = 0; i < 999; i += 3)
		memcpy(large + i, "\xe2\x82\xac", 3);
	for (size_t less = 0; less < 6; less++) {
		large[999 - less] = '\0';
		words[1] = large + less % 3 * 3;
		large[998 - less % 3] = '\0';
		length = notice_of(words, 0, text, sizeof(text));
		cr_assert(length > 0 && length < 700);
		cr_assert(strstr(text, "..."));
		cr_assert_not(strstr(text, "\\x"));
	}
}

static struct moment moment_of(uint64_t id)
{
	return moment_now(&world.segment, id, scope_find(&world.segment, id)->requests + 1, 0, 0);
}

/* What was not answered for its output is not tried again for ten minutes, by the same conversation. */
Test(remembered, refused)
{
	struct version identity = command(1);
	struct moment moment = next_of(scope);
	struct remembered_slot slot;

	deliver(1);
	slot = slot_of(1);
	cr_assert_not(remembered_is_refused(&slot, &moment));
	remembered_refuse(&world.segment, &identity, &moment);
	slot = slot_of(1);
	cr_assert(remembered_is_refused(&slot, &moment));
	cr_assert_not(counts(1));
	moment.time_ns = slot.time_ns + 600 * UINT64_C(1000000000);
	cr_assert_not(remembered_is_refused(&slot, &moment));
	moment.time_ns--;
	cr_assert(remembered_is_refused(&slot, &moment));
	moment.scope_epoch++;
	cr_assert_not(remembered_is_refused(&slot, &moment));
	moment.scope_epoch--;
	moment.session_epoch++;
	cr_assert_not(remembered_is_refused(&slot, &moment));
	/* One that was forgotten is no such. */
	deliver(2);
	(void)remembered_forget(&world.segment, scope);
	slot = slot_of(2);
	moment = moment_of(scope);
	cr_assert_not(remembered_is_refused(&slot, &moment));
	/* Nothing is on record of no scope. */
	moment.scope_id = 0;
	remembered_refuse(&world.segment, &identity, &moment);
}

/* A hash that is 0 has a place, too. */
Test(remembered, a_key_of_zero)
{
	deliver(0);
	cr_assert(counts(0));
	cr_assert_not(counts(1));
}

Test(remembered, in_another_conversation)
{
	deliver(1);
	struct remembered_slot slot = slot_of(1);
	remembered_note(&world.segment, &slot, (struct note){ .notice_request = 5 });
	(void)tracker_forget_all(&world.segment, scope);
	slot = slot_of(1);
	remembered_note(&world.segment, &slot, (struct note){ .notice_request = 5 });
	deliver(1);
	cr_assert_eq(slot_of(1).notice_request, 0);
}

Test(remembered, without_a_place)
{
	struct version identity = command(1);
	struct moment moment = next_of(scope);
	struct remembered_slot slot;

	moment.scope_id = 0;
	cr_assert_eq(remembered_record(&world.segment, &identity, &inputs, OUTPUT, &moment),
		     -ENOSPC);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_requests), 1);
	deliver(1);
	slot = slot_of(1);
	memset(segment_slot(&world.segment, TABLE_REMEMBERED, slot.file), 0, sizeof(slot));
	remembered_note(&world.segment, &slot, (struct note){ .notice_request = 5 });
	remembered_unnote(&world.segment, &slot, 5);
	cr_assert_not(counts(1));
	/* The list of its inputs has no place. */
	must(rename(world.contents, world.undo) == 0 || rmdir(world.contents) == 0);
	moment = next_of(scope);
	cr_assert_lt(remembered_record(&world.segment, &identity, &inputs, OUTPUT, &moment), 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_requests), 2);
}

/* The oldest makes room; what is damaged counts as none. */
Test(remembered, room_beside_damage)
{
	for (uint64_t i = 1; i <= REMEMBERED_OF_SCOPE_MAX; i++)
		deliver(i);
	struct remembered_slot *slot = segment_slot(&world.segment, TABLE_REMEMBERED,
						    slot_of(5).file);
	slot->head.check ^= 1;
	deliver(REMEMBERED_OF_SCOPE_MAX + 1);
	cr_assert_neq(slot_of(1).command_id, 0);
	deliver(REMEMBERED_OF_SCOPE_MAX + 2);
	cr_assert_eq(slot_of(1).command_id, 0);
	cr_assert_neq(slot_of(2).command_id, 0);
}

/* A note of the session's epoch that is over does not go on. */
Test(remembered, notes_of_another_epoch)
{
	deliver(1);
	struct remembered_slot slot = slot_of(1);
	remembered_note(&world.segment, &slot, (struct note){ .notice_request = 5 });
	deliver(1);
	cr_assert_eq(slot_of(1).notice_request, 5);
	(void)tracker_forget_all(&world.segment, 0);
	deliver(1);
	cr_assert_eq(slot_of(1).notice_request, 0);
}
