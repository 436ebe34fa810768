/* Of `seen doctor`: programs that are started for a trial, and what was seen of them. */
#ifndef SEEN_CLI_DOCTOR_TRIAL_H
#define SEEN_CLI_DOCTOR_TRIAL_H

#include "cli/run/doctor.h"

/* doctor_check_library(): is there a library, and does it work in cat?  Opens the trial. */
void doctor_check_library(struct doctor *doctor, struct config_request *request);

/* doctor_check_start(): starts the program with --version, or, of a script that is no known agent,
 * its interpreter. */
void doctor_check_start(struct doctor *doctor);

#endif
