/*
 * What the tests with damaged files share: numbers that are likely to hurt, and mappings between two pages
 * without access, so that an access beyond it is a fault even without a sanitizer.
 *
 * FUZZ_SEED and FUZZ_ROUNDS in the environment change the defaults; SEEN_LONG is thirty times the rounds.
 */
#ifndef SEEN_TESTS_UNIT_FUZZ_H
#define SEEN_TESTS_UNIT_FUZZ_H

#include <stdlib.h>
#include <sys/mman.h>

#include "support.h"

enum { FUZZ_ROUND_SECONDS = 10, FUZZ_PAGE = 4096 };

static uint64_t random_state, seed;
static uint64_t *round_at; /* shared with the parent */

/* fuzz_init(): returns the number of rounds. */
static inline uint64_t fuzz_init(uint64_t default_rounds)
{
	const char *said = getenv("FUZZ_SEED"), *rounds_said = getenv("FUZZ_ROUNDS");

	seed = said ? strtoull(said, NULL, 10) : 20260101;
	random_state = seed * 2 + 1;
	round_at = mmap(NULL, FUZZ_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(round_at != MAP_FAILED);
	if (rounds_said)
		return strtoull(rounds_said, NULL, 10);
	return getenv("SEEN_LONG") ? 30 * default_rounds : default_rounds;
}

/* start_round(): one that takes too long is ended by a signal. */
static inline void start_round(void)
{
	(*round_at)++;
	(void)alarm(FUZZ_ROUND_SECONDS);
}

static inline uint64_t pick(uint64_t limit)
{
	return (next_random(&random_state) >> 11) % limit;
}

/* nasty(): any number, a boundary, or one below `limit`, which may be an offset. */
static inline uint64_t nasty(uint64_t limit)
{
	static const uint64_t WORDS[] = { 0,
					  1,
					  7,
					  8,
					  16,
					  63,
					  64,
					  127,
					  128,
					  255,
					  4095,
					  4096,
					  65535,
					  65536,
					  1u << 31,
					  UINT32_MAX,
					  1ull << 32,
					  INT64_MAX,
					  1ull << 63,
					  UINT64_MAX,
					  UINT64_MAX - 7,
					  UINT64_MAX - 63 };
	switch (pick(4)) {
	case 0:
		return next_random(&random_state);
	case 1:
		return pick(limit);
	case 2:
		return pick(UINT32_MAX) << 32 | pick(UINT32_MAX);
	default:
		return WORDS[pick(sizeof(WORDS) / sizeof(WORDS[0]))];
	}
}

static inline size_t whole_pages(size_t bytes)
{
	return (bytes + FUZZ_PAGE - 1) / FUZZ_PAGE * FUZZ_PAGE;
}

/* guard(): moves a mapping between two guard pages; returns where it is now. */
static inline unsigned char *guard(void *mapping, size_t size_bytes)
{
	size_t bytes = whole_pages(size_bytes);
	unsigned char *area = mmap(NULL, bytes + 2 * FUZZ_PAGE, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(area != MAP_FAILED);
	must(mremap(mapping, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, area + FUZZ_PAGE) ==
	     area + FUZZ_PAGE);
	return area + FUZZ_PAGE;
}

/* unguard(): unmaps it, and them. */
static inline void unguard(void *mapping, size_t size_bytes)
{
	must(munmap((unsigned char *)mapping - FUZZ_PAGE,
		    whole_pages(size_bytes) + 2 * FUZZ_PAGE) == 0);
}

#endif
