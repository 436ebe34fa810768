/*
 * Waits for the command of a run: passes signals on, stops when it stops and goes on when it goes
 * on.
 */
#ifndef SEEN_CLI_RUN_WAIT_H
#define SEEN_CLI_RUN_WAIT_H

#include <signal.h>
#include <sys/types.h>

#include "cli/run/recording.h"
#include "cli/run/supervised.h"

/* run_wait(): waits until the command has ended, and tends the recording meanwhile.
 *
 * supervised: NULL: the command is a child of this process.  receiver: the process that signals are
 * passed on to; 0: the command.  all: every signal that may arrive; all
 * of them are blocked.  recording: NULL: there is no session.
 * Returns the command's wait status. */
int run_wait(pid_t command, struct supervised *supervised, pid_t receiver, const sigset_t *all,
	     struct recording *recording);

#endif
