/*
 * What a person should know of a run beside its result: conflicts, what rules found, what was not
 * observed, what cannot be undone.  Worst first.
 */
#ifndef SEEN_CLI_FINDINGS_H
#define SEEN_CLI_FINDINGS_H

#include <stdint.h>

#include "cli/run/outlive.h"
#include "cli/session/session.h"
#include "cli/session/summary.h"

enum { FINDINGS_SHOWN = 3, FINDING_BYTES = 1024 };

struct findings {
	unsigned count;                            /* of all, those that are not kept included */
	char texts[FINDINGS_SHOWN][FINDING_BYTES]; /* the first; safe to print */
};

/* findings_gather(): of a run that has ended.
 *
 * since: number of its first record in the journal.  outlived: outlive_find().  elder: a line of
 * elder_describe(), "": none. */
void findings_gather(const struct session *session, const struct summary *sum, uint64_t since,
		     const struct outlive *outlived, const char *elder,
		     struct findings *ret_findings);

#endif
