/* Of `seen doctor`: how far the guard, the rules and the hooks of agents reach. */
#ifndef SEEN_CLI_DOCTOR_REACH_H
#define SEEN_CLI_DOCTOR_REACH_H

#include "cli/run/doctor.h"

/* doctor_check_guard(): what the guard of writes is asked about, and what passes by it. */
void doctor_check_guard(struct doctor *doctor);

/* doctor_check_rules(): which rules are in force, and how far they reach: with COMMAND, into its
 * own program. */
void doctor_check_rules(struct doctor *doctor);

/* doctor_check_hooks(): the hooks of each agent that is here. */
void doctor_check_hooks(struct doctor *doctor);

/* doctor_check_hooks_of(): what an agent's own hooks say, and what its transcript does. */
void doctor_check_hooks_of(struct doctor *doctor, const char *name);

/* doctor_check_sandbox(): what holds in the sandbox that an agent has of its own; name: of its profile. */
void doctor_check_sandbox(struct doctor *doctor, const char *name);

#endif
