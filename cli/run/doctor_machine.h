/* Of `seen doctor`: what this machine lets seen do. */
#ifndef SEEN_CLI_DOCTOR_MACHINE_H
#define SEEN_CLI_DOCTOR_MACHINE_H

#include "cli/run/doctor.h"

/* doctor_check_machine(): the kernel, a supervisor, /proc, the mode, the directories. */
void doctor_check_machine(struct doctor *doctor);

#endif
