/*
 * The last lines of a run for a person: one where nothing happened, else three at most.  What
 * happened to which files; what should be known (findings.h); what brings it back.
 */
#ifndef SEEN_CLI_BRIEF_H
#define SEEN_CLI_BRIEF_H

#include <stdbool.h>

#include "cli/run/findings.h"
#include "cli/session/session.h"
#include "cli/session/summary.h"

/* brief_print(): prints them on standard error. */
void brief_print(const struct session *session, const struct summary *sum,
		 const struct findings *findings);

#endif
