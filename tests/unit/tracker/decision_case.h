/* Reads by viewers of a scope, and how each is answered: what the tests of decisions share. */
#ifndef SEEN_TESTS_DECISION_CASE_H
#define SEEN_TESTS_DECISION_CASE_H

#include <criterion/criterion.h>
#include <sys/mman.h>

#include "support.h"
#include "tracker/sys/sys.h"

static struct world world;

static uint64_t scope;

static inline void start(void)
{
	world_open(&world, NULL);
	scope = world_scope(&world, "a");
	world_fill(&world, "f", 4096, 1);
}

static inline void stop(void)
{
	world_close(&world);
}

#define ASSERT_CAT(name, decision_, reason_) \
	do { \
		enum reason got; \
		cr_assert_eq(world_cat_reason(&world, scope, name, &got), decision_, \
			     "%s: reason %d", name, (int)got); \
		cr_assert_eq(got, reason_, "%s: reason %d", name, (int)got); \
	} while (0)

#define ASSERT_NEW(name) ASSERT_CAT(name, DECISION_CONTENT, REASON_NOT_DELIVERED)

#define ASSERT_NOTICE(name) ASSERT_CAT(name, DECISION_NOTICE, REASON_REPEATED)

#define ASSERT_GIVEN_AGAIN(name) ASSERT_CAT(name, DECISION_GIVEN_AGAIN, REASON_ASKED_AGAIN)

static inline uint64_t counter(enum counter which)
{
	return segment_counter(&world.segment, which);
}

/* Requests for nothing in particular. */
static inline void pass(unsigned requests)
{
	while (requests-- > 0)
		(void)scope_request(&world.segment, scope);
}

#endif
