/* Of `seen doctor`: COMMAND, its file, its mechanism, its role. */
#ifndef SEEN_CLI_DOCTOR_PROGRAM_H
#define SEEN_CLI_DOCTOR_PROGRAM_H

#include "cli/run/doctor.h"

/* doctor_check_program(): all about the program that COMMAND comes to. */
void doctor_check_program(struct doctor *doctor);

/* doctor_libc_name(), doctor_kind_name(), doctor_runtime_name(): "glibc", "static", "Go" ... */
const char *doctor_libc_name(enum executable_libc libc);
const char *doctor_kind_name(enum executable_kind kind);
const char *doctor_runtime_name(enum executable_runtime runtime);

#endif
