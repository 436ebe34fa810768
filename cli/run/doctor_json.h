/* Of `seen doctor`: all that was found, as a JSON document. */
#ifndef SEEN_CLI_DOCTOR_JSON_H
#define SEEN_CLI_DOCTOR_JSON_H

#include "cli/run/doctor.h"

/* doctor_print_json(): prints seen/doctor/1.  Returns 0, or -ENOMEM. */
int doctor_print_json(const struct doctor *doctor);

#endif
