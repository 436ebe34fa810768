/* slot.h: whole, torn, damaged and abandoned records. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/segment/slot.h"

struct record {
	struct slot_head head;
	uint64_t words[5];
};

static struct record slot, copy;

static void write_value(uint64_t value)
{
	cr_assert(slot_acquire(&slot, &copy, sizeof(slot)));
	for (size_t i = 0; i < 5; i++)
		copy.words[i] = value + i;
	slot_commit(&slot, &copy, sizeof(slot));
}

Test(slot, fresh_memory_is_whole)
{
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[4], 0);
}

Test(slot, read_gives_what_was_committed)
{
	write_value(10);
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 10);
	cr_assert_eq(copy.words[4], 14);
	cr_assert_eq(slot.head.sequence % 2, 0);
}

Test(slot, abandon_changes_nothing)
{
	write_value(10);
	cr_assert(slot_acquire(&slot, &copy, sizeof(slot)));
	copy.words[0] = 99;
	slot_abandon(&slot, &copy, sizeof(slot));
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 10);
}

Test(slot, being_written_is_not_read)
{
	write_value(10);
	cr_assert(slot_acquire(&slot, &copy, sizeof(slot)));
	struct record other;
	cr_assert(!slot_read(&slot, &other, sizeof(other)));
	slot_commit(&slot, &copy, sizeof(slot));
	cr_assert(slot_read(&slot, &other, sizeof(other)));
}

Test(slot, every_damaged_bit_is_seen)
{
	write_value(10);
	for (size_t bit = 32; bit < 8 * sizeof(slot); bit++) { /* all but the sequence number */
		unsigned char *byte = (unsigned char *)&slot + bit / 8;
		*byte ^= (unsigned char)(1u << bit % 8);
		cr_assert(!slot_read(&slot, &copy, sizeof(slot)), "bit %zu", bit);
		*byte ^= (unsigned char)(1u << bit % 8);
	}
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
}

Test(slot, damaged_body_is_given_as_zeroes_and_heals)
{
	write_value(10);
	slot.words[2] ^= 1;
	cr_assert(slot_acquire(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 0);
	cr_assert_eq(copy.words[4], 0);
	copy.words[0] = 5;
	slot_commit(&slot, &copy, sizeof(slot));
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 5);
}

Test(slot, of_a_dead_writer_is_taken_over)
{
	write_value(10);
	struct record dead;
	cr_assert(slot_acquire(&slot, &dead, sizeof(slot))); /* and never heard of again */
	write_value(20);
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 20);
	write_value(30);
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 30);
}

Test(slot, a_writer_that_was_only_slow_is_not_believed)
{
	/* What the thief wrote (a forget, say) must not be undone by the record of before. */
	write_value(10);
	struct record slow, thief;
	cr_assert(slot_acquire(&slot, &slow, sizeof(slot)));
	cr_assert(slot_acquire(&slot, &thief, sizeof(slot)));
	thief.words[0] = 77;
	slot_commit(&slot, &thief, sizeof(slot));
	slot_commit(&slot, &slow, sizeof(slot));
	cr_assert(slot_read(&slot, &copy, sizeof(slot)), "what the thief wrote was spoilt");
	cr_assert_eq(copy.words[0], 77, "the slow writer's record is believed: %lu", copy.words[0]);
	write_value(40);
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 40);
}

Test(slot, slow_writer_inside_the_thiefs_turn)
{
	write_value(10);
	struct record slow, thief;
	cr_assert(slot_acquire(&slot, &slow, sizeof(slot)));
	cr_assert(slot_acquire(&slot, &thief, sizeof(slot)));
	slot_commit(&slot, &slow, sizeof(slot)); /* lets go of nothing: it is the thief's */
	cr_assert(!slot_read(&slot, &copy, sizeof(slot)));
	thief.words[0] = 77;
	slot_commit(&slot, &thief, sizeof(slot));
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 77);
}

Test(slot, sequence_number_wraps)
{
	write_value(10);
	slot.head.sequence = UINT32_MAX - 1;
	write_value(20);
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 20);
	cr_assert_eq(slot.head.sequence, 0);
	slot.head.sequence = UINT32_MAX; /* a dead writer's */
	write_value(30);
	cr_assert(slot_read(&slot, &copy, sizeof(slot)));
	cr_assert_eq(copy.words[0], 30);
}
