/*
 * Facts: what `seen run` finds about its surroundings at the beginning and the end of a run, which
 * no process of the session tells.  They are records of the journal, so that they are sealed with it.
 */
#ifndef SEEN_CLI_FACT_H
#define SEEN_CLI_FACT_H

#include <stdint.h>

#include "tracker/journal/journal.h"

/* FACTS(FACT): FACT(NAME, "name").  Appended to, never reordered: the number is in `flags` of a
 * record, the name in seen/log/1. */
#define FACTS(FACT) \
	FACT(COMMIT_BEFORE, "commit_before") /* of the workspace, in hexadecimal digits */ \
	FACT(COMMIT_AFTER, "commit_after") \
	FACT(RULE, "rule")       /* "NAME ACTION op=... path=...", as the configuration has it */ \
	FACT(STATUS, "status")   /* of the run's command: a decimal number; 128+N: by signal N */ \
	FACT(LEVEL, "level")     /* [journal] level: what of the accesses goes on record */ \
	FACT(EXCLUDE, "exclude") /* [journal] exclude, where it is set */

enum fact {
	FACT_NONE,
#define FACT(name, word) FACT_##name,
	FACTS(FACT)
#undef FACT
		FACT_COUNT,
};

/* fact_name(): "commit_before" ...; NULL for a number that is none: a record of a later version, or
 * a damaged one.  Static. */
const char *fact_name(uint32_t fact);

/* fact_write(): appends a record.
 *
 * journal: unmapped: nothing is done.  value: NULL: there is none; what is longer than a text of the
 * journal is cut, and marked so. */
void fact_write(struct journal *journal, enum fact fact, const char *value);

#endif
