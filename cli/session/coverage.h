/*
 * Coverage: which processes of a session, or of one run of it, were observed, which were not, and
 * why.
 */
#ifndef SEEN_CLI_COVERAGE_H
#define SEEN_CLI_COVERAGE_H

#include <stdint.h>

#include "tracker/journal/journal.h"
#include "tracker/segment/segment.h"

enum { COVERAGE_PROGRAMS_MAX = 64, COVERAGE_NAME_BYTES = 40 };

/* A program that was not observed, or not in full. */
struct coverage_program {
	char name[COVERAGE_NAME_BYTES]; /* data of others */
	const char *reason;             /* static text */
	/* why no supervisor took it when it was started; static text; NULL: none was asked */
	const char *plainly;
	bool partly;    /* observed, but not all that it does */
	unsigned count; /* processes */
};

struct coverage {
	uint64_t observed;   /* by the library or the supervisor */
	uint64_t supervised; /* of these, by the supervisor alone */
	uint64_t unobserved;
	uint64_t partial; /* observed, and known to do more than was seen */
	uint64_t unattached;
	uint64_t opens;
	uint64_t lost_records;    /* since the journal began */
	uint64_t calls_unjudged;  /* that the supervisor could not inspect */
	uint64_t without_journal; /* observed processes that could not write to it */
	int full_errno;           /* why the journal had no room; 0: it has */
	struct coverage_program programs[COVERAGE_PROGRAMS_MAX];
	int program_count;
};

/* coverage_compute(): inspects a session's processes.
 *
 * journal: of the session, to find the programs' files by; may be unmapped.  since_ns: processes
 * that were started before it (CLOCK_BOOTTIME) are left out.  counters: what the session has
 * counted since then: counts_compute().
 * A program that was started less than a second ago and has not begun is left out, too.
 * Inspects the files of programs that were not observed (executable.h). */
void coverage_compute(const struct segment *segment, const struct journal *journal,
		      const uint64_t *counters, uint64_t since_ns, struct coverage *ret_coverage);

/* coverage_wait(): lets programs that were started a moment ago begin, so that they are not taken
 * for some that cannot be observed.
 * since_ns: as above.  Returns when each has, or has ended, or has had the time for it: a second at
 * most. */
void coverage_wait(const struct segment *segment, uint64_t since_ns);

/* coverage_note(): something that the session's tables do not tell was observed in part.  name: at
 * most COVERAGE_NAME_BYTES - 1.
 * reason: static. */
void coverage_note(struct coverage *coverage, const char *name, const char *reason);

/* coverage_record(): appends what a run covered to the journal: UNOBSERVED for each program that
 * was not, and COVERAGE as the last record. */
void coverage_record(const struct coverage *coverage, struct journal *journal);

enum { COVERAGE_REASON_BYTES = 200, COVERAGE_TEXT_BYTES = 400 };

/* coverage_reason(): "static, and not supervised: below a debugger or tracer".
 * Returns ret_text, COVERAGE_REASON_BYTES long. */
const char *coverage_reason(const struct coverage_program *program, char *ret_text);

/* coverage_text(): "NAME: REASON" with control characters escaped, `(2 times)` behind it where
 * there were more.
 * Returns ret_text, COVERAGE_TEXT_BYTES long. */
const char *coverage_text(const struct coverage_program *program, char *ret_text);

#endif
