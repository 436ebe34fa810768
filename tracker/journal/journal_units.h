/*
 * Where the records of a view lie, for the files that write, read, map and grow it.  What a hot
 * path needs of each is inlined.
 */
#ifndef SEEN_TRACKER_JOURNAL_UNITS_H
#define SEEN_TRACKER_JOURNAL_UNITS_H

#include <string.h>

#include "tracker/journal/journal.h"

enum { JOURNAL_UNITS_PER_PAGE = 4096 / JOURNAL_UNIT_BYTES };

static inline unsigned char *unit_in(const struct journal_window *window, uint64_t number)
{
	unsigned char *units = __atomic_load_n(&window->units, __ATOMIC_ACQUIRE);
	return units && number >= window->from && number < window->to
		       ? units + number * JOURNAL_UNIT_BYTES
		       : NULL;
}

/* Where a record begins that does not begin in the newest window. */
static __attribute__((noinline, unused)) unsigned char *unit_before(const struct journal *journal,
								    uint32_t newest,
								    uint64_t number)
{
	for (uint32_t i = newest; i-- > 0;) {
		unsigned char *unit = unit_in(&journal->windows[i], number);
		if (unit)
			return unit;
	}
	return NULL;
}

/* Where a record begins; NULL where that is not mapped.  The newest window first: there is
 * written. */
static inline unsigned char *unit_at(const struct journal *journal, uint64_t number)
{
	if (!journal->window_units)
		return number < journal->mapped_units ? journal->units + number * JOURNAL_UNIT_BYTES
						      : NULL;
	uint32_t used = __atomic_load_n(&journal->windows_used, __ATOMIC_ACQUIRE);
	if (used == 0)
		return NULL;
	uint32_t count = used < JOURNAL_WINDOWS_MAX ? used : JOURNAL_WINDOWS_MAX;
	/* cppcheck-suppress negativeIndex ; used is not 0 here */
	unsigned char *unit = unit_in(&journal->windows[count - 1], number);
	return unit ? unit : unit_before(journal, count - 1, number);
}

static inline bool is_mapped(const struct journal *journal, uint64_t number)
{
	return unit_at(journal, number) != NULL;
}

/* The first word of a record as one value: what is published by one instruction. */
static inline uint64_t *word_in(unsigned char *unit)
{
	return (uint64_t *)(void *)unit;
}

static inline uint64_t word_of(const struct journal_head *head)
{
	uint64_t word;
	memcpy(&word, head, sizeof(word));
	return word;
}

static inline struct journal_head head_of(uint64_t word)
{
	struct journal_head head;
	memcpy(&head, &word, sizeof(head));
	return head;
}

/* What may be inspected: below this, where it is mapped.  A record at the end of a window goes on
 * behind it. */
static inline uint64_t limit_of(const struct journal *journal)
{
	uint64_t allocated = __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE);
	return allocated < journal->mapped_units || journal->window_units ? allocated
									  : journal->mapped_units;
}

static inline void raise_to(uint64_t *word, uint64_t value)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
	while (old < value && !__atomic_compare_exchange_n(word, &old, value, true,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

#endif
